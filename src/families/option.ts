import { BoundaryError } from '../errors.js';
import type { Kind, MustBe } from './option-values.js';

/** The properties of an option besides its flag, its kind and its help. */
export interface Details {
  /** The help's text for the value if neither the flag nor the variable gives one; default: the default. */
  readonly otherwise?: string;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  /** The default of a quick run, if it is another. */
  readonly quickly?: unknown;
  /** The environment variable that the command line reads if the flag is not given. */
  readonly variable?: string;
  /** The option's name in error messages; default: its own name. */
  readonly calledAs?: string;
  /** The code of the errors of a wrong value; default: `BB_INVALID_ARGUMENT`. */
  readonly code?: string;
  /** Replaces the check of its kind. */
  check?(value: unknown, mustBe: MustBe): unknown;
  /** A text of the value as it may be written down: without its secrets. */
  redact?(text: string): string;
}

/** One option of a run: all that the command line, `run()` of the library and the result file know of it. */
export interface Option extends Details {
  /** How the command line takes it, such as `--rate <n>`. Options that share a flag get the same value. */
  readonly flag: string;
  readonly kind: Kind<unknown>;
  readonly help: string;
}

/** Options by their names in `run()` and in `run.json`. `engines.redis` is the entry `redis` of the map `engines`. */
export type OptionTable = Readonly<Record<string, Option>>;

type Declared<T> = Pick<Option, 'flag' | 'help'> & { readonly kind: Kind<T> };

export function option<T, const D extends Details>(flag: string, kind: Kind<T>, help: string, details?: D) {
  return { flag, kind, help, ...details } as Declared<T> & NoInfer<D>;
}

type ValueOf<O> = O extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : O extends { readonly kind: Kind<infer T> }
    ? T
    : never;

/** Values for the options of a table, each of which may be left out. */
export type GivenValues<Table> = { readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined };

type WithDefault<Table> = {
  [N in keyof Table]: Table[N] extends { readonly default: unknown } ? N : never;
}[keyof Table];

/** The same with the defaults filled in. */
export type FilledValues<Table> = GivenValues<Table> & { readonly [N in WithDefault<Table>]: ValueOf<Table[N]> };

const MAPS: ReadonlySet<string> = new Set(['engines', 'filters', 'apiKeys']);

/** The values that are given, by the names of tables. `undefined`, `false` and an empty list count as not given. */
export function flatten(values: object): Record<string, unknown> {
  const entries = Object.entries(values).flatMap(([name, value]) =>
    MAPS.has(name) ? Object.entries(value ?? {}).map(([key, item]) => [`${name}.${key}`, item]) : [[name, value]],
  );
  const says = (value: unknown): boolean =>
    value !== undefined && value !== false && (value as unknown[] | null)?.length !== 0;
  return Object.fromEntries(entries.filter(([, value]) => says(value))) as Record<string, unknown>;
}

export function nest(flat: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(flat)) {
    const { map, key } = partsOf(name);
    values[map ?? name] = map === undefined ? value : { ...(values[map] as object | undefined), [key]: value };
  }
  return values;
}

/** The map that an option is an entry of, and the entry's name. For an option in no map: only its own name. */
export function partsOf(name: string): { readonly map?: string; readonly key: string } {
  const [map = '', ...rest] = name.split('.');
  return MAPS.has(map) && rest.length > 0 ? { map, key: rest.join('.') } : { key: name };
}

/** The values of a table's options, with its defaults. Throws a `BoundaryError` for a value that makes no sense. */
export function valuesOf<Table extends OptionTable>(table: Table, given: GivenValues<Table>): FilledValues<Table> {
  const values = Object.entries(table).map(([name, declared]) => {
    const value = (given as Readonly<Record<string, unknown>>)[name] ?? declared.default;
    if (value !== undefined) checkValue(name, declared, value);
    return [name, value] as const;
  });
  return Object.fromEntries(values) as FilledValues<Table>;
}

/** Throws the error of `mustBe` if the value of an option makes no sense. Default: a `BoundaryError` that names the option. */
export function checkValue(name: string, declared: Option, value: unknown, mustBe?: MustBe): void {
  const { calledAs = name, code = 'BB_INVALID_ARGUMENT', choices, check = declared.kind.check } = declared;
  const fail: MustBe =
    mustBe ??
    ((expected, found) => {
      throw new BoundaryError(code, `${calledAs} must be ${expected}, not ${String(found)}`);
    });
  if (choices?.includes(value as string) === false) fail(`one of ${choices.join(', ')}`, value);
  check(value, fail);
}
