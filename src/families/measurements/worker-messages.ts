import type { Checksum } from '../../records/record.js';
import type { CodecWork } from '../workload.js';
import type { LaneTask } from './lane.js';

/** The data with which a worker thread is started. */
export interface WorkerStart {
  /** The handle of the engine that all workers share. */
  readonly engine: string;
  readonly task: LaneTask;
}

/** Messages to a worker. `collect`: collect the garbage of the last execution, untimed. */
export type ToWorker = 'go' | 'abort' | 'collect' | 'close';

export type FromWorker =
  | { readonly type: 'ready' }
  | {
      readonly type: 'done';
      /** The end of the work, on the clock that all threads share. */
      readonly endedAt: number;
      readonly pausedMs: number;
      readonly codecMs: Readonly<Partial<Record<CodecWork, number>>>;
      readonly checksum: Checksum | undefined;
    }
  | { readonly type: 'failed'; readonly code: string; readonly message: string };
