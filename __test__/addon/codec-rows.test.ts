/** The row codec of the addon for odd values: each is refused, or has a meaning. */
import { describe, expect, it, test } from 'vitest';

import { crossing } from '../../src/crossing-addon.js';
import { SHAPES, kindsOf } from '../../src/families/codec/row-shapes.js';
import { inputsOf } from '../../src/families/codec/row-inputs.js';
import { detached } from '../detached.js';
import { invalid, noError, oddValues } from './odd-values.js';

const { codec } = crossing;

const tooLarge = expect.objectContaining({ message: expect.stringContaining('[BB_TOO_LARGE]') });

const USER = SHAPES.user.rowOf(7);
const TEN = SHAPES.ten_types.rowOf(7);

describe.each(['encodeUser', 'encodeUsers', 'encodeTenTypes', 'decodeUser', 'decodeUsers', 'decodeTenTypes'] as const)(
  '%s',
  (name) => {
    const call = codec[name] as (...values: unknown[]) => unknown;
    it('throws errors alone, or returns', () => {
      const thrown = [noError(() => call())];
      for (const value of oddValues()) {
        thrown.push(
          noError(() => call(value)),
          noError(() => call([value])),
          noError(() => call([USER, value])),
        );
        for (const field of Object.keys(USER)) thrown.push(noError(() => call([{ ...USER, [field]: value }])));
        for (const field of Object.keys(USER)) thrown.push(noError(() => call({ ...USER, [field]: value })));
        for (const field of Object.keys(TEN)) thrown.push(noError(() => call([{ ...TEN, [field]: value }])));
      }
      expect(thrown.filter((value) => value !== undefined)).toEqual([]);
    });
  },
);

describe('objects', () => {
  it('come back', () => {
    expect(codec.decodeUser(codec.encodeUser(USER))).toEqual(USER);
    expect(codec.decodeUsers(codec.encodeUsers([USER, USER]))).toEqual([USER, USER]);
    const rows = [TEN, SHAPES.half_nulls.rowOf(7), SHAPES.half_nulls.rowOf(8)];
    const found = codec.decodeTenTypes(codec.encodeTenTypes(rows as never));
    expect(found.map((row) => ({ ...row, bytes: row.bytes && new Uint8Array(row.bytes) }))).toEqual(rows);
    expect(codec.decodeUsers(codec.encodeUsers([]))).toEqual([]);
  });

  it('of the wrong number or with integers that are too large are refused', () => {
    const batch = codec.encodeUsers([USER, USER]);
    expect(() => codec.decodeUser(batch)).toThrow(invalid);
    expect(() => codec.decodeUser(new Uint8Array(0))).toThrow(invalid);
    for (const id of [2n ** 63n, -(2n ** 63n) - 1n]) expect(() => codec.encodeUser({ ...USER, id })).toThrow(invalid);
    expect(codec.decodeUser(codec.encodeUser({ ...USER, id: -(2n ** 63n) })).id).toBe(-(2n ** 63n));
    expect(() => codec.encodeTenTypes([{ ...TEN, int8: 128 }] as never)).toThrow(/i8/);
  });

  it('of an array of four billion are refused before memory is taken', () => {
    const array = Object.assign([], { length: 2 ** 32 - 1 });
    expect(() => codec.encodeUsers(array)).toThrow(tooLarge);
    expect(() => codec.encodeTenTypes(array)).toThrow(tooLarge);
  });

  it('that an array lacks are refused', () => {
    const sparse = [USER, USER];
    delete sparse[0];
    expect(() => codec.encodeUsers(sparse)).toThrow(Error);
  });
});

const KINDS = kindsOf(SHAPES.user);

describe('columns', () => {
  const { encoded, mostBytes } = inputsOf(SHAPES.user, 10);
  const decode = codec.rowDecoder(KINDS, 10, mostBytes);
  const encode = codec.rowEncoder(KINDS, 10, mostBytes);
  // The block is as long as the last column ends: its ten values begin at a multiple of eight.
  const block = new Uint8Array(blockBytes());

  function blockBytes(): number {
    for (let size = 0; ; size += 1) {
      try {
        decode(encoded[0]!, encoded[0]!.length, new Uint8Array(size));
        return size;
      } catch {
        // One byte more.
      }
    }
  }

  it('come back, and need not be aligned', () => {
    for (const offset of [0, 1, 4, 7]) {
      const unaligned = new Uint8Array(new ArrayBuffer(block.length + offset), offset);
      expect(decode(encoded[1]!, encoded[1]!.length, unaligned)).toBe(10);
      const out = new Uint8Array(mostBytes);
      const size = encode(unaligned, 10, out);
      expect(Buffer.from(out.subarray(0, size))).toEqual(encoded[1]);
    }
  });

  it('without room are refused', () => {
    expect(decode(encoded[0]!, encoded[0]!.length, block)).toBe(10);
    const size = encoded[0]!.length;
    expect(encode(block, 10, new Uint8Array(size))).toBe(size);
    expect(() => encode(block, 10, new Uint8Array(size - 1))).toThrow(invalid);
    for (const rows of [11, -1, 0.5, Number.NaN, Infinity, 2 ** 32]) {
      expect(() => encode(block, rows, new Uint8Array(size)), `${rows} rows`).toThrow(invalid);
    }
    expect(() => encode(block.subarray(1), 10, new Uint8Array(size))).toThrow(invalid);
    expect(() => decode(encoded[0]!, size, block.subarray(1))).toThrow(invalid);
    expect(() => decode(encoded[0]!, size + 1, block)).toThrow(invalid);
    expect(encode(block, 0, new Uint8Array(0))).toBe(0);
    expect(decode(new Uint8Array(0), 0, block)).toBe(0);
  });

  it('in the memory of the bytes are refused', () => {
    const memory = new Uint8Array(block.length + 1000);
    const parts = [memory.subarray(0, block.length), memory.subarray(block.length - 1)] as const;
    expect(() => encode(parts[0], 0, parts[1])).toThrow(invalid);
    expect(() => decode(parts[1], 1, parts[0])).toThrow(invalid);
    expect(encode(parts[0], 0, memory.subarray(block.length))).toBe(0);
  });

  it('in memory that is gone or shared are refused', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(block.length));
    for (const odd of [shared, detached(new Uint8Array(block.length))]) {
      expect(() => encode(odd, 1, new Uint8Array(1000))).toThrow(invalid);
      expect(() => decode(encoded[0]!, encoded[0]!.length, odd)).toThrow(invalid);
    }
    expect(() => encode(block, 10, detached(new Uint8Array(1000)))).toThrow(invalid);
    expect(() => decode(detached(new Uint8Array(1000)), 1, block)).toThrow(invalid);
  });

  it('of odd values throw errors alone', () => {
    const thrown: unknown[] = [];
    for (const one of oddValues()) {
      for (const other of oddValues()) {
        thrown.push(noError(() => encode(one as never, other as never, new Uint8Array(9))));
        thrown.push(noError(() => encode(block, one as never, other as never)));
        thrown.push(noError(() => decode(one as never, other as never, block)));
        thrown.push(noError(() => decode(encoded[0]!, one as never, other as never)));
      }
      thrown.push(
        noError(() => codec.rowEncoder(one as never, 1, 1)),
        noError(() => codec.rowEncoder([one] as never, 1, 1)),
      );
      thrown.push(noError(() => codec.rowDecoder(KINDS, one as never, 1)));
      thrown.push(noError(() => codec.rowDecoder(KINDS, 1, one as never)));
    }
    expect(thrown.filter((value) => value !== undefined)).toEqual([]);
  });
});

test('a codec of no columns, of too many or of no room is refused', () => {
  expect(() => codec.rowEncoder([], 1, 1)).toThrow(invalid);
  expect(() =>
    codec.rowEncoder(
      Array.from({ length: 65 }, () => 'int8' as const),
      1,
      1,
    ),
  ).toThrow(invalid);
  expect(() => codec.rowEncoder(['other' as never], 1, 1)).toThrow(Error);
  for (const size of [-1, 0.5, Number.NaN, 2 ** 32]) {
    expect(() => codec.rowEncoder(KINDS, size, 1)).toThrow(invalid);
    expect(() => codec.rowDecoder(KINDS, 1, size)).toThrow(invalid);
  }
});
