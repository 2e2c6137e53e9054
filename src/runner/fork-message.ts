/** The messages between the process of a run and its forks, each of which measures one cell. */
import type { SentError } from '../errors.js';
import type { FamilyOptions, PlannedCell } from '../families/workload.js';
import type { Checksum, Sample } from '../records/record.js';
import type { V8Profile } from '../profile/v8-profile.js';
import type { Readiness, WarmUpStep } from './sampler.js';
import type { SamplingPolicy } from './sampling.js';
import type { Span } from './time-spans.js';

/** The cell that a fork opens and warms up: the first message to it. */
export interface ForkTask {
  /** The URL of the module that exports the family. */
  readonly module: string;
  /** The name of the family. */
  readonly family: string;
  readonly options: FamilyOptions;
  readonly planned: PlannedCell;
  readonly policy: SamplingPolicy;
  /** Whether V8 alone decides when garbage is collected. */
  readonly leaveGarbage: boolean;
}

/** A later message to a fork: to take a sample, to close the cell, or to end at once, since nothing more is wanted of it. */
export type ForkOrder =
  | { readonly type: 'take' }
  /** To execute the cell for a profiler: V8's in this process, or one outside. */
  | { readonly type: 'profile'; readonly byV8: boolean }
  | { readonly type: 'finish'; /** Whether each row is checked by itself before. */ readonly verify: boolean }
  | { readonly type: 'abort' };

/** A message of a fork: `ready` answers its task, `sample` and `done` its orders, and `failed` any of them. */
export type ForkReport =
  | WarmUpStep
  | { readonly type: 'ready'; readonly ready: Readiness }
  | { readonly type: 'sample'; readonly sample: Sample }
  | { readonly type: 'profiled'; readonly timed: readonly Span[]; readonly profile?: V8Profile }
  | { readonly type: 'done'; readonly checksum: Checksum }
  | { readonly type: 'failed'; readonly error: SentError };
