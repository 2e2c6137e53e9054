import type { Checksum } from '../records/record.js';
import { checksumMismatch } from '../errors.js';
import { checksumDifference } from '../records/checksum.js';

/** Throws a `BoundaryError` with the code `BB_CHECKSUM_MISMATCH` and both values if a sample did not do the cell's work. */
export function verifyChecksum(found: Checksum, expected: Checksum): void {
  const difference = checksumDifference(found, expected);
  if (difference === undefined) return;
  const show = (value: unknown): string => (value === undefined ? 'nothing' : String(value));
  throw checksumMismatch(`${difference.what}: read ${show(difference.found)}, expected ${show(difference.expected)}`);
}
