import { BoundaryError } from '../errors.js';

/** The values of options, by the types that declarations name. */
interface ValueTypes {
  readonly rows: number;
  readonly count: number;
  readonly seconds: number;
  readonly rate: number;
  readonly amount: number;
  readonly scale: number;
  readonly counts: readonly number[];
  /** A part of a grid, or all of it. */
  readonly grid: readonly number[] | 'all';
  readonly words: readonly string[];
  readonly text: string;
  readonly path: string;
  /** URIs by engine name. */
  readonly uris: Readonly<Record<string, string>>;
  readonly flag: boolean;
}

export type OptionType = keyof ValueTypes;

/** Throws that the value `found` is not as the option expects it. */
type MustBe = (expected: string, found: unknown) => never;

/** One option of a run: all that the command line, `run()` of the library and the result file know of it. */
export interface Option {
  /** How the command line takes it, such as `--rate <n>`. Options that share a flag get the same value. */
  readonly flag: string;
  readonly type: OptionType;
  readonly help: string;
  /** What the help says of the value where neither the flag nor the variable gives one. */
  readonly otherwise?: string;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  /** The environment variable that the command line reads where there is no flag. */
  readonly variable?: string;
  /** What errors call the option; default: its name. */
  readonly calledAs?: string;
  /** The code of the errors of a wrong value; default: `BB_INVALID_ARGUMENT`. */
  readonly code?: string;
  /** Replaces the check of its type. */
  check?(value: unknown, mustBe: MustBe): void;
  /** A text of the value as it may be written down: without its secrets. */
  redact?(text: string): string;
}

/** Options by their names in `run()` and in `run.json`. `engines.redis` is the entry `redis` of the map `engines`. */
export type OptionTable = Readonly<Record<string, Option>>;

type ValueOf<O> = O extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : O extends { readonly type: infer T extends OptionType }
    ? ValueTypes[T]
    : never;

/** What may be said of the options of a table. Maps, whose entries some options are, have types of their own. */
export type GivenValues<Table> = {
  readonly [Name in keyof Table as Name extends `${string}.${string}` ? never : Name]?:
    | ValueOf<Table[Name]>
    | undefined;
};

/** The same with the defaults filled in. */
export type FilledValues<Table> = GivenValues<Table> & {
  readonly [Name in keyof Table as Table[Name] extends { readonly default: unknown } ? Name : never]: ValueOf<
    Table[Name]
  >;
};

const MAPS: ReadonlySet<string> = new Set(['engines', 'filters', 'apiKeys']);

/** What is given, by the names of tables. `undefined`, `false` and an empty list say nothing. */
export function flatten(values: object): Record<string, unknown> {
  const entries = Object.entries(values).flatMap(([name, value]) =>
    MAPS.has(name)
      ? Object.entries((value ?? {}) as object).map(([key, item]) => [`${name}.${key}`, item] as const)
      : [[name, value] as const],
  );
  return Object.fromEntries(
    entries.filter(
      ([, value]) => value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

/** The reverse of `flatten`. */
export function nest(flat: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(flat)) {
    const { map, key } = partsOf(name);
    values[map ?? name] = map === undefined ? value : { ...(values[map] as object | undefined), [key]: value };
  }
  return values;
}

/** The map that an option is an entry of, and the entry's name; the option's own name where it is in no map. */
export function partsOf(name: string): { readonly map?: string; readonly key: string } {
  const [map = '', ...rest] = name.split('.');
  return MAPS.has(map) && rest.length > 0 ? { map, key: rest.join('.') } : { key: name };
}

/** The values of a table's options, with its defaults. Throws a `BoundaryError` for a value that makes no sense. */
export function valuesOf<Table extends OptionTable>(table: Table, given: GivenValues<Table>): FilledValues<Table> {
  const values = Object.entries(table).map(([name, option]) => {
    const value = (given as Readonly<Record<string, unknown>>)[name] ?? option.default;
    if (value !== undefined) checkValue(name, option, value);
    return [name, value] as const;
  });
  return Object.fromEntries(values) as FilledValues<Table>;
}

/** Throws where the value of an option makes no sense: what `mustBe` throws, default: a `BoundaryError` that names the option. */
export function checkValue(name: string, option: Option, value: unknown, mustBe?: MustBe): void {
  const { choices, check = CHECKS[option.type] } = option;
  const otherwise: MustBe = (expected, found) => {
    const message = `${option.calledAs ?? name} must be ${expected}, not ${String(found)}`;
    throw new BoundaryError(option.code ?? 'BB_INVALID_ARGUMENT', message);
  };
  const isWrong = choices !== undefined && !choices.includes(value as string);
  if (isWrong) (mustBe ?? otherwise)(`one of ${choices.join(', ')}`, value);
  check(value, mustBe ?? otherwise);
}

function check<T>(expected: string, isRight: (value: T) => boolean): NonNullable<Option['check']> {
  return (value, mustBe) => {
    if (!isRight(value as T)) mustBe(expected, value);
  };
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;

const ofCount = check('a whole number of 1 or more', isCount);

const ofCounts: NonNullable<Option['check']> = (value, mustBe) => {
  if (!Array.isArray(value)) mustBe('a list', value);
  for (const item of value as unknown[]) ofCount(item, mustBe);
};

const ofText = check('a string', (value) => typeof value === 'string');

const ofAmount = check<number>('a number of 0 or more', (value) => Number.isFinite(value) && value >= 0);

const CHECKS: Readonly<Record<OptionType, NonNullable<Option['check']>>> = {
  rows: ofCount,
  count: ofCount,
  seconds: check<number>('seconds, 0 or more', (value) => Number.isFinite(value) && value >= 0),
  rate: check<number>('above 0 a second', (value) => Number.isFinite(value) && value > 0),
  amount: ofAmount,
  scale: check<number>('a number above 0, such as 0.01', (value) => Number.isFinite(value) && value > 0),
  counts: ofCounts,
  grid: (value, mustBe) => (value === 'all' ? undefined : ofCounts(value, mustBe)),
  words: check('a list of strings', (value) => Array.isArray(value)),
  text: ofText,
  path: ofText,
  uris: check('an object of strings', (value) => typeof value === 'object'),
  flag: check('true or false', (value) => typeof value === 'boolean'),
};
