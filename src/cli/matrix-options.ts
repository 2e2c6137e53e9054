import { type Command, InvalidArgumentError, Option as Flag } from 'commander';
import { BoundaryError } from '../errors.js';
import { type OptionTable, nest, partsOf, type Option, checkValue } from '../families/option.js';
import { FAMILY_OPTIONS } from '../families/registry.js';
import { MATRIX_OPTIONS, type RunRequest, SAMPLING_OPTIONS } from '../runner/run-config.js';
import { groupBy } from '../compare/cell-groups.js';

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

/** The values on the command line, by the names of flags. */
export type Flags = Readonly<Record<string, unknown>>;

/** Adds the flags of a table's options, one for all that share it. */
export function addFlags(command: Command, table: OptionTable): Command {
  for (const options of groupBy(Object.values(table), ({ flag }) => flag)) {
    const { flag, kind, choices } = options[0]!;
    const added = new Flag(flag, helpOf(options));
    if (choices !== undefined) added.choices(choices);
    else if (!added.isBoolean()) added.argParser(parserOf(kind.parse));
    command.addOption(added);
  }
  return command;
}

function helpOf(options: readonly Option[]): string {
  const { help, default: byDefault, otherwise = byDefault } = options[0]!;
  const variables = options.flatMap(({ variable }) => variable ?? []).join(', ');
  const sources = [variables, otherwise].filter((part) => part !== undefined && part !== '');
  return sources.length === 0 ? help : `${help} (default: ${sources.join(', or ')})`;
}

/** A parser for commander. Commander prints its error with the option's name. */
export function parserOf<T>(parse: (text: string, before?: T) => T): (text: string, before?: T) => T {
  return (text, before) => {
    try {
      return parse(text, before);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };
}

/** The options of a table that flags give, by their names. */
export function givenBy(flags: Flags, table: OptionTable): Record<string, unknown> {
  const values = Object.entries(table).map(([name, { flag }]) => [name, flags[new Flag(flag).attributeName()]]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Record<string, unknown>;
}

/**
 * The options of a table that variables give: the one place that reads them. Throws as `checkValue`, or `BB_USAGE` for
 * a text that is no value of its option.
 */
export function givenByVariables(table: OptionTable, environment = process.env): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(table)) {
    const text = environment[option.variable ?? ''] ?? '';
    if (text === '') continue;
    values[name] = valueOf(option, text);
    checkValue(name, option, values[name]);
  }
  return values;
}

function valueOf({ kind, variable }: Option, text: string): unknown {
  try {
    return (kind.read ?? kind.parse)(text);
  } catch (cause) {
    throw new BoundaryError('BB_USAGE', `${variable} is "${text}". ${(cause as Error).message}`, { cause });
  }
}
