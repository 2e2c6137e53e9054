import fc from 'fast-check';
import { expect, test } from 'vitest';

import { formatDecimal, parseDecimal } from '../../../src/library/engine/decimal-text.js';
import { SqlType, typed } from '../../../src/index.js';
import { Misfit } from '../../../src/library/engine/column-stage.js';
import { toRaw } from '../../../src/library/engine/parameters.js';

test('formatted decimals are parsed back, of any length', () => {
  const most = 10n ** 38n - 1n;
  fc.assert(
    fc.property(fc.bigInt({ min: -most, max: most }), fc.nat(38), (units, scale) => {
      const parsed = parseDecimal(formatDecimal(units, scale), 38, scale);
      expect(BigInt(parsed as number | bigint)).toBe(units);
    }),
  );
});

test.each([
  ['1', 100n],
  ['-1.5', -150n],
  ['+.5', 50n],
  ['5.', 500n],
  ['-0', 0n],
  ['-0.00', 0n],
  ['0001.2300', 123n],
  ['1.23e2', 12_300n],
  ['123e-2', 123n],
  ['1e+3', 100_000n],
  ['99999999999999999999', 9_999_999_999_999_999_999_900n],
])('%s has %s hundredths', (text, units) => {
  const parsed = parseDecimal(text, 38, 2);
  expect(BigInt(parsed as number | bigint)).toBe(units);
  expect(Object.is(parsed, -0)).toBe(false);
});

test.each(['', '.', '-', 'e5', '1e', '1.2.3', '0x10', '1_000', ' 1', '1 ', 'Infinity', 'NaN', '١'])(
  '%j is no decimal',
  (text) => {
    expect(parseDecimal(text, 10, 2)).toBeInstanceOf(Misfit);
  },
);

test('nothing is rounded, and nothing overflows', () => {
  expect(parseDecimal('0.001', 10, 2)).toBeInstanceOf(Misfit);
  expect(parseDecimal('1e-3', 10, 2)).toBeInstanceOf(Misfit);
  expect(parseDecimal('100000000', 10, 2)).toBeInstanceOf(Misfit);
  expect(parseDecimal('99999999.99', 10, 2)).toBe(9_999_999_999);
});

test.each([
  [5n, 0, '5'],
  [-5, 2, '-0.05'],
  [0, 3, '0.000'],
  [123_456n, 3, '123.456'],
  [-(10n ** 37n), 38, `-0.1${'0'.repeat(37)}`],
] as const)('%s with a scale of %s is %s', (units, scale, text) => {
  expect(formatDecimal(units, scale)).toBe(text);
});

test('numbers of any length are refused, and their digits are not written', () => {
  const huge = 1n << 20_000_000n;
  for (const long of ['1'.repeat(20_000_000), `0.${'0'.repeat(20_000_000)}1`, huge, -huge]) {
    for (const type of [SqlType.decimal(38, 2), SqlType.bigInt()]) {
      const { problem } = toRaw(typed(type, long)) as Misfit;
      expect(problem.length).toBeLessThan(150);
    }
  }
});
