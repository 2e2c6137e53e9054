import { invalidArgument } from '../../errors.js';

export const MILLISECONDS_PER_DAY = 86_400_000;

/** The `Date` at midnight UTC of a day, given as the number of days since 1970-01-01, which a `DATE` column returns. */
export function dateFromDays(days: number): Date {
  return checked(new Date(days * MILLISECONDS_PER_DAY), days);
}

/**
 * The `Date` of a `TIMESTAMP`, given in microseconds since 1970-01-01T00:00:00 UTC. A `Date` counts milliseconds, so the rest is
 * rounded down, towards the past.
 */
export function dateFromMicros(micros: bigint | number): Date {
  const milliseconds = typeof micros === 'bigint' ? Number(floorDivide(micros, 1000n)) : Math.floor(micros / 1000);
  return checked(new Date(milliseconds), micros);
}

function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend % divisor < 0n ? quotient - 1n : quotient;
}

function checked(date: Date, given: bigint | number): Date {
  if (!Number.isNaN(date.getTime())) return date;
  throw invalidArgument(`${given} lies outside the years that a Date can hold`);
}
