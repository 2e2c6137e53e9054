import type { WriteStream } from 'node:tty';
import type { RunEvent } from '../runner/events.js';
import { LiveProgress } from './live-progress.js';
import { PlainProgress } from './plain-progress.js';

/** Shows the progress of a run. */
export interface Progress {
  show(event: RunEvent): void;
  /** Prints a line that stays. */
  say(line: string): void;
}

/** Makes the progress for a stream: one region that is redrawn on a terminal, else one line per finished cell. */
export function progressOn(stream: NodeJS.WriteStream, options: { readonly quiet: boolean }): Progress {
  if (options.quiet) return { show: () => {}, say: () => {} };
  if (!stream.isTTY || process.env['TERM'] === 'dumb') return new PlainProgress(stream);
  return new LiveProgress(stream as WriteStream);
}
