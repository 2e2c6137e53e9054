import { describe, expect, test } from 'vitest';

import { connect, dateFromDays, dateFromMicros } from '../../../src/index.js';

/** Values that are neither null nor a whole number. */
const NO_NUMBERS = [undefined, '0', '', '2024-01-01', true, false, [], [1], {}, new Date(0), Symbol('day'), () => 1];

const REFUSED = expect.objectContaining({ name: 'BoundaryError', code: 'BB_INVALID_ARGUMENT' }) as Error;

describe.each([
  ['dateFromDays', dateFromDays as (value: unknown) => Date | null],
  ['dateFromMicros', dateFromMicros as (value: unknown) => Date | null],
])('%s', (_, convert) => {
  test('a null stays null', () => {
    expect(convert(null)).toBeNull();
  });

  test('values that are no whole number are refused', () => {
    for (const value of [...NO_NUMBERS, 0.5, -1.25, Number.NaN, Infinity, -Infinity]) {
      expect(() => convert(value), String(value)).toThrow(REFUSED);
    }
  });

  test('values outside the years of a Date are refused', () => {
    for (const value of [2 ** 53, -(2 ** 53), 1e300]) expect(() => convert(value)).toThrow(REFUSED);
  });
});

test('days are refused as bigints, and outside of the days of a Date', () => {
  expect(() => dateFromDays(1n as unknown as number)).toThrow(REFUSED);
  expect(dateFromDays(100_000_000).getTime()).toBe(8.64e15);
  expect(dateFromDays(-100_000_000).getTime()).toBe(-8.64e15);
  expect(() => dateFromDays(100_000_001)).toThrow(REFUSED);
});

test('microseconds are taken up to the first and the last time of a Date, as numbers and as bigints', () => {
  expect(dateFromMicros(-1000).getTime()).toBe(-1);
  expect(dateFromMicros(8_640_000_000_000_000_999n).getTime()).toBe(8.64e15);
  expect(dateFromMicros(-8_640_000_000_000_000_000n).getTime()).toBe(-8.64e15);
  for (const micros of [
    8_640_000_000_000_001_000n,
    -8_640_000_000_000_000_001n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    10n ** 400n,
  ]) {
    expect(() => dateFromMicros(micros)).toThrow(REFUSED);
  }
  expect(() => dateFromMicros(2 ** 53)).toThrow(expect.objectContaining({ hint: 'Give it as a bigint' }));
});

test('the values of a result, nulls among them, become dates or null', async () => {
  await using connection = await connect('embedded:');
  const rows = await connection.executeQuery<{ d: number | null; t: bigint | null }>(
    "SELECT DATE '2024-02-29' AS d, TIMESTAMP '1969-12-31 23:59:59.9999' AS t UNION ALL SELECT NULL, NULL",
  );
  expect(rows.map(({ d, t }) => [dateFromDays(d), dateFromMicros(t)])).toEqual([
    [new Date('2024-02-29'), new Date('1969-12-31T23:59:59.999Z')],
    [null, null],
  ]);
});
