import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalOf, differenceOf } from '../../../src/families/own/equal.js';

const compare = (a: unknown, b: unknown, tolerance?: number): string | undefined =>
  differenceOf(canonicalOf(a), canonicalOf(b), tolerance);

describe('the results of two ways', () => {
  it.each([
    ['a typed array and an array', Float64Array.of(1, 2), [1, 2]],
    ['a buffer and its bytes', Buffer.from('ab'), Uint8Array.of(97, 98)],
    ['an array buffer and its bytes', Uint8Array.of(1, 2).buffer, [1, 2]],
    [
      'a map and an object',
      new Map([
        ['b', 1],
        ['a', 2],
      ]),
      { a: 2, b: 1 },
    ],
    ['null and undefined', null, undefined],
    ['a property that is nothing, and none', { a: 1, b: undefined, c: null }, { a: 1 }],
    ['a bigint and a number', 12n, 12],
    ['sums in another order', 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1],
    ['what is no number', Number.NaN, Number.NaN],
    ['dates', new Date(5), new Date(5)],
  ])('are the same: %s', (_, a, b) => {
    expect(compare(a, b)).toBeUndefined();
    expect(compare(b, a)).toBeUndefined();
  });

  it.each([
    [[1, 2, 3], [1, 2], 'the result has 3 items, expected 2'],
    [{ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, 'the result.a[0].b is 1, expected 2'],
    [1, 1 + 1e-6, 'the result is 1, expected 1.000001'],
    ['1', 1, 'the result is "1", expected 1'],
    [{ a: 1 }, {}, 'the result.a is 1, expected null'],
    [Infinity, -Infinity, 'the result is "number:Infinity", expected "number:-Infinity"'],
    [0, 1e-300, 'the result is 0, expected 1e-300'],
  ])('differ: %j and %j', (a, b, difference) => {
    expect(compare(a, b)).toBe(difference);
  });

  it('differ if a bigint is no exact number', () => {
    expect(compare(2n ** 64n, Number(2n ** 64n))).toBe(
      'the result is "18446744073709551616", expected 18446744073709552000',
    );
  });

  it('are compared with the tolerance that is given', () => {
    expect(compare(100, 101, 0.02)).toBeUndefined();
    expect(compare(100, 101, 0)).toContain('expected 101');
  });

  it('are data', () => {
    expect(() => canonicalOf({ a: () => 1 })).toThrow('a result must be data, not a function');
    const loop: unknown[] = [];
    loop.push(loop);
    expect(() => canonicalOf(loop)).toThrow('contains itself');
  });

  it('stay the same on their way through JSON', () => {
    const data = fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true });
    fc.assert(
      fc.property(data, (value) => {
        const canonical = canonicalOf(value);
        const carried = JSON.parse(JSON.stringify(canonical)) as typeof canonical;
        expect(differenceOf(carried, canonical, 0)).toBeUndefined();
      }),
    );
  });
});
