import type { Checksum } from './record.js';

/** The most relative difference between two sums of the same floats, since engines add in different orders. */
const FLOAT_TOLERANCE = 1e-9;

/** The sum that marks a cell of which each call reads its result in full, because reading may be a part of the work. */
export const READ_IN_FULL = 'readInFull';

/** The first thing in which two checksums differ: counts and sums of integers exactly, sums of floats beyond rounding. */
export interface ChecksumDifference {
  readonly what: string;
  readonly found: string | number | undefined;
  readonly expected: string | number | undefined;
}

/** The first difference of one checksum from another. `undefined` if they are of the same values. */
export function checksumDifference(found: Checksum, expected: Checksum): ChecksumDifference | undefined {
  if (found.rows !== expected.rows) return { what: 'rows', found: found.rows, expected: expected.rows };
  const names = new Set([...Object.keys(expected.sums), ...Object.keys(found.sums)]);
  const other = [...names].find((name) => !agree(found.sums[name], expected.sums[name]));
  return other === undefined
    ? undefined
    : { what: `the sum of ${other}`, found: found.sums[other], expected: expected.sums[other] };
}

function agree(found: string | number | undefined, expected: string | number | undefined): boolean {
  if (typeof found === 'number' && typeof expected === 'number') {
    return Math.abs(found - expected) <= FLOAT_TOLERANCE * Math.max(Math.abs(found), Math.abs(expected));
  }
  return found === expected;
}
