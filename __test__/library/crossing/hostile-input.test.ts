import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  ArrowInserter,
  attach,
  connect,
  type Connection,
  LineEncoder,
  RowInserter,
  SqlType,
  TableDefinition,
} from '../../../src/index.js';
import type { ColumnsInput } from '../../../src/library/engine/column-sources.js';
import { detached } from '../../detached.js';
import { fourBillionHoles } from '../hostile-values.js';
import { errorWith } from '../../error-with.js';

const table = new TableDefinition('t', [
  { name: 'id', type: SqlType.int(), nullable: false },
  { name: 'flag', type: SqlType.bool() },
  { name: 'price', type: SqlType.decimal(4, 2) },
  { name: 'note', type: SqlType.text() },
]);

let connection: Connection;
beforeEach(async () => {
  connection = await connect('memory:');
  await connection.createTable(table);
});
afterEach(() => connection.close());

const text = (value: string) => new TextEncoder().encode(value);
const good = (): Record<string, unknown> => ({
  id: Int32Array.of(1, 2),
  flag: Uint8Array.of(0, 1),
  price: BigInt64Array.of(5n, 0n, -5n, -1n),
  note: { offsets: Int32Array.of(0, 1, 3), values: text('abb') },
});

describe('addColumns', () => {
  const [argument, value] = ['BB_INVALID_ARGUMENT', 'BB_INVALID_VALUE'];
  const flagOf = (validity: unknown) => ({ flag: { values: Uint8Array.of(0, 1), validity } });
  const noteOf = (offsets: number[], values: Uint8Array) => ({ note: { offsets: Int32Array.from(offsets), values } });
  test.each<[string, Record<string, unknown>, string, string]>([
    ['an array of another type', { id: Float64Array.of(1, 2) }, argument, 'column "id" (INTEGER) takes Int32Array'],
    ['a column that is too short', { id: Int32Array.of(1) }, argument, 'the columns differ in length'],
    ['an unknown column', { sensor: [1, 2] }, argument, 'the table has no column "sensor"'],
    ['no array at all', { id: 5 }, argument, 'column "id" (INTEGER) takes'],
    ['detached memory', { id: detached(Int32Array.of(1, 2)) }, argument, 'the memory of its array is detached'],
    ['a bitmap that is too short', flagOf(new Uint8Array(0)), argument, '2 rows take 1 bytes of validity'],
    ['a bitmap that is none', flagOf([1]), argument, 'validity must be a Uint8Array'],
    [
      'a null in NOT NULL',
      { id: { values: Int32Array.of(1, 2), validity: Uint8Array.of(1) } },
      value,
      'row 1, column "id"',
    ],
    ['a boolean of 2', { flag: Uint8Array.of(0, 2) }, value, 'row 1, column "flag"'],
    ['half a decimal', { price: BigInt64Array.of(1n, 0n, 1n) }, argument, 'column "price"'],
    ['too many digits', { price: BigInt64Array.of(5n, 0n, 10_000n, 0n) }, value, 'row 1, column "price"'],
    ['text without offsets', { note: text('ab') }, argument, 'column "note" (VARCHAR) takes { offsets'],
    ['no offsets', noteOf([], text('')), argument, 'one offset more than rows'],
    ['offsets that descend', noteOf([0, 3, 1], text('abc')), argument, 'column "note"'],
    ['offsets behind the end', noteOf([0, 1, 400], text('abc')), argument, 'column "note"'],
    ['offsets before the start', noteOf([-5, 1, 2], text('abc')), argument, 'column "note"'],
    ['text that is not UTF-8', noteOf([0, 1, 2], Uint8Array.of(97, 255)), value, 'row 1, column "note"'],
    ['a bad value in a plain array', { note: ['a', 7] }, value, 'row 1, column "note": 7 is not a string'],
  ])('refuses %s, and goes on', async (_, change, code, message) => {
    const inserter = new RowInserter(connection, table);
    expect(() => inserter.addColumns({ ...good(), ...change } as ColumnsInput)).toThrow(errorWith(code, message));
    expect(inserter.rowCount).toBe(0);
    inserter.addColumns(good() as ColumnsInput);
    expect(await inserter.execute()).toBe(2);
    expect(await connection.executeQuery('SELECT id, flag, price, note FROM t')).toEqual([
      { id: 1, flag: false, price: '0.05', note: 'a' },
      { id: 2, flag: true, price: '-0.05', note: 'bb' },
    ]);
  });

  test('refuses what is no object of columns, and a missing column', () => {
    const inserter = new RowInserter(connection, table);
    for (const input of [null, undefined, 5, [], { id: [1] }]) {
      expect(() => inserter.addColumns(input as unknown as ColumnsInput)).toThrow(errorWith('BB_INVALID_ARGUMENT'));
    }
  });

  test('takes memory that is shared or may be resized, and views into the middle of it', async () => {
    const inserter = new RowInserter(connection, table);
    const shared = new Int32Array(new SharedArrayBuffer(8));
    shared.set([7, 8]);
    const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
    const flag = new Uint8Array(new Resizable(2, { maxByteLength: 100 }));
    const price = BigInt64Array.of(99n, 1n, 0n, 2n, 0n, 99n).subarray(1, 5);
    inserter.addColumns({ id: shared, flag, price, note: [null, 'é'] });
    await inserter.execute();
    expect(await connection.executeQuery('SELECT id, flag, price, note FROM t')).toEqual([
      { id: 7, flag: false, price: '0.01', note: null },
      { id: 8, flag: false, price: '0.02', note: 'é' },
    ]);
  });

  test('memory that a value takes away meanwhile is an error, not a crash', () => {
    const inserter = new RowInserter(connection, table, { batchRows: 8 });
    const id = new Int32Array(24);
    const note = Array.from({ length: 24 }, () => 'x');
    Object.defineProperty(note, 3, { get: () => (detached(id), 'y') });
    const columns = { id, flag: new Uint8Array(24), price: new BigInt64Array(48), note };
    expect(() => inserter.addColumns(columns)).toThrow(errorWith('BB_INVALID_ARGUMENT'));
    expect(inserter.rowCount).toBe(0);
    // The same for a getter of the object of columns, and for memory that is sent before the value is read.
    const late = { id: new Int32Array(8), flag: new Uint8Array(8), price: new BigInt64Array(16) };
    const taking = {
      ...late,
      get note() {
        detached(late.id);
        return Array.from({ length: 8 }, () => 'x');
      },
    };
    expect(() => inserter.addColumns(taking)).toThrow('column "id": the memory of its array is detached');
    expect(inserter.rowCount).toBe(0);
  });
});

test('names and values that are given by an array of four billion holes, or without end, are refused at once', () => {
  const byTurns: unknown[] = ['a', 'b'];
  byTurns.length = 2 ** 32 - 1;
  const endless = {
    *[Symbol.iterator]() {
      for (;;) yield ['a', 'b'];
    },
  };
  for (const tags of [fourBillionHoles(), byTurns, endless]) {
    const make = (): unknown => new LineEncoder({ measurement: 'm', tags: tags as never, field: 'f' });
    expect(make).toThrow(errorWith('BB_INVALID_ARGUMENT'));
  }
});

test('addRows refuses what is not iterable', () => {
  const inserter = new RowInserter(connection, table);
  for (const rows of [null, undefined, 5, {}]) {
    expect(() => inserter.addRows(rows as unknown as [])).toThrow(errorWith('BB_INVALID_ARGUMENT'));
  }
});

test('queries that are no strings, and URIs and handles of no engine, are refused', async () => {
  const expected = { name: 'BoundaryError', code: 'BB_INVALID_ARGUMENT' };
  await expect(connection.executeQuery(5 as unknown as string)).rejects.toMatchObject(expected);
  await expect(connection.execute(undefined as unknown as string)).rejects.toMatchObject(expected);
  await expect(connect('nowhere:')).rejects.toMatchObject(expected);
  expect(() => attach('123456')).toThrow(expect.objectContaining(expected));
});

test('tables are checked when they are defined', () => {
  const column = { name: 'a', type: SqlType.int() };
  expect(() => new TableDefinition('', [column])).toThrow('a table needs a name');
  expect(() => new TableDefinition('t', [])).toThrow('needs at least one column');
  expect(() => new TableDefinition('t', [column, { ...column, name: 'A' }])).toThrow('names column "A" twice');
  expect(() => new TableDefinition('t', [{ name: 'a', type: 'int' as unknown as SqlType }])).toThrow(
    'needs a type made by SqlType',
  );
  expect(() => new TableDefinition('t', [{ ...column, name: 'a\0' }])).toThrow('without NUL characters');
  for (const [precision, scale] of [
    [0, 0],
    [39, 0],
    [4, 5],
    [4.5, 1],
  ]) {
    expect(() => SqlType.decimal(precision!, scale!)).toThrow('needs a precision of 1 to 38');
  }
  expect(Object.isFrozen(new TableDefinition('t', [column]).columns[0])).toBe(true);
});

test('Arrow bytes that are cut, corrupt or none are refused, and the insert goes on', async () => {
  const rows = new RowInserter(connection, table);
  rows.addRows([
    [1, true, '1', 'a'],
    [2, null, null, null],
  ]);
  await rows.execute();
  const bytes = await connection.executeQueryToArrow('SELECT id, flag, price, note FROM t');
  const narrow = await connection.executeQueryToArrow('SELECT id FROM t');
  const inserter = new ArrowInserter(connection, table);
  for (const [given, code] of [
    [text('no arrow at all'), 'BB_INVALID_IPC'],
    [narrow, 'BB_SCHEMA_MISMATCH'],
    [detached(bytes.slice()), 'BB_INVALID_ARGUMENT'],
    [[1, 2, 3], 'BB_INVALID_ARGUMENT'],
    [null, 'BB_INVALID_ARGUMENT'],
  ] as const) {
    expect(() => inserter.insert(given as Uint8Array)).toThrow(errorWith(code));
  }
  // The bytes are given whole, in two slices, and as an ArrayBuffer.
  inserter.insert(bytes);
  inserter.insert(bytes.subarray(0, 100));
  inserter.insert(bytes.subarray(100));
  inserter.insert(bytes.slice().buffer);
  expect(inserter.rowCount).toBe(6);
  expect(await inserter.execute()).toBe(6);
  const cut = new ArrowInserter(connection, table);
  cut.insert(bytes.subarray(0, bytes.length - 40));
  await expect(cut.execute()).rejects.toMatchObject({ code: 'BB_INVALID_IPC' });
  expect(await connection.executeQuery('SELECT id FROM t')).toHaveLength(8);
});
