import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { connect, type Connection, type CursorRow, RowInserter, SqlType, TableDefinition } from '../../../src/index.js';
import type { Int64Mode } from '../../../src/library/engine/cell-readers.js';
import { handlesOf } from '../../../src/library/engine/connection.js';
import { Frame } from '../../../src/library/engine/frame.js';
import { rowCursor, type RowCursor } from '../../../src/library/engine/row-cursor.js';
import { RowReader } from '../../../src/library/engine/row-reader.js';
import { RowStager } from '../../../src/library/engine/row-stager.js';
import type { Column } from '../../../src/library/engine/table-definition.js';
import { columns, givenArray, rowsOfSamples } from '../all-types.js';
import { encodeFrame } from '../frame-encoder.js';
import { errorWith } from '../../error-with.js';

const closed = expect.objectContaining({ code: 'BB_CLOSED' });

/** The frame of rows that are given as arrays. */
function frameOf(of: readonly Column[], rows: readonly (readonly unknown[])[]): Frame {
  const stager = new RowStager(of, rows.length + 1);
  for (const row of rows) stager.add(row);
  return new Frame(encodeFrame(stager.rows, stager.parts()), of);
}

function cursorOver(frame: Frame, generate: boolean, int64: Int64Mode = 'bigint', start = 0): RowCursor {
  const views = frame.columns.map((_, index) => frame.column(index));
  return rowCursor(frame.columns, int64, { views, start, end: frame.rowCount, firstRow: 0 }, generate);
}

const tableOf = (...names: string[]): readonly Column[] =>
  new TableDefinition(
    't',
    names.map((name) => ({ name, type: SqlType.int() })),
  ).columns;

describe.each([
  ['generated', true],
  ['interpreted', false],
])('%s cursors', (_, generate) => {
  test.each<Int64Mode>(['bigint', 'number'])(
    'have the values of every type that objects have, nulls included, with int64: %s',
    (int64) => {
      const isSafe = (value: unknown): boolean => typeof value !== 'bigint' || Number.isSafeInteger(Number(value));
      fc.assert(
        fc.property(rowsOfSamples, fc.nat(40), (samples, from) => {
          const rows = samples.filter((row) => int64 === 'bigint' || row.every(({ returned }) => isSafe(returned)));
          const frame = frameOf(columns, rows.map(givenArray));
          const start = Math.min(from, rows.length);
          const objects = new RowReader(columns, int64, { generate }).read(frame, start);
          const kept = [];
          let at = 0;
          for (const row of cursorOver(frame, generate, int64, start)) {
            for (const { name } of columns) expect(row[name]).toEqual(objects[at]![name]);
            kept.push(row.toObject());
            at += 1;
          }
          expect(kept).toEqual(objects);
        }),
        { numRuns: 60 },
      );
    },
  );

  test('yield one object that moves, is on no row after its loop, and can be read by nobody else', () => {
    const frame = frameOf(tableOf('a'), [[1], [2]]);
    const cursor = cursorOver(frame, generate);
    const rows = [...cursor];
    expect(rows).toHaveLength(2);
    expect(rows[0]).toBe(rows[1]);
    expect(() => rows[0]!['a']).toThrow(closed);
    expect(() => rows[0]!.toObject()).toThrow(closed);
    expect([cursor.next(), cursor.next()]).toEqual([
      { value: undefined, done: true },
      { value: undefined, done: true },
    ]);
    const getter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(rows[0]), 'a')!.get!;
    expect(() => getter.call({})).toThrow(TypeError);
  });

  test('two cursors over the same rows, and two loops over one, do not disturb each other', () => {
    const frame = frameOf(tableOf('a'), [[1], [2], [3]]);
    const pairs: unknown[] = [];
    for (const one of cursorOver(frame, generate)) {
      for (const other of cursorOver(frame, generate)) pairs.push([one['a'], other['a']]);
    }
    expect(pairs).toEqual([1, 2, 3].flatMap((one) => [1, 2, 3].map((other) => [one, other])));
    const cursor = cursorOver(frame, generate);
    for (const row of cursor) if (row['a'] === 2) break;
    expect(Array.from(cursor, (row) => row['a'])).toEqual([3]);
  });

  test('rows cannot be changed, and show their values as JSON and to the console', () => {
    const frame = frameOf(tableOf('a', 'b'), [[1, null]]);
    for (const row of cursorOver(frame, generate)) {
      expect(() => {
        (row as unknown as { a: number }).a = 5;
      }).toThrow(TypeError);
      expect(JSON.stringify(row)).toBe('{"a":1,"b":null}');
      expect(inspect(row)).toBe('{ a: 1, b: null }');
    }
    expect(inspect([...cursorOver(frame, generate)][0])).toContain('[the row is gone');
  });

  test('columns may have the names of parts of JavaScript, and twice the same; toObject is refused', () => {
    const names = ['constructor', 'toJSON', 'toString', 'then', 'next', 'value', '__proto__', '#at', 'a b', ''];
    const frame = frameOf(
      names.map((name) => ({ name, type: SqlType.int(), nullable: true })),
      [names.map((_name, index) => index)],
    );
    for (const row of cursorOver(frame, generate)) {
      expect(names.map((name) => row[name])).toEqual(names.map((_name, index) => index));
      expect(Object.entries(row.toObject())).toEqual(names.map((name, index) => [name, index]));
    }
    const twice = frameOf([...tableOf('a'), ...tableOf('a')], [[1, 2]]);
    for (const row of cursorOver(twice, generate)) {
      expect([row['a'], row.toObject()]).toEqual([
        2,
        new RowReader(twice.columns, 'bigint', { generate }).read(twice)[0],
      ]);
    }
    expect(() => cursorOver(frameOf(tableOf('toObject'), [[1]]), generate)).toThrow(
      errorWith('BB_INVALID_ARGUMENT', '"toObject"'),
    );
  });

  test('300 columns', () => {
    const wide = tableOf(...Array.from({ length: 300 }, (_value, index) => `c${index}`));
    const frame = frameOf(wide, [wide.map((_column, index) => index)]);
    for (const row of cursorOver(frame, generate)) expect([row['c0'], row['c299']]).toEqual([0, 299]);
  });

  test('memory that is gone throws, for every type', () => {
    const returned = fc.sample(
      rowsOfSamples.filter((rows) => rows.length > 1),
      1,
    )[0]!;
    const frame = frameOf(columns, returned.map(givenArray));
    const cursor = cursorOver(frame, generate);
    const { value: row } = cursor.next();
    structuredClone(frame.buffer, { transfer: [frame.buffer] });
    for (const { name } of columns) expect(() => row![name]).toThrow(closed);
    for (const next of cursor) expect(() => next['int']).toThrow(closed);
  });
});

const numbers = new TableDefinition('numbers', [
  { name: 'id', type: SqlType.int(), nullable: false },
  { name: 'note', type: SqlType.text() },
]);
const ROWS = 1000;

async function filled(): Promise<Connection> {
  const connection = await connect('embedded:');
  await connection.createTable(numbers);
  const inserter = new RowInserter(connection, numbers);
  for (let id = 0; id < ROWS; id++) inserter.addRow([id, id % 3 === 0 ? null : `note ${id}`]);
  await inserter.execute();
  return connection;
}

describe('cursors over queries', () => {
  type Numbers = { id: number; note: string | null };
  const SQL = 'SELECT id, note FROM numbers ORDER BY id';
  const batchRows = 128;

  test('a loop over the stream reads all rows, with the types that it was given', async () => {
    await using connection = await filled();
    let sum = 0;
    const notes: (string | null)[] = [];
    for await (const rows of connection.executeQueryStream<Numbers>(SQL, { batchRows }).cursor()) {
      for (const row of rows) {
        sum += row.id;
        notes.push(row.note);
      }
    }
    expect(sum).toBe((ROWS * (ROWS - 1)) / 2);
    expect(notes).toEqual(Array.from({ length: ROWS }, (_, id) => (id % 3 === 0 ? null : `note ${id}`)));
    const statement = await connection.prepare(`${SQL} LIMIT $1`);
    const ids: number[] = [];
    for await (const rows of statement.executeQueryStream<Numbers>([2]).cursor())
      for (const row of rows) ids.push(row.id);
    expect(ids).toEqual([0, 1]);
  });

  test('the next batch, and the end, release the memory of the previous batch', async () => {
    await using connection = await filled();
    const stream = connection.executeQueryStream<Numbers>(SQL, { batchRows });
    const before: CursorRow<Numbers>[] = [];
    for await (const rows of stream.cursor()) {
      for (const row of before) expect(() => row.id).toThrow(closed);
      before.push(rows.next().value!);
      expect(before.at(-1)!.id).toBeGreaterThanOrEqual(0);
    }
    expect(before.length).toBeGreaterThan(1);
    for (const row of before) {
      expect(() => row.id).toThrow(closed);
      expect(() => row.note).toThrow(closed);
    }
  });

  test('a break ends the query, and releases what the loop held', async () => {
    await using connection = await connect('embedded:');
    let held: CursorRow<{ id: bigint }> | undefined;
    for await (const rows of connection
      .executeQueryStream<{ id: bigint }>('SELECT range AS id FROM range(1000000000000)')
      .cursor()) {
      for (const row of rows) {
        held = row;
        if (row.id === 100n) break;
      }
      expect(held!.id).toBe(100n);
      break;
    }
    expect(() => held!.id).toThrow(closed);
    expect(handlesOf(connection).size).toBe(0);
  });

  test('calls of next at the same time get different batches, which the next call releases', async () => {
    await using connection = await filled();
    const cursor = connection.executeQueryStream<Numbers>(SQL, { batchRows }).cursor();
    const [one, two] = await Promise.all([cursor.next(), cursor.next()]);
    const first = one.value!.next().value!;
    const second = two.value!.next().value!;
    expect(first.id).not.toBe(second.id);
    await cursor.next();
    expect(() => first.id).toThrow(closed);
    expect(() => second.id).toThrow(closed);
    await cursor.return!();
    expect(await cursor.next()).toEqual({ value: undefined, done: true });
    expect(handlesOf(connection).size).toBe(0);
  });

  test('an abort, an error of the engine and a second use end the loop with their codes', async () => {
    await using connection = await filled();
    const read = async (stream: ReturnType<typeof connection.executeQueryStream>, each = (): void => {}) => {
      for await (const rows of stream.cursor()) Array.from(rows, each);
    };
    const controller = new AbortController();
    const stream = connection.executeQueryStream(SQL, { batchRows, signal: controller.signal });
    await expect(read(stream, () => controller.abort())).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await expect(read(stream)).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect(read(connection.executeQueryStream('SELECT nothing'))).rejects.toMatchObject({ code: 'BB_ENGINE' });
    await expect(read(connection.executeQueryStream('SELECT 1 AS "toObject"'))).rejects.toMatchObject({
      code: 'BB_INVALID_ARGUMENT',
    });
    expect(handlesOf(connection).size).toBe(0);
  });

  test('rows of a chunk can be read again, until it is released', async () => {
    await using connection = await filled();
    for await (using chunk of connection.executeQueryColumnar(SQL, { batchRows })) {
      const ids = (): number[] => Array.from(chunk.rows<Numbers>(), (row) => row.id);
      expect(ids()).toEqual(ids());
      expect(ids()).toHaveLength(chunk.rowCount);
      const { value: row } = chunk.rows<Numbers>().next();
      chunk.release();
      expect(() => row!.id).toThrow(closed);
      expect(() => chunk.rows()).toThrow(closed);
    }
  });
});
