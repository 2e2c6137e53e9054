import { loadNativeBuild, nativeResources } from './native-build.js';
import { type RunOptions as RunnerOptions, type RunResult, run as runFamilies } from './runner/run.js';
import { loadFamilies } from './families/registry.js';

/**
 * The options of the command line's `run`, all optional; `families` may be a user's own (`defineWorkload`). Default: this
 * package's.
 */
export type RunOptions = Partial<Omit<RunnerOptions, 'build' | 'resources'>>;

/**
 * Measures families of workloads: warms up, interleaves, verifies and records every cell, and writes the result files to
 * `directory` (default `results/runs/<UTC time>`). Failing cells are records, not exceptions.
 *
 * Throws a `BoundaryError` before anything is measured if the options are invalid.
 */
export async function run(options: RunOptions = {}): Promise<RunResult> {
  const build = await loadNativeBuild();
  return runFamilies({
    ...options,
    families: options.families ?? (await loadFamilies()),
    build,
    resources: nativeResources,
  });
}
