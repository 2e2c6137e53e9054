/** The protocol of docs/protocol.md as the process of a run speaks it with its forks, each of which measures one cell. */
import type { FamilyOptions, PlannedCell } from '../families/workload.js';
import type { ABORT, CLOSE, Failed } from '../protocol.js';
import type { V8Profile } from '../profile/v8-profile.js';
import type { Checksum, Sample } from '../records/record.js';
import type { Readiness, WarmUpStep } from './sampler.js';
import type { SamplingPolicy } from './sampling.js';
import type { Span } from './time-spans.js';

/** The cell that a fork opens and warms up. */
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

/** The first order to a fork. */
export interface ForkOpening extends ForkTask {
  readonly type: 'open';
}

/** A later order. */
export type ForkOrder =
  | { readonly type: 'sample' }
  /** To execute the cell for a profiler: V8's in this process, or one outside. */
  | { readonly type: 'profile'; readonly byV8: boolean }
  | { readonly type: 'result'; /** Whether each row is checked by itself before. */ readonly verify: boolean }
  | typeof CLOSE
  | typeof ABORT;

/** An answer of a fork, or a step of its cell on the way to be ready. */
export type ForkAnswer =
  | WarmUpStep
  | { readonly type: 'ready'; readonly ready: Readiness }
  | { readonly type: 'sample'; readonly sample: Sample }
  | { readonly type: 'profiled'; readonly timed: readonly Span[]; readonly profile?: V8Profile }
  | { readonly type: 'result'; readonly result: Checksum }
  | Failed;
