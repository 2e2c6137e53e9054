import { builtModule } from '../../built-module.js';
import type { Connection } from '../../library/engine/connection.js';
import { createWorkers, type WorkerPool } from '../../library/workers/worker-pool.js';
import type { Checksum } from '../../records/record.js';
import { sharedNow, threadTimes, workingThreads } from '../working-threads.js';
import type { CodecWork, NativeTiming } from '../workload.js';
import type { LaneTask } from './lane.js';
import type { LaneResult } from './worker.js';

const WORKER_MODULE = builtModule(new URL('worker.js', import.meta.url));

const MICROSECONDS_PER_SECOND = 1e6;
const MS_PER_SECOND = 1000;

/** The result of one execution by all workers. */
export interface WorkersResult {
  /**
   * The time from the common start until the last worker's end, without each worker's pauses. The CPU time is of the
   * whole process, without the time of the workers' threads in their pauses.
   */
  readonly timing: NativeTiming;
  /** The checksum of each worker's rows, for a lane out. */
  readonly checksums: readonly Checksum[];
}

/** Worker threads, one per task, that share one engine. They stay warm from one execution to the next. */
export class LaneWorkers {
  readonly #pool: WorkerPool<typeof import('./worker.js')>;

  private constructor(pool: WorkerPool<typeof import('./worker.js')>) {
    this.#pool = pool;
  }

  /** Starts the workers. Resolves when their lanes are prepared. */
  static async start(connection: Connection, tasks: readonly LaneTask[]): Promise<LaneWorkers> {
    const pool = await createWorkers<typeof import('./worker.js')>({
      module: WORKER_MODULE,
      count: tasks.length,
      connection,
    });
    try {
      await Promise.all(pool.runOnEach('prepare', (worker) => tasks[worker]!));
      return new LaneWorkers(pool);
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  /** Executes all tasks once, concurrently. A worker's error is thrown with its code, after the others have ended. */
  async run(signal: AbortSignal): Promise<WorkersResult> {
    signal.throwIfAborted();
    const threadsBefore = threadTimes();
    const faultsBefore = minorFaults();
    const cpuBefore = process.cpuUsage();
    const startedAt = sharedNow();
    const replies = this.#pool.runOnEach('execute', undefined, { signal });
    await Promise.allSettled(replies);
    const cpu = process.cpuUsage(cpuBefore);
    const faults = minorFaults() - faultsBefore;
    const threadsAfter = threadTimes();
    const results = await Promise.all(replies);
    // So that the next execution finds the memory of this one free.
    await Promise.all(this.#pool.runOnEach('collect'));
    const codec = (work: CodecWork): number | undefined => {
      const times = results.map(({ codecMs }) => codecMs[work]).filter((ms) => ms !== undefined);
      return times.length === 0 ? undefined : times.reduce((sum, ms) => sum + ms, 0) / MS_PER_SECOND;
    };
    const [encodeSeconds, decodeSeconds] = [codec('encode'), codec('decode')];
    const elapsed = results.map(({ endedAt, pausedMs }) => endedAt - startedAt - pausedMs);
    const seconds = Math.max(...elapsed) / MS_PER_SECOND;
    const threads = workingThreads(threadsBefore, threadsAfter, seconds);
    return {
      timing: {
        seconds,
        ...(encodeSeconds === undefined ? {} : { encodeSeconds }),
        ...(decodeSeconds === undefined ? {} : { decodeSeconds }),
        ...cpuOf(cpu, results),
        // Faults in the pauses are among them. They are few, since the memory of the input is reused.
        ...(Number.isNaN(faults) ? {} : { minorFaults: faults }),
        ...(threads === undefined ? {} : { threads }),
      },
      checksums: results.flatMap(({ checksum }) => checksum ?? []),
    };
  }

  /** Ends the threads, which must be idle. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** The minor page faults of the process since its start; NaN if the runtime does not report them. */
function minorFaults(): number {
  return process.resourceUsage?.().minorPageFault ?? Number.NaN;
}

/** The CPU time of the work, without the pauses of its threads; nothing if the pauses are not known. */
function cpuOf(
  { user, system }: NodeJS.CpuUsage,
  results: readonly LaneResult[],
): Pick<NativeTiming, 'cpuUserSeconds' | 'cpuSystemSeconds'> {
  const pauses = results.map(({ pausedCpu }) => pausedCpu);
  const sum = (of: 'user' | 'system'): number => pauses.reduce((total, cpu) => total + (cpu?.[of] ?? Number.NaN), 0);
  const [paused, pausedInSystem] = [sum('user'), sum('system')];
  if (Number.isNaN(paused)) return {};
  // The kernel divides the time of a thread between the two with less precision than it knows their sum.
  return {
    cpuUserSeconds: Math.max(0, user / MICROSECONDS_PER_SECOND - paused),
    cpuSystemSeconds: Math.max(0, system / MICROSECONDS_PER_SECOND - pausedInSystem),
  };
}
