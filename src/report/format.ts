/** The format of numbers in the tables. An unknown number is a dash. */
import type { Rates, CompletedRecord } from '../records/record.js';
import { rateOf } from '../stats/summary.js';

export const UNKNOWN = '—';

const UNITS = [
  { size: 1, name: '' },
  { size: 1e3, name: 'K' },
  { size: 1e6, name: 'M' },
  { size: 1e9, name: 'G' },
] as const;

type UnitName = (typeof UNITS)[number]['name'];

/** The digits of a value in a unit. */
type DigitsOf = (value: number, unit: UnitName) => string;

/** A number of rows: `100.00M`, `100K`, `40`. */
export function formatRows(rows: number): string {
  const { digits, unit } = scale(rows, (value, name) =>
    name === '' ? value.toFixed(0) : name === 'K' ? threeDigits(value) : value.toFixed(2),
  );
  return `${digits}${unit}`;
}

/** A small number, unabbreviated: `32`. */
export function formatCount(count: number | undefined): string {
  return count === undefined ? UNKNOWN : String(count);
}

/** A rate in the columns of a table: `32.22 M/s`, `878 K/s`, `365/s`. */
export function formatRate(perSecond: number | undefined): string {
  if (perSecond === undefined) return UNKNOWN;
  return rateText(perSecond, (value, name) =>
    name === '' || name === 'K' ? smallRateDigits(value, name) : value.toFixed(2),
  );
}

/** A rate in a sentence, or with others in one cell, with three digits: `32.5 M/s`. */
export function formatShortRate(perSecond: number): string {
  return rateText(perSecond, smallRateDigits);
}

/** A rate of queries in the columns of a table, with three digits, since few are done in a second: `10.3/s`. */
export function formatQueries(perSecond: number | undefined): string {
  return perSecond === undefined ? UNKNOWN : rateText(perSecond, threeDigits);
}

/** A rate in a sentence with what it counts: `12.1 M rows/s`, `10.3 queries/s`, and of calls the time of one: `52 ns per call`. */
export function formatCountedRate(rates: Rates): string {
  const { rowsPerSecond, operationsPerSecond, callsPerSecond, queriesPerSecond = 0 } = rates;
  if (callsPerSecond !== undefined) return `${formatDuration(1 / callsPerSecond)} per call`;
  if (operationsPerSecond !== undefined) return rateText(operationsPerSecond, smallRateDigits, 'operations');
  if (rowsPerSecond === undefined) return rateText(queriesPerSecond, threeDigits, 'queries');
  return rateText(rowsPerSecond, smallRateDigits, 'rows');
}

/** A rate next to others of its workload: `32.5 M/s` of rows or operations, `10.3 queries/s`, or `52 ns per call`. */
export function formatRateOf({ summary }: { readonly summary: Rates }): string {
  const { rowsPerSecond, operationsPerSecond } = summary;
  const plain = rowsPerSecond ?? operationsPerSecond;
  return plain === undefined ? formatCountedRate(summary) : formatShortRate(plain);
}

/** A time in seconds, to the millisecond: `3.104`. Below a millisecond, to the microsecond: `0.000420`. */
export function formatSeconds(seconds: number | undefined): string {
  if (seconds === undefined) return UNKNOWN;
  return seconds > 0 && seconds < 0.001 ? seconds.toFixed(6) : seconds.toFixed(3);
}

/** A rate in MiB per second, without its unit: `737.4`. */
export function formatMebibytes(mebibytesPerSecond: number | undefined): string {
  return mebibytesPerSecond === undefined ? UNKNOWN : mebibytesPerSecond.toFixed(1);
}

/** A time in milliseconds, without the unit: `12.3`. */
export function formatMilliseconds(milliseconds: number | undefined): string {
  return milliseconds === undefined ? UNKNOWN : milliseconds.toFixed(1);
}

/** A latency given in nanoseconds: `820 ns`, `1.24 µs`, `3.10 ms`. */
export function formatLatency(nanoseconds: number): string {
  return formatDuration(nanoseconds / 1e9);
}

/** A length of time in the unit that fits: `71 ns`, `1.20 ms`, `2.50 s`. */
export function formatDuration(seconds: number): string {
  const units = [
    { size: 1e-9, name: 'ns' },
    { size: 1e-6, name: 'µs' },
    { size: 1e-3, name: 'ms' },
    { size: 1, name: 's' },
  ];
  const unit = units.find(({ size }) => seconds / size < 999.5) ?? units.at(-1)!;
  const value = seconds / unit.size;
  return `${unit.name === 'ns' && value >= 9.95 ? value.toFixed(0) : threeDigits(value)} ${unit.name}`;
}

/** A size in bytes: `96.0 GiB`, `512 MiB`. */
export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined) return UNKNOWN;
  const mebibytes = bytes / 1024 ** 2;
  return mebibytes < 1023.5 ? `${mebibytes.toFixed(0)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

/** The text of a time: `45 s`, `3 min 20 s`, `1 h 05 min`. */
export function formatClock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** A fraction as a percentage: `38%`, and with a decimal below ten, `4.2%`. */
export function formatPercent(fraction: number | undefined): string {
  if (fraction === undefined) return UNKNOWN;
  const percent = fraction * 100;
  return `${percent.toFixed(percent !== 0 && Math.abs(percent) < 9.95 ? 1 : 0)}%`;
}

/** A factor, `1.2×`. */
export function formatFactor(ratio: number): string {
  return `${factorText(ratio, factorDecimals([ratio]))}×`;
}

/** A factor with its interval, `1.2× (1.1–1.3)`. */
export function formatFactorInterval(interval: Ratio): string {
  const { ratio, low, high } = interval;
  return `${factorText(ratio, factorDecimals([low, high]))}× (${formatInterval(interval)})`;
}

/** An interval alone, `1.1–1.3`, with the decimals that its factor would need next to it. */
export function formatInterval({ low, high }: Ratio): string {
  const decimals = factorDecimals([low, high]);
  return `${endText(low, decimals)}–${endText(high, decimals)}`;
}

/** A factor with these decimals, but three digits at most where it is large: `29.9K`, `1.20e+9`. */
function factorText(factor: number, decimals: number): string {
  if (factor >= 999_500) return factor.toExponential(2);
  if (factor >= 999.5) return `${factorText(factor / 1000, 2)}K`;
  return factor.toFixed(factor >= 99.5 ? 0 : factor >= 9.995 ? Math.min(1, decimals) : decimals);
}

/** The end of an interval. An end next to 1 says on which side it is: `>1.00`. */
function endText(end: number, decimals: number): string {
  const text = factorText(end, decimals);
  return isExact(end) || Number(text) !== 1 ? text : `${end > 1 ? '>' : '<'}${text}`;
}

interface Ratio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The fewest decimals at which no value but 1 reads as 1, no value but 0 reads as 0, and the ends of an interval
 * differ: at most as many as make three digits, but for values that would read as 0.
 */
function factorDecimals(values: readonly number[]): number {
  const misleads = (decimals: number): boolean =>
    values.some((value) => [0, 1].includes(Number(value.toFixed(decimals))) && !isExact(value)) ||
    (values.length > 1 && new Set(values.map((value) => value.toFixed(decimals))).size === 1 && !areSame(values));
  const readsAsZero = (decimals: number): boolean =>
    values.some((value) => Number(value.toFixed(decimals)) === 0 && !isExact(value));
  const most = values.some((value) => value >= 1) ? 2 : 3;
  let decimals = values.every((value) => value >= 99.5) ? 0 : values.some((value) => value < 1) ? 2 : 1;
  while (decimals < most && misleads(decimals)) decimals++;
  while (decimals < 4 && readsAsZero(decimals)) decimals++;
  return decimals;
}

/** Whether a ratio is exactly 1 or 0. Beyond nine decimals, ratios differ only by rounding. */
function isExact(value: number): boolean {
  return [0, 1].includes(Number(value.toFixed(9)));
}

function areSame(values: readonly number[]): boolean {
  return new Set(values.map((value) => value.toFixed(9))).size === 1;
}

/** A rate with its unit and what it counts: `12.1 M rows/s`, `365/s`. */
function rateText(perSecond: number, digitsOf: DigitsOf, counted = ''): string {
  const { digits, unit } = scale(perSecond, digitsOf);
  return `${[digits, unit, counted].filter((word) => word !== '').join(' ')}/s`;
}

/** The first unit in which the rounded value is below 1000, so that 999 999 is `1.00 M`, not `1000 K`. */
function scale(value: number, digitsOf: DigitsOf): { digits: string; unit: UnitName } {
  for (const { size, name } of UNITS) {
    const digits = digitsOf(value / size, name);
    if (Number(digits) < 1000) return { digits, unit: name };
  }
  return { digits: (value / 1e9).toFixed(0), unit: 'G' };
}

function smallRateDigits(value: number, unit: UnitName): string {
  return unit === '' && (value === 0 || value >= 9.995) ? value.toFixed(0) : threeDigits(value);
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/**
 * A record with the rate that a comparison gives it: the ratio times the rate of the other. A ratio rests on the blocks that both have, and
 * of several cells on the samples that did not choose one. The record's own rate rests on all of its samples.
 */
export function atRatio<R extends CompletedRecord>(record: R, ratio: number, other: CompletedRecord): R {
  const factor = (ratio * rateOf(other)) / rateOf(record);
  if (!(factor > 0 && Number.isFinite(factor))) return record;
  const { summary } = record;
  const rates = Object.entries(summary).filter(([name]) => name.endsWith('PerSecond'));
  return {
    ...record,
    summary: {
      ...summary,
      ...Object.fromEntries(rates.map(([name, rate]) => [name, rate * factor])),
      medianSeconds: summary.medianSeconds / factor,
    },
  };
}
