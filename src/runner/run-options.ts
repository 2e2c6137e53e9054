import type { CollectGarbage } from '../collect-garbage.js';
import type { Family } from '../families/workload.js';
import type { NativeBuild } from '../host/provenance.js';
import type { WebAbortSignal } from '../platform-types.js';
import type { RunListener } from './events.js';
import type { ResourceReader } from './resources.js';
import type { RunRequest } from './run-config.js';

/** The findings of a probe about the machine now. */
export interface Probed {
  readonly resolution: number;
  readonly loopSeconds: number;
}

/** A request, with the services and places of the run. */
export interface RunOptions extends RunRequest {
  readonly families: readonly Family[];
  /** The absolute paths of the files that export the families. Absent: no command line can load the families from files. */
  readonly files?: readonly string[] | undefined;
  /** The directory of the result files. Default: `results/runs/<UTC time>`. */
  readonly directory?: string | undefined;
  /**
   * Whether to resume the run in `directory`. Cells that completed or were skipped are kept. Cells that failed, or whose server had
   * ended, are tried again. Options that the request leaves out are as at the start of the run.
   */
  readonly resume?: boolean | undefined;
  /** The build information of the native addon. Absent if it is not built. */
  readonly build?: NativeBuild | undefined;
  /** Aborting it ends the run early: completed records are written, a cell that is under way is not recorded. */
  readonly signal?: WebAbortSignal | undefined;
  readonly onEvent?: RunListener | undefined;
  /**
   * Looks at the machine before a run of `runSeconds`: the smallest difference, as a part, that can be told from none, and the seconds of a
   * small loop.
   */
  readonly probe?:
    | ((forks: number | undefined, runSeconds: number, signal: WebAbortSignal) => Promise<Probed>)
    | undefined;
  /** The reader of CPU and memory figures of cells that this process measures itself. Default: `nodeResources`. */
  readonly resources?: ResourceReader | undefined;
  /**
   * The garbage collector between samples that this process takes itself. Default: the one that `--expose-gc` exposes. Without it,
   * V8 decides when to collect.
   */
  readonly collectGarbage?: CollectGarbage | undefined;
}
