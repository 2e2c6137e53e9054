import type { NativeBuild } from '../host/provenance.js';
import type { ResourceReader } from '../runner/resources.js';
import type { Family } from '../families/workload.js';

/** What the commands work on. */
export interface CliServices {
  loadFamilies(): Promise<readonly Family[]>;
  /** What the addon says of itself; `undefined` where it isn't built. */
  loadNativeBuild(): Promise<NativeBuild | undefined>;
  /** Default: what Node can tell. */
  readonly resources?: ResourceReader;
}

/** A command's outcome, told by its exit code. */
export type Finish = (exitCode: number) => void;
