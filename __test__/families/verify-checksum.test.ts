import { describe, expect, it } from 'vitest';
import { verifyChecksum } from '../../src/families/verify-checksum.js';

const expected = { rows: 3, sums: { id: '9007199254740993', value: 0.3 } };

describe('verifyChecksum', () => {
  it('takes a float within the tolerance', () => {
    const found = { rows: 3, sums: { id: '9007199254740993', value: 0.1 + 0.2 } };
    expect(found).not.toEqual(expected);
    expect(() => verifyChecksum(found, expected)).not.toThrow();
  });

  it.each([
    ['rows: read 4, expected 3', { ...expected, rows: 4 }],
    [
      'the sum of id: read 9007199254740992, expected 9007199254740993',
      { rows: 3, sums: { id: '9007199254740992', value: 0.3 } },
    ],
    ['the sum of value: read 0.300001, expected 0.3', { rows: 3, sums: { id: '9007199254740993', value: 0.300001 } }],
    ['the sum of value: read nothing, expected 0.3', { rows: 3, sums: { id: '9007199254740993' } }],
    ['the sum of more: read 1, expected nothing', { rows: 3, sums: { ...expected.sums, more: '1' } }],
    ['the sum of value: read NaN, expected 0.3', { rows: 3, sums: { ...expected.sums, value: Number.NaN } }],
  ])('refuses %s', (message, found) => {
    expect(() => verifyChecksum(found, expected)).toThrow(
      expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH', message }),
    );
  });
});
