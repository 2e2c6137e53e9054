import type { Checksum } from '../../records/record.js';
import type { CodecWork } from '../workload.js';
import type { LaneTask } from './lane.js';

/** What a worker thread is started with. */
export interface WorkerStart {
  /** The handle of the engine that all workers share. */
  readonly engine: string;
  readonly task: LaneTask;
}

/** `collect`: throw away what the last execution left, untimed. */
export type ToWorker = 'go' | 'abort' | 'collect' | 'close';

export type FromWorker =
  | { readonly type: 'ready' }
  | {
      readonly type: 'done';
      /** On the clock that all threads share. */
      readonly endedAt: number;
      readonly pausedMs: number;
      readonly codecMs: Readonly<Partial<Record<CodecWork, number>>>;
      readonly checksum: Checksum | undefined;
    }
  | { readonly type: 'failed'; readonly code: string; readonly message: string };
