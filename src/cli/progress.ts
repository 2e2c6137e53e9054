import type { WriteStream } from 'node:tty';
import type { RunEvent } from '../runner/events.js';
import { LiveProgress } from './live-progress.js';
import { PlainProgress } from './plain-progress.js';

/** Shows a run while it goes. */
export interface Progress {
  show(event: RunEvent): void;
  /** Adds a line that stays. */
  say(line: string): void;
}

/** Progress on a stream: one region that is redrawn on a terminal, else one line a finished cell. */
export function progressOn(stream: NodeJS.WriteStream, options: { readonly quiet: boolean }): Progress {
  if (options.quiet) return { show: () => {}, say: () => {} };
  if (!stream.isTTY || process.env['TERM'] === 'dumb') return new PlainProgress(stream);
  return new LiveProgress(stream as WriteStream);
}
