import type { Command } from 'commander';
import { BoundaryError } from '../errors.js';
import { type OptionTable, nest, partsOf } from '../families/option.js';
import { FAMILY_OPTIONS } from '../families/registry.js';
import { MATRIX_OPTIONS, type RunRequest, SAMPLING_OPTIONS } from '../runner/run-config.js';
import { type Flags, addFlags, givenBy, givenByVariables } from './flags.js';

const FAMILIES_HEADING =
  'Options of families (default: measurements; others: sql, kv, rest, ingest, hybrid, boundary, codec):';

const ALL_OPTIONS: OptionTable = { ...MATRIX_OPTIONS, ...SAMPLING_OPTIONS, ...FAMILY_OPTIONS };

const ABOUT_WORDS =
  "rows of each workload: 1000000, 1_000_000, 1M, 500K (default: the family's own); or files with workloads of your own";

/** Adds the options that say which cells there are, and `others` of a run. */
export function addMatrixOptions(command: Command, others: OptionTable = {}): Command {
  addFlags(command.argument('[rows|files...]', ABOUT_WORDS), { ...MATRIX_OPTIONS, ...others });
  return addFlags(command.optionsGroup(FAMILIES_HEADING), FAMILY_OPTIONS).optionsGroup('Options:');
}

/**
 * The request of the command line and the environment for a run. Throws a `BoundaryError` with the code `BB_USAGE` if
 * two options contradict, and as `checkValue` if a variable is invalid.
 */
export function requestFrom(rowsArgument: number | undefined, flags: Flags, env?: NodeJS.ProcessEnv): RunRequest {
  const given = givenBy(flags, ALL_OPTIONS);
  const { rows, engines = {} } = given as Pick<RunRequest, 'rows' | 'engines'>;
  if (rowsArgument !== undefined && rows !== undefined && rowsArgument !== rows) {
    throw new BoundaryError('BB_USAGE', `rows are given twice: ${rowsArgument} and --rows ${rows}`);
  }
  for (const { map, key } of Object.keys(given).map(partsOf)) {
    if (map === 'engines' && engines[key] !== undefined) {
      throw new BoundaryError('BB_USAGE', `the server ${key} is given twice: by --${key}-url and --engine-uri`);
    }
  }
  const fallbacks = nest(givenByVariables(ALL_OPTIONS, env));
  // A query of the user's own is a family of its own.
  const query = given['sql'] === undefined ? {} : { 'filters.family': ['query'] };
  return { ...nest({ ...query, ...given }), rows: rowsArgument ?? rows, fallbacks };
}
