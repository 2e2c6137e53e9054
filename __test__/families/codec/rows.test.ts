import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import { ColumnCodec } from '../../../src/families/codec/column-codec.js';
import { type RowKind, RowReader, RowWriter } from '../../../src/families/codec/row-codec.js';
import { RowColumns } from '../../../src/families/codec/row-columns.js';
import { firstBytes, inputsOf } from '../../../src/families/codec/row-inputs.js';
import {
  type RowShape,
  SHAPES,
  type TenTypesRow,
  type UserRow,
  kindsOf,
  rowsOfColumns,
  sizeOf,
} from '../../../src/families/codec/row-shapes.js';
import { rowTopic, verifyDecoding, verifyEncoding } from '../../../src/families/codec/rows.js';
import { codecCells, sampleCodecCells } from './codec-cells.js';

/** Not a multiple of the turns of the batches, so that a wrong turn shows. */
const BATCHES = 7;

const planned = codecCells('row_');

test('each cell reads of each row what it must', async () => {
  expect(planned.length).toBeGreaterThan(60);
  await sampleCodecCells(planned, ({ batch = 1 }) => BATCHES * batch);
});

const NAMES = Object.keys(SHAPES) as (keyof typeof SHAPES)[];

function encoded<Row>(shape: RowShape<Row>, rows: readonly Row[]): Buffer {
  // Too small, so that it has to grow.
  const writer = new RowWriter(kindsOf(shape).length, 1);
  for (const row of rows) shape.write(writer, row);
  return Buffer.from(writer.bytes.subarray(0, writer.length));
}

function decoded<Row>(shape: RowShape<Row>, batch: Uint8Array): Row[] {
  const reader = new RowReader(kindsOf(shape).length);
  reader.open(batch);
  const rows: Row[] = [];
  while (reader.next()) rows.push(shape.read(reader));
  return rows;
}

/** Decodes into columns, and encodes the columns again. */
function throughColumns<Row>(shape: RowShape<Row>, batch: Uint8Array, rows = 64): { rows: Row[]; bytes: Uint8Array } {
  const kinds = kindsOf(shape);
  const codec = new ColumnCodec(kinds);
  const columns = new RowColumns(kinds, rows, batch.length);
  // The earlier content of the memory must not show.
  columns.block.fill(0xff);
  const count = codec.decoder(columns)(batch);
  const out = new Uint8Array(batch.length);
  expect(codec.encoder(columns)(count, out)).toBe(batch.length);
  return { rows: rowsOfColumns(shape, columns, count), bytes: out };
}

describe('the fixture, which Rust reads as well', () => {
  const fixture = JSON.parse(readFileSync('__test__/fixtures/codec-rows.json', 'utf8')) as Record<string, string>;
  it.each(NAMES)('has the rows of %s', (name) => {
    const shape = SHAPES[name] as RowShape<unknown>;
    const rows = (name === 'user' ? [1, 2, 123_456] : [1, 2, 1023]).map((number) => shape.rowOf(number));
    const bytes = Buffer.from(fixture[name]!, 'hex');
    expect(encoded(shape, rows).toString('hex')).toBe(fixture[name]);
    expect(decoded(shape, bytes)).toEqual(rows);
    expect(throughColumns(shape, bytes)).toEqual({ rows, bytes: new Uint8Array(bytes) });
    expect(bytes).toHaveLength(rows.reduce<number>((sum, row) => sum + sizeOf(shape, row), 0));
  });
});

const text = fc.string({ unit: 'grapheme', maxLength: 60 });
const int = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

const anyUser: fc.Arbitrary<UserRow> = fc.record({
  id: int64,
  name: text,
  email: text,
  age: int(32),
  score: fc.double(),
  active: fc.boolean(),
  created: fc.double(),
});

const anyTenTypes: fc.Arbitrary<TenTypesRow> = fc.record({
  truth: fc.option(fc.boolean()),
  int8: fc.option(int(8)),
  int16: fc.option(int(16)),
  int32: fc.option(int(32)),
  int64: fc.option(int64),
  float32: fc.option(fc.float()),
  float64: fc.option(fc.double()),
  text: fc.option(text),
  bytes: fc.option(fc.uint8Array({ maxLength: 60 })),
  timestamp: fc.option(fc.double()),
});

describe('any rows', () => {
  const any: readonly [keyof typeof SHAPES, fc.Arbitrary<unknown>][] = [
    ['user', anyUser],
    ['ten_types', anyTenTypes],
  ];
  it.each(any)('of %s come back', (name, anyRow) => {
    const shape = SHAPES[name] as RowShape<unknown>;
    const property = fc.property(fc.array(anyRow, { maxLength: 20 }), (rows) => {
      const bytes = encoded(shape, rows);
      expect(decoded(shape, bytes)).toEqual(rows);
      const columns = throughColumns(shape, bytes);
      expect(columns.rows).toEqual(rows);
      expect(Buffer.compare(columns.bytes, bytes)).toBe(0);
    });
    fc.assert(property);
  });

  it('that are changed in a byte are read alike, or refused', () => {
    const shape = SHAPES.ten_types;
    const rowsOrError = (read: () => TenTypesRow[]): unknown => {
      try {
        return read();
      } catch (error) {
        return error instanceof Error ? 'refused' : error;
      }
    };
    const rows = fc.array(anyTenTypes, { minLength: 1, maxLength: 5 });
    const property = fc.property(rows, fc.nat(), fc.nat(255), fc.nat(), (rows, at, byte, end) => {
      const changed = encoded(shape, rows);
      changed[at % changed.length] = byte;
      for (const bytes of [changed, changed.subarray(0, end % changed.length)]) {
        const expected = rowsOrError(() => decoded(shape, bytes));
        expect(rowsOrError(() => throughColumns(shape, bytes).rows)).toEqual(expected);
      }
    });
    fc.assert(property, { numRuns: 500 });
  });
});

describe('bytes that are no batch', () => {
  const shape = SHAPES.ten_types;
  const good = encoded(shape, [shape.rowOf(5)]);
  const changed = (place: number, byte: number): Buffer => Buffer.from(good).fill(byte, place, place + 1);
  const textAt = 4 + 2 + 1 + 1 + 2 + 4 + 8 + 4 + 8;
  it.each<[string, Buffer, string]>([
    ['a length that is cut off', good.subarray(0, 2), 'ends too early'],
    ['a row that is cut off', good.subarray(0, -1), 'ends too early'],
    ['a row without a bitmap', Buffer.of(1, 0, 0, 0, 0), 'ends too early'],
    ['a row that is too short', changed(0, good[0]! - 1).subarray(0, -1), 'ends too early'],
    ['a row that is too long', Buffer.concat([changed(0, good[0]! + 1), Buffer.of(0)]), 'goes on'],
    ['a text that is too long', changed(textAt, 200), 'ends too early'],
    ['a bit of no column', changed(5, 4), 'the bitmap'],
    ['a truth value of 2', changed(6, 2), 'neither 0 nor 1'],
    ['a text that is not UTF-8', changed(textAt + 4, 0xff), 'not UTF-8'],
  ])('%s: refused', (_, bytes, problem) => {
    const wrong = expect.objectContaining({
      code: 'BB_INVALID_ARGUMENT',
      message: expect.stringMatching(`^rows, row 1: .*${problem}`),
    });
    const batch = Buffer.concat([good, bytes]);
    expect(() => decoded(shape, batch)).toThrow(wrong);
    expect(() => throughColumns(shape, batch)).toThrow(wrong);
  });

  it('more rows or texts than there is room for: refused', () => {
    expect(() => throughColumns(shape, Buffer.concat([good, good]), 1)).toThrow('row 1: the columns have no more room');
    const kinds = kindsOf(shape);
    const columns = new RowColumns(kinds, 1, 17);
    const codec = new ColumnCodec(kinds);
    expect(() => codec.decoder(columns)(good)).toThrow('row 0: the columns have no more room');
    const roomy = new RowColumns(kinds, 1, 18);
    codec.decoder(roomy)(good);
    // The bytes behind the memory must not change.
    const memory = new Uint8Array(200).fill(7);
    for (let room = 0; room < good.length; room += 1) {
      expect(() => codec.encoder(roomy)(1, memory.subarray(0, room)), `${room} bytes`).toThrow(RangeError);
      expect(memory.subarray(room).every((byte) => byte === 7)).toBe(true);
    }
    expect(codec.encoder(roomy)(1, memory.subarray(0, good.length))).toBe(good.length);
    expect(memory.subarray(good.length).every((byte) => byte === 7)).toBe(true);
  });

  it('a null that must not be there: refused', () => {
    const user = encoded(SHAPES.user, [SHAPES.user.rowOf(1)]);
    user[4] = 1;
    expect(() => decoded(SHAPES.user, user)).toThrow('row 0: a value is null');
  });
});

describe('wrong work is noticed', () => {
  const inputs = inputsOf(SHAPES.half_nulls, 10);
  const wrong = expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' });
  const encode = (turn: number): Buffer => inputs.encoded[turn]!;
  const use = (): number => 0;

  it.each<[string, (turn: number) => Uint8Array]>([
    ['another turn', (turn) => encode((turn + 1) % 4)],
    ['a row too few', (turn) => firstBytes(inputs, turn, 9)],
    ['another byte', (turn) => Buffer.from(encode(turn)).fill(7, 7, 8)],
  ])('%s of bytes', (_, resultOf) => {
    expect(() => verifyEncoding(inputs, { use, resultOf: encode })).not.toThrow();
    expect(() => verifyEncoding(inputs, { use, resultOf })).toThrow(wrong);
  });

  const rows = (turn: number): readonly TenTypesRow[] => inputs.rows[turn]!;
  it.each<[string, (turn: number) => readonly TenTypesRow[]]>([
    ['another turn', (turn) => rows((turn + 1) % 4)],
    ['a row too few', (turn) => rows(turn).slice(1)],
    ['another value', (turn) => rows(turn).with(3, { ...rows(turn)[3]!, int16: 1 })],
    [
      'other bytes',
      (turn) => rows(turn).map((row) => (row.bytes === null ? row : { ...row, bytes: row.bytes.slice(1) })),
    ],
  ])('%s of rows', (_, resultOf) => {
    expect(() => verifyDecoding(inputs, { use, resultOf: rows })).not.toThrow();
    expect(() => verifyDecoding(inputs, { use, resultOf })).toThrow(wrong);
  });
});

test('columns and rows give the same values', () => {
  for (const name of NAMES) {
    const shape = SHAPES[name] as RowShape<unknown>;
    const kinds: readonly RowKind[] = kindsOf(shape);
    const { encoded: batches, rows, mostBytes } = inputsOf(shape, 50);
    const columns = new RowColumns(kinds, 50, mostBytes);
    const sum = shape.columnSum(columns);
    const count = new ColumnCodec(kinds).decoder(columns)(batches[1]!);
    const expected = rows[1]!.reduce<number>((all, row) => all + shape.sum(row), 0);
    expect(sum(count)).toBeCloseTo(expected, 3);
    expect(sum(0)).toBe(0);
  }
});

test('a part of a batch is worked on as well', async () => {
  for (const { cell, client } of planned.filter(({ cell: { batch, side } }) => batch === 100 && side !== 'rust')) {
    const loop = await rowTopic.open({ ...cell, client, batch: 100 });
    expect(loop(30), cell.id).toBeGreaterThan(0);
    expect(loop(30), cell.id).toBeLessThan(loop(100));
  }
});
