/** The parsers of option values. Commander prints their errors with the option's name. */
import { InvalidArgumentError } from 'commander';

const ROW_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };

/** Parses a number of rows: `10000000`, `10_000_000`, `10,000,000`, `10M`, `1.5M`, `500K`. */
export function parseRows(text: string): number {
  const [, digits, unit] = /^(\d[\d_,]*(?:\.\d+)?)([kmg]?)$/i.exec(text.trim()) ?? [];
  const rows = Math.round(Number(digits?.replaceAll(/[_,]/g, '')) * ROW_UNITS[unit?.toLowerCase() ?? '']! * 1e6) / 1e6;
  if (!Number.isSafeInteger(rows) || rows < 1) {
    throw new InvalidArgumentError('A number of rows looks like 1000000, 1_000_000, 1M or 500K.');
  }
  return rows;
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < 1) {
    throw new InvalidArgumentError('It must be a whole number of 1 or more.');
  }
  return count;
}

/** Parses a number of seconds, with optional decimals. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || !Number.isFinite(seconds)) {
    throw new InvalidArgumentError('It must be a number of seconds, such as 2 or 0.5.');
  }
  return seconds;
}

/** Parses a fraction from 0 to below 1, such as `0.05`. */
export function parseFraction(text: string): number {
  const fraction = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || fraction >= 1) {
    throw new InvalidArgumentError('It must be from 0 to below 1, such as 0.05.');
  }
  return fraction;
}

/** Parses words separated by commas; an option given twice adds to its list. */
export function parseWords(text: string, before: readonly string[] = []): string[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) throw new InvalidArgumentError('It must name at least one.');
  return [...before, ...words];
}

/** Parses numbers separated by commas; an option given twice adds to its list. */
export function parseCounts(text: string, before: readonly number[] = []): number[] {
  return [...before, ...parseWords(text).map(parseCount)];
}

/** Parses numbers separated by commas, or `all`. */
export function parseGrid(text: string, before: readonly number[] | 'all' = []): number[] | 'all' {
  if (text === 'all' || before === 'all') return 'all';
  return parseCounts(text, before);
}

/** Parses a number per second, such as `5000`, `50K` or `0.5`. */
export function parseRate(text: string): number {
  if (/^0?\.\d+$/.test(text) && Number(text) > 0) return Number(text);
  return parseRows(text);
}

/** Parses a factor above 0: `0.01`, `1`, `2.5`. */
export function parseScale(text: string): number {
  const scale = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || !Number.isFinite(scale) || scale <= 0) {
    throw new InvalidArgumentError('It must be a number above 0, such as 0.01.');
  }
  return scale;
}

/** Parses `name=uri`; an option given twice adds to its map. */
export function parseEngineUri(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const separator = text.indexOf('=');
  if (separator < 1 || separator === text.length - 1) {
    throw new InvalidArgumentError('It must be NAME=URI, such as embedded=embedded:/tmp/bench.duckdb.');
  }
  return { ...before, [text.slice(0, separator)]: text.slice(separator + 1) };
}
