/** The functions that a worker thread of a cell calls: it prepares the lane of its task, and runs it each time it is asked to. */
import { exposedCollector } from '../../collect-garbage.js';
import type { WorkerContext } from '../../library/workers/worker-pool.js';
import type { Checksum } from '../../records/record.js';
import type { CodecWork } from '../workload.js';
import type { LaneRun, LaneTask } from './lane.js';
import { prepareLane } from './lanes.js';
import { type CpuSeconds, ThreadClock } from './thread-clock.js';

/** The result of one execution in one thread. */
export interface LaneResult {
  /** The end of the work, on the clock that all threads share. */
  readonly endedAt: number;
  readonly pausedMs: number;
  /** The CPU time of the thread in its pauses; `undefined` if the platform does not report it. */
  readonly pausedCpu: CpuSeconds | undefined;
  readonly codecMs: Readonly<Partial<Record<CodecWork, number>>>;
  readonly checksum: Checksum | undefined;
}

let run: LaneRun | undefined;

export async function prepare(task: LaneTask, { connection }: WorkerContext): Promise<void> {
  run = await prepareLane(connection, task);
}

export async function execute(_: undefined, { signal }: WorkerContext): Promise<LaneResult> {
  if (run === undefined) throw new Error('the thread has prepared no lane');
  const clock = new ThreadClock();
  const checksum = await run(clock, signal as AbortSignal);
  const { endedAt, pausedMs, pausedCpu, codecMs } = clock;
  return { endedAt, pausedMs, pausedCpu, codecMs, checksum };
}

/**
 * Collects the young garbage, to which the buffers of the last execution belong. A full collection would also drop compiled code, and the
 * next execution would count its compilation. A run that exposes the collector exposes it in threads that start later, too.
 */
export function collect(): void {
  exposedCollector()?.('young');
}
