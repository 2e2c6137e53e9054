import { invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';

export const MILLISECONDS_PER_DAY = 86_400_000;

/**
 * The `Date` at midnight UTC of a day, given as the number of days since 1970-01-01, which a `DATE` column returns. A null, which
 * such a column also returns, stays null. Throws `BB_INVALID_ARGUMENT` for what is no whole number, and for days outside the range
 * of a `Date`.
 *
 * @example
 * ```js
 * import { dateFromDays } from 'boundary-bench';
 *
 * console.log(dateFromDays(19_723).toISOString()); // 2024-01-01T00:00:00.000Z
 * ```
 */
export function dateFromDays(days: number): Date;
export function dateFromDays(days: number | null): Date | null;
export function dateFromDays(days: number | null): Date | null {
  if (days === null) return null;
  if (!Number.isSafeInteger(days)) throw invalidArgument(`${describeValue(days)} is no whole number of days`);
  return checked(new Date(days * MILLISECONDS_PER_DAY), days);
}

/**
 * The `Date` of a `TIMESTAMP`, given in microseconds since 1970-01-01T00:00:00 UTC. A `Date` counts milliseconds, so the rest is
 * rounded down, towards the past. A null stays null. Throws `BB_INVALID_ARGUMENT` for what is neither a bigint nor a safe integer,
 * and for times outside the range of a `Date`.
 *
 * @example
 * ```js
 * import { dateFromMicros } from 'boundary-bench';
 *
 * console.log(dateFromMicros(1_704_067_200_000_000n).toISOString()); // 2024-01-01T00:00:00.000Z
 * ```
 */
export function dateFromMicros(micros: bigint | number): Date;
export function dateFromMicros(micros: bigint | number | null): Date | null;
export function dateFromMicros(micros: bigint | number | null): Date | null {
  if (micros === null) return null;
  if (typeof micros === 'bigint') return checked(new Date(Number(floorDivide(micros, 1000n))), micros);
  if (Number.isSafeInteger(micros)) return checked(new Date(Math.floor(micros / 1000)), micros);
  const hint = Number.isInteger(micros) ? 'Give it as a bigint' : undefined;
  throw invalidArgument(`${describeValue(micros)} is no whole number of microseconds`, { hint });
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend % divisor < 0n ? quotient - 1n : quotient;
}

function checked(date: Date, given: bigint | number): Date {
  if (!Number.isNaN(date.getTime())) return date;
  throw invalidArgument(`${describeValue(given)} lies outside the years that a Date can hold`);
}
