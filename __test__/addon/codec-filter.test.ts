/** The filter of the addon for odd values: each is refused, or has a meaning. */
import { expect, it, test } from 'vitest';

import { crossing } from '../../src/crossing-addon.js';
import { detached } from '../detached.js';
import { invalid, noError, oddValues } from './odd-values.js';

const { columnFilter, countMatchingRows, rowMatches } = crossing.codec;

test('a row matches', () => {
  expect([rowMatches(18, true), rowMatches(19, true), rowMatches(19, false)]).toEqual([false, true, false]);
  expect(
    countMatchingRows([
      { age: 19, active: true },
      { age: 2, active: true },
    ]),
  ).toBe(1);
  expect(countMatchingRows([])).toBe(0);
});

test('columns are counted up to their end', () => {
  const count = columnFilter();
  expect(count(Int32Array.of(19, 80, 2), Uint8Array.of(1, 0, 1))).toBe(1);
  // Each byte but 0 is true.
  expect(count(Int32Array.of(19, 19, 19), Uint8Array.of(2, 255, 128))).toBe(3);
  expect(count(new Int32Array(0), new Uint8Array(0))).toBe(0);
  const memory = new ArrayBuffer(8);
  expect(count(new Int32Array(memory, 4, 1), new Uint8Array(memory, 7, 1))).toBe(0);
  const many = 100_001;
  expect(count(new Int32Array(many).fill(19), new Uint8Array(many).fill(1))).toBe(many);
});

test('columns of different lengths, or whose memory is gone, are refused', () => {
  const count = columnFilter();
  expect(() => count(new Int32Array(2), new Uint8Array(3))).toThrow(invalid);
  expect(() => count(new Int32Array(8), detached(new Uint8Array(8)))).toThrow(invalid);
  expect(() => count(new Int32Array(8), new Uint8Array(new SharedArrayBuffer(8)))).toThrow(invalid);
  expect(() => count(new Uint32Array(8) as never, new Uint8Array(8))).toThrow(invalid);
});

test('four billion rows are refused', () => {
  const rows = Object.assign([], { length: 2 ** 32 - 1 });
  expect(() => countMatchingRows(rows)).toThrow(/BB_TOO_LARGE/);
});

it('throws errors alone for odd values', () => {
  const count = columnFilter() as (...values: unknown[]) => unknown;
  const thrown: unknown[] = [];
  for (const one of oddValues()) {
    thrown.push(
      noError(() => countMatchingRows(one as never)),
      noError(() => countMatchingRows([one] as never)),
    );
    for (const other of oddValues()) {
      thrown.push(
        noError(() => rowMatches(one as never, other as never)),
        noError(() => count(one, other)),
      );
      thrown.push(noError(() => countMatchingRows([{ age: one, active: other }] as never)));
    }
  }
  expect(thrown.filter((value) => value !== undefined)).toEqual([]);
});
