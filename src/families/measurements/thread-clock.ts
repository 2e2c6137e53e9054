import { sharedNow } from '../shared-now.js';
import type { CodecWork } from '../workload.js';
import type { LaneClock } from './lane.js';

/** The clock of a lane in a worker thread, with the time at which the work ended, and the pauses before. */
export class ThreadClock implements LaneClock {
  #stoppedAt: number | undefined;
  #pausedMs = 0;
  readonly #codecMs: Partial<Record<CodecWork, number>> = {};

  start(): void {
    const now = sharedNow();
    if (this.#stoppedAt !== undefined) this.#pausedMs += now - this.#stoppedAt;
    this.#stoppedAt = undefined;
  }

  stop(): void {
    this.#stoppedAt = sharedNow();
  }

  apart<T>(work: CodecWork, execute: () => T): T {
    const startedAt = performance.now();
    const result = execute();
    this.#codecMs[work] = (this.#codecMs[work] ?? 0) + (performance.now() - startedAt);
    return result;
  }

  /** The milliseconds of encoding and of decoding. */
  get codecMs(): Readonly<Partial<Record<CodecWork, number>>> {
    return this.#codecMs;
  }

  /** The end of the work on the shared clock: the time at which the clock was last stopped. */
  get endedAt(): number {
    return this.#stoppedAt ?? sharedNow();
  }

  get pausedMs(): number {
    return this.#pausedMs;
  }
}
