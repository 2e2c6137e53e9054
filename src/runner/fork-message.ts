/** What passes between the process of a run and its forks, each of which measures one cell. */
import type { SentError } from '../errors.js';
import type { FamilyOptions, PlannedCell } from '../families/workload.js';
import type { Sample } from '../records/record.js';
import type { ForkRecord } from '../records/run-log.js';
import type { SamplingPolicy } from './sampling.js';

/** What a fork is to measure: the first message to it. */
export interface ForkTask {
  /** The URL of the module that exports the family. */
  readonly module: string;
  /** The name of the family. */
  readonly family: string;
  readonly options: FamilyOptions;
  readonly planned: PlannedCell;
  readonly policy: SamplingPolicy;
  /** Whether each row is checked by itself after the samples (`OpenCell.verify`). */
  readonly verify: boolean;
  /** Whether V8 alone decides when garbage is collected. */
  readonly leaveGarbage: boolean;
}

/** A later message to a fork: the work is to end, and nothing more is wanted of it. */
export interface ForkAbort {
  readonly type: 'abort';
}

/** What one fork measured. */
export type ForkResult = Omit<ForkRecord, 'id'>;

/** A step of a fork. */
export type ForkStep =
  | { readonly type: 'warm-up'; /** Counted from 1. */ readonly execution: number }
  | { readonly type: 'sample'; /** Counted from 1. */ readonly number: number; readonly sample: Sample };

/** A message of a fork; the last one is `done` or `failed`. */
export type ForkReport =
  | ForkStep
  | ({ readonly type: 'done' } & ForkResult)
  | { readonly type: 'failed'; readonly error: SentError };
