import { resolve } from 'node:path';
import { type Command, Option as Flag } from 'commander';
import { BoundaryError } from '../errors.js';
import { type Option, type OptionTable, type OptionType, checkValue, nest, partsOf } from '../families/option.js';
import { FAMILY_OPTIONS } from '../families/options.js';
import { MATRIX_OPTIONS, type RunRequest, SAMPLING_OPTIONS } from '../runner/run-config.js';
import {
  parseCount,
  parseCounts,
  parseEngineUri,
  parseGrid,
  parseRate,
  parseRows,
  parseScale,
  parseSeconds,
  parseWords,
} from './option-values.js';

/** What the command line says of options, by the names of their flags. */
export interface MatrixFlags {
  readonly [name: string]: unknown;
}

/** How the text of a flag becomes a value; a text is its own value. */
const PARSERS: Partial<Record<OptionType, (text: string, before?: never) => unknown>> = {
  rows: parseRows,
  count: parseCount,
  seconds: parseSeconds,
  rate: parseRate,
  amount: parseRate,
  scale: parseScale,
  counts: parseCounts,
  grid: parseGrid,
  words: parseWords,
  uris: parseEngineUri,
  path: (text) => resolve(text),
};

/** How the text of a variable becomes a value: plainly, and the option's check says what is wrong with it. */
const VARIABLE_READERS: Partial<Record<OptionType, (text: string) => unknown>> = {
  amount: Number,
  scale: Number,
  path: (text) => resolve(text),
  flag: (text) => text === '1' || undefined,
};

const FAMILIES_HEADING =
  'Options of families (sql, kv, rest, ingest and hybrid, for request work, are measured where they are named):';

/** The heading of the options that belong to no group. */
const OTHER_OPTIONS = 'Options:';

const ALL_OPTIONS: OptionTable = { ...MATRIX_OPTIONS, ...SAMPLING_OPTIONS, ...FAMILY_OPTIONS };

/** Adds the options that say which cells there are, and `others` of a run. */
export function addMatrixOptions(command: Command, others: OptionTable = {}): Command {
  command.argument(
    '[rows]',
    "rows of each workload: 1000000, 1_000_000, 1M, 500K (default: the family's own)",
    parseRows,
  );
  addFlags(command, { ...MATRIX_OPTIONS, ...others });
  addFlags(command.optionsGroup(FAMILIES_HEADING), FAMILY_OPTIONS);
  return command.optionsGroup(OTHER_OPTIONS);
}

function addFlags(command: Command, table: OptionTable): void {
  const options = Object.values(table);
  for (const [index, option] of options.entries()) {
    const sharing = options.filter(({ flag }) => flag === option.flag);
    if (options.findIndex(({ flag }) => flag === option.flag) < index) continue;
    const flag = new Flag(option.flag, helpOf(option, sharing));
    const parse = PARSERS[option.type];
    if (parse !== undefined) flag.argParser((text, before) => parse(text, before as never));
    command.addOption(option.choices === undefined ? flag : flag.choices(option.choices));
  }
}

function helpOf({ help, otherwise }: Option, sharing: readonly Option[]): string {
  const defaults = sharing.flatMap(({ variable }) => variable ?? []).join(', ');
  const text = [defaults, otherwise].filter((part) => part !== undefined && part !== '').join(', or ');
  return text === '' ? help : `${help} (default: ${text})`;
}

/**
 * What the command line and the environment ask of a run. Throws a `BoundaryError` with the code `BB_USAGE` where two options
 * contradict, and as `checkValue` where a variable makes no sense.
 */
export function requestFrom(
  rowsArgument: number | undefined,
  flags: MatrixFlags,
  environment = process.env,
): RunRequest {
  const given: Record<string, unknown> = {};
  for (const [name, { flag }] of Object.entries(ALL_OPTIONS)) {
    const value = flags[new Flag(flag).attributeName()];
    if (value !== undefined) given[name] = value;
  }
  const rows = given['rows'] as number | undefined;
  if (rowsArgument !== undefined && rows !== undefined && rowsArgument !== rows) {
    throw new BoundaryError('BB_USAGE', `rows are given twice: ${rowsArgument} and --rows ${rows}`);
  }
  const uris = (given['engines'] ?? {}) as Readonly<Record<string, string>>;
  for (const { map, key } of Object.keys(given).map(partsOf)) {
    if (map === 'engines' && uris[key] !== undefined) {
      throw new BoundaryError('BB_USAGE', `the server ${key} is given twice: by --${key}-url and --engine-uri`);
    }
  }
  return { ...nest(given), rows: rowsArgument ?? rows, fallbacks: fallbacksFrom(environment) };
}

function fallbacksFrom(environment: Readonly<Record<string, string | undefined>>): RunRequest['fallbacks'] {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(ALL_OPTIONS)) {
    const text = option.variable === undefined ? undefined : environment[option.variable];
    if (text === undefined || text === '') continue;
    const read = VARIABLE_READERS[option.type];
    const value = read === undefined ? text : read(text);
    if (value === undefined) continue;
    checkValue(name, option, value);
    values[name] = value;
  }
  return nest(values);
}
