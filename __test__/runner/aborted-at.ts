import type { RunEvent } from '../../src/runner/events.js';

/** The options of a run that is aborted by each event for which `isEnd` is true. */
export function abortedAt(isEnd: (event: RunEvent) => boolean): {
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
} {
  const controller = new AbortController();
  return { signal: controller.signal, onEvent: (event) => void (isEnd(event) && controller.abort()) };
}
