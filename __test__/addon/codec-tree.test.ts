/** The tree of keys of the addon for odd values: each is refused, or has a meaning. */
import { describe, expect, it, test } from 'vitest';

import { crossing } from '../../src/crossing-addon.js';
import { detached } from '../detached.js';
import { invalid, noError, oddValues } from './odd-values.js';

const { KeyTree } = crossing.codec;

const bytes = (...keys: string[]): Uint8Array => new Uint8Array(Buffer.from(keys.join(''), 'latin1'));

test('a tree has what was put in, by each way', () => {
  const tree = new KeyTree();
  expect([tree.set('00000002', 2), tree.set('00000002', 2.5), tree.size]).toEqual([true, false, 1]);
  const putAll = tree.putter();
  expect(putAll(bytes('00000001', '00000002', '00000003'), Float64Array.of(1, 2, 3))).toBe(2);
  expect([tree.get('00000001'), tree.get('00000002'), tree.get('00000004')]).toEqual([1, 2, null]);
  const values = new Float64Array(3).fill(7);
  expect(tree.getter()(bytes('00000003', '00000009'), values)).toBe(1);
  expect(values).toEqual(Float64Array.of(3, Number.NaN, 7));
  expect(tree.range('00000002', 9)).toEqual([2, 3]);
  const range = tree.ranger();
  expect([range(bytes('00000002'), values.subarray(0, 1)), values[0]]).toEqual([1, 2]);
  expect(range(bytes('00000000'), values)).toBe(3);
  expect(values).toEqual(Float64Array.of(1, 2, 3));
  expect(range(bytes('00000003'), values)).toBe(1);
  expect(range(bytes('00000004'), values)).toBe(0);
});

test('a function has the tree for as long as it lives', () => {
  const tree = new KeyTree();
  const [putAll, getAll] = [tree.putter(), tree.getter()];
  expect(putAll(bytes('00000001'), Float64Array.of(1))).toBe(1);
  expect(tree.size).toBe(1);
  const found = new Float64Array(1);
  expect([getAll(bytes('00000001'), found), found[0]]).toEqual([1, 1]);
});

test('keys are compared by their bytes', () => {
  const tree = new KeyTree();
  for (const [place, key] of ['ÿÿÿÿ', '00000000', 'zzzzzzzz', '\0\0\0\0\0\0\0\0'].entries()) tree.set(key, place);
  expect(tree.range('\0\0\0\0\0\0\0\0', 10)).toEqual([3, 1, 2, 0]);
});

describe('refused are', () => {
  const tree = new KeyTree();
  const [getAll, putAll, range] = [tree.getter(), tree.putter(), tree.ranger()];

  it('keys that have not eight bytes', () => {
    for (const key of ['', '0000000', '000000000', 'äääää']) {
      expect(() => tree.get(key), key).toThrow(invalid);
      expect(() => tree.set(key, 1), key).toThrow(invalid);
      expect(() => tree.range(key, 1), key).toThrow(invalid);
      const odd = new Uint8Array(Buffer.from(key));
      expect(() => range(odd, new Float64Array(1)), key).toThrow(invalid);
    }
    for (const size of [1, 7, 9, 15]) expect(() => getAll(new Uint8Array(size), new Float64Array(9))).toThrow(invalid);
    expect(getAll(new Uint8Array(0), new Float64Array(0))).toBe(0);
  });

  it('fewer values than keys', () => {
    for (const call of [getAll, putAll]) expect(() => call(new Uint8Array(16), new Float64Array(1))).toThrow(invalid);
    expect(tree.size).toBe(0);
  });

  it('values in the memory of the keys', () => {
    const memory = new ArrayBuffer(32);
    expect(() => getAll(new Uint8Array(memory, 0, 16), new Float64Array(memory, 8, 2))).toThrow(invalid);
    expect(getAll(new Uint8Array(memory, 0, 16), new Float64Array(memory, 16, 2))).toBe(0);
    // A key is copied first, so that its memory may be written.
    expect(range(new Uint8Array(memory, 0, 8), new Float64Array(memory))).toBe(0);
  });

  it('memory that is gone or shared', () => {
    const values = new Float64Array(1);
    for (const call of [getAll, putAll, range]) {
      expect(() => call(new Uint8Array(new SharedArrayBuffer(8)), values)).toThrow(invalid);
      expect(() => call(new Uint8Array(8), new Float64Array(new SharedArrayBuffer(8)))).toThrow(invalid);
    }
    expect(() => range(detached(new Uint8Array(8)), values)).toThrow(invalid);
    const gone = detached(new Float64Array(1));
    expect(() => getAll(new Uint8Array(8), gone)).toThrow(invalid);
    expect(range(new Uint8Array(8), gone)).toBe(0);
    expect(getAll(detached(new Uint8Array(8)), values)).toBe(0);
  });

  it('more values than an array should have', () => {
    expect(() => tree.range('00000000', 2 ** 32 - 1)).toThrow(/BB_TOO_LARGE/);
  });
});

it('throws errors alone for odd values', () => {
  const tree = new KeyTree();
  const calls: ((...values: unknown[]) => unknown)[] = [
    (key) => tree.get(key as never),
    (key, value) => tree.set(key as never, value as never),
    (key, value) => tree.range(key as never, value as never),
    (key, value) => tree.get.call(key as never, value as never),
    tree.getter() as never,
    tree.putter() as never,
    tree.ranger() as never,
    (values) => KeyTree.prototype.set.call(values as never, '00000000', 1),
    (values) => KeyTree.prototype.getter.call(values as never),
    (values) => (KeyTree as unknown as (values: unknown) => unknown)(values),
  ];
  const thrown: unknown[] = [];
  for (const call of calls) {
    for (const one of oddValues()) for (const other of oddValues()) thrown.push(noError(() => call(one, other)));
  }
  expect(thrown.filter((value) => value !== undefined)).toEqual([]);
});
