import type { CodecWork } from '../workload.js';
import type { LaneClock } from './lane.js';

/** Milliseconds on a clock that all threads of this process share; a thread's own `performance.now()` starts with it. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The clock of a lane in a worker thread: tells when the work ended, and how long it paused before. */
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

  /** Milliseconds of encoding and decoding. */
  get codecMs(): Readonly<Partial<Record<CodecWork, number>>> {
    return this.#codecMs;
  }

  /** On the shared clock. The work is over when the clock was last stopped. */
  get endedAt(): number {
    return this.#stoppedAt ?? sharedNow();
  }

  get pausedMs(): number {
    return this.#pausedMs;
  }
}
