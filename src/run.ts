import { loadNativeBuild, nativeResources } from './native-build.js';
import { type RunOptions as RunnerOptions, type RunResult, run as runFamilies } from './runner/run.js';
import { BoundaryError } from './errors.js';
import { type OptionTable, flatten, partsOf } from './families/option.js';
import { FAMILY_OPTIONS, loadFamilies } from './families/registry.js';
import { unknownWord } from './runner/filters.js';
import { knownOptions } from './runner/run-config.js';

/**
 * The options of the command line's `run`, all optional; `families` may be a user's own (`defineWorkload`). Default: this
 * package's.
 */
export type RunOptions = Partial<Omit<RunnerOptions, 'build' | 'resources'>>;

/**
 * Measures families of workloads: warms up, interleaves, verifies and records every cell, and writes the result files to
 * `directory` (default `results/runs/<UTC time>`). Failing cells are records, not exceptions.
 *
 * Throws a `BoundaryError` before anything is measured if the options are invalid; also for a name that no option has
 * (`BB_INVALID_ARGUMENT`).
 */
export async function run(options: RunOptions = {}): Promise<RunResult> {
  const families = options.families ?? (await loadFamilies());
  requireKnown(options, { ...FAMILY_OPTIONS, ...knownOptions(families) });
  const build = await loadNativeBuild();
  return runFamilies({ ...options, families, build, resources: nativeResources });
}

/** What a run is given beside the options of its cells. */
const BESIDE = [
  'families',
  'directory',
  'resume',
  'signal',
  'onEvent',
  'collectGarbage',
  'fallbacks',
] satisfies (keyof RunOptions)[];

/** Throws for the first name that no option has: a misspelt one would leave its default in place. */
function requireKnown(options: RunOptions, table: OptionTable): void {
  const known = [...BESIDE, ...Object.keys(table)];
  for (const name of Object.keys(flatten(options))) {
    const { map } = partsOf(name);
    if (known.includes(name) || (map !== undefined && known.includes(map))) continue;
    const { message, hint } = unknownWord(name, known, 'option');
    throw new BoundaryError('BB_INVALID_ARGUMENT', message, hint === undefined ? {} : { hint });
  }
}
