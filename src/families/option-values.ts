/** The kinds of option values: how the texts of the command line become values, and which values make sense. */
import { resolve } from 'node:path';
import { BoundaryError } from '../errors.js';

/** Throws that the value `found` is not as the option expects it. */
export type MustBe = (expected: string, found: unknown) => never;

export interface Kind<T> {
  /** The value of a text. `before`: the value of the same option, given before. Throws a `BoundaryError` that says what is wrong. */
  parse(text: string, before?: T): T;
  /** Reads the text of a variable, if `parse` should not. It converts the text plainly, and `check` says what is wrong. */
  read?(text: string): T;
  /** Checks a value, or each entry of a map. */
  check(value: unknown, mustBe: MustBe): unknown;
}

const ROW_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };

/** `10000000`, `10_000_000`, `10,000,000`, `10M`, `1.5M`, `500K`, `1e6`. */
export function parseRows(text: string): number {
  return parseNumber(text, 'A number of rows');
}

/** The same of anything else that is counted. */
export function parseSize(text: string): number {
  return parseNumber(text, 'A number');
}

/** The same of bytes, also with their unit: `64KB` are 64000 as `64K` are, `64KiB` are 65536. */
export function parseBytes(text: string): number {
  const [, number = text, unit] = /^(.*?)([kmg]?i?b)$/i.exec(text.trim()) ?? [];
  if (unit === undefined || unit.toLowerCase() === 'b') return parseSize(number);
  if (!unit.toLowerCase().endsWith('ib')) return parseSize(`${number}${unit.slice(0, -1)}`);
  return Math.round(parseSize(number) * 1024 ** ('kmg'.indexOf(unit[0]!.toLowerCase()) + 1));
}

function parseNumber(text: string, what: string): number {
  const [, digits, unit] = /^(\d[\d_,]*(?:\.\d+)?(?:e\d+)?)([kmg]?)$/i.exec(text.trim()) ?? [];
  const rows = Math.round(Number(digits?.replaceAll(/[_,]/g, '')) * ROW_UNITS[unit?.toLowerCase() ?? '']! * 1e6) / 1e6;
  if (!Number.isSafeInteger(rows) || rows < 1) {
    throw wrongText(`${what} looks like 1000000, 1_000_000, 1M or 500K.`);
  }
  return rows;
}

/** A user's client: its file as an absolute path, after the side that it is on, `js` or `napi`. */
function parseClient(text: string): string {
  const [, side = 'js', file = ''] = /^(?:(js|napi):)?(.+)$/s.exec(text) ?? [];
  return `${side}:${resolve(file)}`;
}

function numbers(pattern: RegExp, isRight: (value: number) => boolean, expected: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!pattern.test(text) || !isRight(value)) throw wrongText(`It must be ${expected}.`);
    return value;
  };
}

export const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
const isAbove = (value: number): boolean => Number.isFinite(value) && value > 0;
const isAmount = (value: number): boolean => value === 0 || isAbove(value);

const A_COUNT = 'a whole number of 1 or more';
const DECIMALS = /^\d*\.?\d+$/;

const parseCount = numbers(/^\d+$/, isCount, A_COUNT);

const parsePart = numbers(DECIMALS, (value) => value < 1, 'from 0 to below 1, such as 0.05 or 5%');

/** A part of 1, such as `0.05` or `5%`. */
export function parseFraction(text: string): number {
  const [, percent] = /^(\d*\.?\d+)%$/.exec(text) ?? [];
  return parsePart(percent === undefined ? text : String(Number(percent) / 100));
}

const parsePlainSeconds = numbers(/^\d+(\.\d+)?$/, isAmount, 'a number of seconds, such as 2 or 0.5, or 100ms or 2min');

/** A number of seconds, also with a unit: `2`, `0.5`, `100ms`, `30s`, `2min`. */
function parseSeconds(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|min)$/.exec(text) ?? [];
  if (number === undefined) return parsePlainSeconds(text);
  return unit === 'ms' ? Number(number) / 1000 : Number(number) * (unit === 'min' ? 60 : 1);
}

/** Words with commas between. An option given twice adds to its list. */
function parseWords(text: string, before: readonly string[] = []): string[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) throw wrongText('It must name at least one.');
  return [...before, ...words];
}

/** Numbers with commas between. An option given twice adds to its list. */
function parseCounts(text: string, before: readonly number[] = []): number[] {
  return [...before, ...parseWords(text).map(parseCount)];
}

/** Numbers with commas between, or `all`. */
function parseGrid(text: string, before: readonly number[] | 'all' = []): number[] | 'all' {
  if (text === 'all' || before === 'all') return 'all';
  return parseCounts(text, before);
}

/** A number a second, such as `5000`, `50K` or `0.5`. */
function parseRate(text: string): number {
  if (/^0?\.\d+$/.test(text) && Number(text) > 0) return Number(text);
  return parseSize(text);
}

/** `name=uri`. An option given twice adds to its map. */
function parseEngineUri(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const separator = text.indexOf('=');
  if (separator < 1 || separator === text.length - 1) {
    throw wrongText('It must be NAME=URI, such as embedded=embedded:/tmp/bench.duckdb.');
  }
  return { ...before, [text.slice(0, separator)]: text.slice(separator + 1) };
}

function wrongText(message: string): BoundaryError {
  return new BoundaryError('BB_USAGE', message);
}

type Check = Kind<unknown>['check'];

/** A check of values that must be as `expected` says. */
export function passing<T>(expected: string, isRight: (value: T) => boolean): Check {
  return (value, mustBe) => (isRight(value as T) ? undefined : mustBe(expected, value));
}

const aCount = passing(A_COUNT, isCount);
const aText = passing('a string', (value) => typeof value === 'string');
const someCounts: Check = (value, mustBe) => {
  for (const item of Array.isArray(value) ? (value as unknown[]) : [mustBe('a list', value)]) aCount(item, mustBe);
};

function kind<T>(parse: Kind<T>['parse'], check: Check, read?: (text: string) => T): Kind<T> {
  return { parse, check, ...(read && { read }) };
}

export const kinds = {
  rows: kind<number>(parseRows, aCount),
  count: kind<number>(parseCount, aCount),
  counts: kind<readonly number[]>(parseCounts, someCounts),
  grid: kind<readonly number[] | 'all'>(parseGrid, (value, mustBe) => value === 'all' || someCounts(value, mustBe)),
  seconds: kind<number>(parseSeconds, passing('seconds, 0 or more', isAmount)),
  fraction: kind<number>(
    parseFraction,
    passing<number>('from 0 to below 1', (value) => isAmount(value) && value < 1),
  ),
  rate: kind<number>(parseRate, passing('above 0 a second', isAbove)),
  amount: kind<number>(parseRate, passing('a number of 0 or more', isAmount), Number),
  scale: kind(
    numbers(DECIMALS, isAbove, 'a number above 0, such as 0.01'),
    passing('a number above 0', isAbove),
    Number,
  ),
  words: kind<readonly string[]>(parseWords, passing('a list', Array.isArray)),
  uris: kind<Readonly<Record<string, string>>>(parseEngineUri, aText),
  text: kind<string>(String, aText),
  path: kind<string>((text) => resolve(text), aText),
  client: kind<string>(
    parseClient,
    passing<unknown>(
      "'js:' or 'napi:' and a path",
      (value) => typeof value === 'string' && /^(js|napi):./s.test(value),
    ),
  ),
  /** The only text of a flag is the text of its variable. */
  flag: kind<boolean>(
    (text) => text === '1',
    passing('true or false', (value) => typeof value === 'boolean'),
  ),
};

export const {
  rows,
  count,
  counts,
  grid,
  seconds,
  fraction,
  rate,
  amount,
  scale,
  words,
  uris,
  text,
  path,
  client,
  flag,
} = kinds;
