import type { Checksum } from '../records/record.js';
import { type BoundaryError, checksumMismatch } from '../errors.js';

/** The most relative difference between a sum of floats and the expected one, since engines add in different orders. */
export const FLOAT_TOLERANCE = 1e-9;

/**
 * Throws a `BoundaryError` with the code `BB_CHECKSUM_MISMATCH` and both values if a sample did not do the cell's work. Row
 * counts and sums of integers are compared exactly, sums of floats within `FLOAT_TOLERANCE`.
 */
export function verifyChecksum(found: Checksum, expected: Checksum): void {
  if (found.rows !== expected.rows) throw mismatch('rows', found.rows, expected.rows);
  const names = new Set([...Object.keys(expected.sums), ...Object.keys(found.sums)]);
  for (const name of names) {
    const foundSum = found.sums[name];
    const expectedSum = expected.sums[name];
    if (!agree(foundSum, expectedSum)) throw mismatch(`the sum of ${name}`, foundSum, expectedSum);
  }
}

function agree(found: string | number | undefined, expected: string | number | undefined): boolean {
  if (typeof found === 'number' && typeof expected === 'number') {
    return Math.abs(found - expected) <= FLOAT_TOLERANCE * Math.max(Math.abs(found), Math.abs(expected));
  }
  return found === expected;
}

function mismatch(what: string, found: unknown, expected: unknown): BoundaryError {
  const show = (value: unknown): string => (value === undefined ? 'nothing' : String(value));
  return checksumMismatch(`${what}: read ${show(found)}, expected ${show(expected)}`);
}
