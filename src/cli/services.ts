import type { NativeBuild } from '../host/provenance.js';
import type { ResourceReader } from '../runner/resources.js';
import type { Family } from '../families/workload.js';

/** The services that commands use. */
export interface CliServices {
  loadFamilies(): Promise<readonly Family[]>;
  /** The build information of the addon. `undefined` if it isn't built. */
  loadNativeBuild(): Promise<NativeBuild | undefined>;
  /** The reader of CPU and memory figures. Default: Node's own. */
  readonly resources?: ResourceReader;
}

/** Sets the exit code of a command. */
export type Finish = (exitCode: number) => void;
