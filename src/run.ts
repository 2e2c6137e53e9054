import { loadNativeBuild, nativeResources } from './native-build.js';
import { type RunOptions as RunnerOptions, type RunResult, run as runFamilies } from './runner/run.js';
import { BoundaryError, invalidArgument } from './errors.js';
import { type OptionTable, flatten, partsOf } from './families/option.js';
import type { Family } from './families/workload.js';
import { describeValue } from './library/crossing/describe-value.js';
import {
  checkBoolean,
  checkFunction,
  checkSignal,
  type OptionChecks,
  requireOptions,
} from './library/crossing/options.js';
import { ownList } from './library/crossing/own-list.js';
import { checkText } from './library/crossing/well-formed.js';
import { FAMILY_OPTIONS, loadFamilies } from './families/registry.js';
import { unknownWord } from './runner/filters.js';
import { knownOptions } from './runner/run-config.js';

/**
 * The options of the command line's `run`, all optional. `families` may be a user's own (`defineWorkload`). Default: this
 * package's.
 */
export type RunOptions = Partial<Omit<RunnerOptions, 'build' | 'resources' | 'files'>>;

/**
 * Measures families of workloads: warms up, interleaves, verifies and records every cell, and writes the result files to
 * `directory` (default `results/runs/<UTC time>`). Failing cells are records, not exceptions.
 *
 * Throws a `BoundaryError` before anything is measured if the options are invalid, or for a name that no option has
 * (`BB_INVALID_ARGUMENT`).
 *
 * @example
 * ```js
 * import { defineWorkload, renderRunTerminal, run } from 'boundary-bench/bench';
 *
 * const numbers = Float64Array.from({ length: 1000 }, (_, index) => index);
 * const sum = defineWorkload({
 *   family: 'sum',
 *   name: 'sum',
 *   rows: numbers.length,
 *   lanes: [{ lane: 'loop', side: 'js', engine: 'memory', variant: 'a loop' }],
 *   open: () => ({
 *     expected: { rows: 1000, sums: { value: '499500' } },
 *     sample: async (stopwatch) => {
 *       stopwatch.start();
 *       let value = 0;
 *       for (const number of numbers) value += number;
 *       stopwatch.stop();
 *       return { rows: numbers.length, sums: { value: String(value) } };
 *     },
 *   }),
 * });
 * const { run: result } = await run({ families: [sum], samples: 3, forks: 1, directory: 'measured' });
 * console.log(renderRunTerminal(result).includes('a loop')); // true
 * ```
 */
export async function run(options: RunOptions = {}): Promise<RunResult> {
  requireOptions(options);
  for (const [name, check] of Object.entries(BESIDE)) {
    const value: unknown = options[name as keyof typeof BESIDE];
    if (value !== undefined) check(name, value);
  }
  for (const name of ['filters', 'engines', 'apiKeys'] as const) {
    if (options[name] !== undefined) checkMap(name, options[name]);
  }
  const families = options.families ?? (await loadFamilies());
  requireKnown(options, { ...FAMILY_OPTIONS, ...knownOptions(families) });
  const build = await loadNativeBuild();
  return runFamilies({ ...options, families, build, resources: nativeResources });
}

/** Checks of the options of a run that are not options of its cells. */
const BESIDE = {
  families: checkFamilies,
  directory: checkText,
  resume: checkBoolean,
  signal: checkSignal,
  onEvent: checkFunction,
  collectGarbage: checkFunction,
  fallbacks: checkMap,
} satisfies Partial<OptionChecks<RunOptions>>;

function checkMap(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !(Symbol.iterator in value)) return;
  throw invalidArgument(`${name} must be an object of values by name, not ${describeValue(value)}`);
}

function checkFamilies(name: string, value: unknown): void {
  const isFamily = (family: Partial<Family> | null | undefined): boolean =>
    typeof family === 'object' && typeof family?.plan === 'function' && typeof family.open === 'function';
  if (Array.isArray(value) && ownList(name, value as (Partial<Family> | null)[]).every(isFamily)) return;
  throw invalidArgument(`${name} must be an array of families, not ${describeValue(value)}`, {
    hint: 'defineWorkload makes a family',
  });
}

/** Throws for the first name that no option has: a misspelt name would silently keep the default. */
function requireKnown(options: RunOptions, table: OptionTable): void {
  const known = [...Object.keys(BESIDE), ...Object.keys(table)];
  for (const [name, value] of Object.entries(flatten(options))) {
    const { map } = partsOf(name);
    // A default would take its place.
    if (value === null) throw invalidArgument(`${name} must not be null; leave it out`);
    if (known.includes(name) || (map !== undefined && known.includes(map))) continue;
    const { message, hint } = unknownWord(name, known, 'option');
    throw new BoundaryError('BB_INVALID_ARGUMENT', message, hint === undefined ? {} : { hint });
  }
}
