import type { WriteStream } from 'node:tty';
import type { RunListener } from '../runner/events.js';
import { LiveProgress } from './live-progress.js';
import { plainProgress } from './plain-progress.js';

/** What shows a run on a stream: one region that is redrawn on a terminal, else one line a finished cell. */
export function progressOn(stream: NodeJS.WriteStream, options: { readonly quiet: boolean }): RunListener {
  if (options.quiet) return () => {};
  if (!stream.isTTY || process.env['TERM'] === 'dumb') return plainProgress((line) => stream.write(`${line}\n`));
  const live = new LiveProgress(stream as WriteStream);
  return (event) => live.show(event);
}
