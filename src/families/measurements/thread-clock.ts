import { addon } from '../../addon.js';
import { sharedNow } from '../working-threads.js';
import type { CodecWork } from '../workload.js';
import type { LaneClock } from './lane.js';

/** CPU time in seconds. */
export interface CpuSeconds {
  readonly user: number;
  readonly system: number;
}

/** The clock of a lane in a worker thread, with the time at which the work ended, and the pauses before. */
export class ThreadClock implements LaneClock {
  /** The start of the pause that lasts, and the CPU time that the thread had used by then. */
  #stopped: { readonly at: number; readonly cpu: CpuSeconds | undefined } | undefined;
  #pausedMs = 0;
  #pausedCpu: CpuSeconds | undefined = { user: 0, system: 0 };
  readonly #codecMs: Partial<Record<CodecWork, number>> = {};

  start(): void {
    const now = sharedNow();
    if (this.#stopped !== undefined) {
      this.#pausedMs += now - this.#stopped.at;
      this.#pausedCpu = added(this.#pausedCpu, this.#stopped.cpu, threadCpu());
    }
    this.#stopped = undefined;
  }

  stop(): void {
    this.#stopped = { at: sharedNow(), cpu: threadCpu() };
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
    return this.#stopped?.at ?? sharedNow();
  }

  get pausedMs(): number {
    return this.#pausedMs;
  }

  /** The CPU time of this thread in the pauses, also in one that lasts; `undefined` if the platform does not report it. */
  get pausedCpu(): CpuSeconds | undefined {
    return this.#stopped === undefined ? this.#pausedCpu : added(this.#pausedCpu, this.#stopped.cpu, threadCpu());
  }
}

function threadCpu(): CpuSeconds | undefined {
  return addon.threadCpu() ?? undefined;
}

function added(
  sum: CpuSeconds | undefined,
  from: CpuSeconds | undefined,
  to: CpuSeconds | undefined,
): CpuSeconds | undefined {
  if (sum === undefined || from === undefined || to === undefined) return undefined;
  return { user: sum.user + to.user - from.user, system: sum.system + to.system - from.system };
}
