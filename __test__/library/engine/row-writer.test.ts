import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { connect, RowInserter, SqlType, TableDefinition } from '../../../src/index.js';
import { Frame } from '../../../src/library/engine/frame.js';
import { RowReader } from '../../../src/library/engine/row-reader.js';
import { RowStager } from '../../../src/library/engine/row-stager.js';
import type { RowWriter } from '../../../src/library/engine/row-writer.js';
import type { Column } from '../../../src/library/engine/table-definition.js';
import { columns, givenArray, returnedObject, rowsOfSamples, type Sample } from '../all-types.js';
import { encodeFrame } from '../frame-encoder.js';
import { errorWith } from '../../error-with.js';

const open = { hasEnded: false, mayGoOn: true, assertOpen: () => {} };

/** A writer of its own stager, whose full batches are read back into `sent`. */
function writing(of: readonly Column[], capacity: number, generate: boolean) {
  const stager = new RowStager(of, capacity, generate);
  const sent: object[] = [];
  const flush = (): boolean => {
    sent.push(...new RowReader(of, 'bigint').read(new Frame(encodeFrame(stager.rows, stager.parts()), of)));
    stager.reset();
    return true;
  };
  return { stager, sent, flush, writer: stager.writer(open, flush) as RowWriter };
}

const tableOf = (type: SqlType, nullable = true) => new TableDefinition('t', [{ name: 'c', type, nullable }]).columns;

/** Sets the values of a row in an order that depends on `turn`; some nulls are left out, and some values set twice. */
function set(writer: RowWriter, row: readonly Sample[], turn: number): void {
  for (let step = 0; step < row.length; step++) {
    const column = (step + turn) % row.length;
    const { name, nullable } = columns[column]!;
    const { given } = row[column]!;
    if (nullable && turn % 3 === 0) writer[name] = null;
    if ((given === null || given === undefined) && step % 2 === 0) continue;
    if (turn % 4 === 0) writer[name] = row[column]!.given;
    writer[name] = given;
  }
}

describe.each([
  ['generated', true],
  ['interpreted', false],
])('%s writers', (_, generate) => {
  test('write rows of all types as addRow does, batch after batch, in any order of their setters', () => {
    fc.assert(
      fc.property(rowsOfSamples, fc.integer({ min: 1, max: 7 }), fc.nat(100), (rows, capacity, turn) => {
        const written = writing(columns, capacity, generate);
        const added = writing(columns, capacity, generate);
        rows.forEach((row, at) => {
          if ((at + turn) % 5 === 0) {
            if (written.stager.add(givenArray(row))) written.flush();
          } else {
            set(written.writer, row, at + turn);
            written.writer.next();
          }
          if (added.stager.add(givenArray(row))) added.flush();
        });
        expect(written.stager.rowCount).toBe(rows.length);
        written.flush();
        added.flush();
        expect(written.sent).toEqual(added.sent);
        expect(written.sent).toEqual(rows.map(returnedObject));
      }),
      { numRuns: 60 },
    );
  });

  test('nothing remains of a row with a bad value, wherever it is set', () => {
    fc.assert(
      fc.property(rowsOfSamples, fc.nat(columns.length - 1), (rows, column) => {
        fc.pre(rows.length > 0);
        const { writer, sent, flush, stager } = writing(columns, 100, generate);
        for (const row of rows) {
          for (let at = 0; at < column; at++) writer[columns[at]!.name] = row[at]!.given;
          expect(() => {
            writer[columns[column]!.name] = Symbol('bad');
          }).toThrow(expect.objectContaining({ code: 'BB_INVALID_VALUE' }));
          expect(() => stager.assertNoneBegun()).not.toThrow();
          set(writer, row, column);
          writer.next();
        }
        flush();
        expect(sent).toEqual(rows.map(returnedObject));
      }),
      { numRuns: 60 },
    );
  });

  test('unset columns are null, or an error with their name, and the row is dropped', () => {
    const of = new TableDefinition('t', [
      { name: 'id', type: SqlType.int(), nullable: false },
      { name: 'a', type: SqlType.int() },
      { name: 'name', type: SqlType.text(), nullable: false },
    ]).columns;
    const { writer, sent, flush } = writing(of, 10, generate);
    const unset = (name: string, row: number) =>
      expect.objectContaining({
        code: 'BB_INVALID_VALUE',
        message: `row ${row}, column "${name}": not set, in a NOT NULL column`,
      });
    writer['id'] = 1;
    writer['name'] = '';
    expect(writer.next()).toBe(true);
    expect(() => writer.next()).toThrow(unset('id', 1));
    writer['id'] = 2;
    writer['a'] = 2;
    expect(() => writer.next()).toThrow(unset('name', 1));
    for (const value of [null, undefined]) {
      expect(() => {
        writer['id'] = value;
      }).toThrow('row 1, column "id": null in a NOT NULL column');
    }
    writer['name'] = 'x';
    writer['id'] = 3;
    writer.next();
    flush();
    expect(sent).toEqual([
      { id: 1, a: null, name: '' },
      { id: 3, a: null, name: 'x' },
    ]);
  });

  test('columns may have the names of parts of JavaScript; other names, and next, are refused', () => {
    const names = ['constructor', 'toString', '__proto__', 'set', 'a b', '#row', "'];throw 1;//"];
    const of = new TableDefinition(
      't',
      names.map((name) => ({ name, type: SqlType.int() })),
    ).columns;
    const { writer, sent, flush } = writing(of, 10, generate);
    names.forEach((name, index) => {
      writer[name] = index;
    });
    writer.next();
    flush();
    expect(Object.entries(sent[0]!)).toEqual(names.map((name, index) => [name, index]));
    for (const name of ['none', 'next']) {
      expect(() => {
        writer[name] = 1;
      }).toThrow(TypeError);
    }
    const next = new TableDefinition('t', [{ name: 'next', type: SqlType.int() }]).columns;
    expect(() => writing(next, 10, generate)).toThrow(errorWith('BB_INVALID_ARGUMENT', '"next"'));
  });

  test('70 and 300 columns, all of them and some', () => {
    for (const width of [70, 300]) {
      const of = new TableDefinition(
        't',
        Array.from({ length: width }, (_value, index) => ({ name: `c${index}`, type: SqlType.int() })),
      ).columns;
      const { writer, sent, flush } = writing(of, 10, generate);
      for (const { name } of of) writer[name] = 1;
      writer.next();
      writer['c0'] = 2;
      writer[`c${width - 1}`] = 3;
      writer.next();
      flush();
      const [all, some] = sent as Record<string, number | null>[];
      expect(Object.values(all!)).toEqual(of.map(() => 1));
      expect(Object.values(some!).filter((value) => value !== null)).toEqual([2, 3]);
    }
  });

  test('a batch is sent when it is full, by rows or by bytes of text', () => {
    const numbers = writing(tableOf(SqlType.int()), 2, generate);
    for (const value of [1, 2, 3]) {
      numbers.writer['c'] = value;
      numbers.writer.next();
    }
    expect(numbers.sent).toEqual([{ c: 1 }, { c: 2 }]);
    const text = writing(tableOf(SqlType.text()), 1000, generate);
    text.writer['c'] = 'é'.repeat(3 << 20);
    text.writer.next();
    expect(text.sent).toHaveLength(1);
  });

  test('other rows are refused while one is begun, even by a getter, until it is ended or forgotten', () => {
    const { stager, writer, sent, flush } = writing(tableOf(SqlType.int()), 10, generate);
    const begun = expect.objectContaining({ code: 'BB_INVALID_ARGUMENT', message: expect.stringContaining('row 1: ') });
    stager.add([1]);
    writer['c'] = 2;
    expect(() => stager.add([3])).toThrow(begun);
    expect(() => stager.assertNoneBegun()).toThrow(begun);
    expect(stager.writer(open, flush)).toBe(writer);
    stager.add([3]);
    expect(() =>
      stager.add({
        get c() {
          writer['c'] = 5;
          return 4;
        },
      }),
    ).toThrow('row 2: ');
    writer.next();
    stager.add({
      get c() {
        writer['c'] = 6;
        writer.next();
        return 7;
      },
    });
    flush();
    expect(sent).toEqual([1, 3, 5, 6, 7].map((c) => ({ c })));
  });
});

const numbers = new TableDefinition('numbers', [
  { name: 'id', type: SqlType.int(), nullable: false },
  { name: 'value', type: SqlType.double() },
]);

describe.each(['memory:', 'embedded:'])('the writer of an inserter on %s', (uri) => {
  test('asks to wait if the engine is behind, and stores all rows when it is executed', async () => {
    await using connection = await connect(uri);
    await connection.createTable(numbers);
    // One batch has more bytes than may be queued: at any speed of the engine, the inserter asks its caller to pause.
    const inserter = new RowInserter(connection, numbers, { batchRows: 1 << 21 });
    const writer = inserter.writer<{ id: number; value: number | null }>();
    let waits = 0;
    const rows = 5_000_000;
    for (let id = 0; id < rows; id++) {
      writer.id = id;
      if (id % 2 === 0) writer.value = id / 2;
      if (!writer.next()) {
        waits += 1;
        await inserter.drain();
      }
    }
    // The `memory` engine takes each batch in the call, and has none to wait for.
    expect(waits > 0).toBe(uri !== 'memory:');
    expect(await inserter.execute()).toBe(rows);
    let sum = 0;
    let nulls = 0;
    for await (using chunk of connection.executeQueryColumnar('SELECT id, value FROM numbers')) {
      nulls += chunk.nullCount('value');
      for (const row of chunk.rows<{ id: number; value: number | null }>()) sum += row.id + (row.value ?? 0);
    }
    expect(nulls).toBe(rows / 2);
    expect(sum).toBe((rows * (rows - 1)) / 2 + ((rows / 2) * (rows / 2 - 1)) / 2);
  });

  test('ends with its inserter, which refuses to end within a row', async () => {
    await using connection = await connect(uri);
    await connection.createTable(numbers);
    const inserter = new RowInserter(connection, numbers);
    const writer = inserter.writer();
    writer['id'] = 1;
    const begun = { code: 'BB_INVALID_ARGUMENT', message: expect.stringContaining('row 0: its writer has begun it') };
    await expect(inserter.execute()).rejects.toMatchObject(begun);
    expect(() => inserter.addRow([1, 1])).toThrow(expect.objectContaining(begun));
    expect(() => inserter.addColumns({ id: [1], value: [1] })).toThrow(expect.objectContaining(begun));
    writer.next();
    inserter.addColumns({ id: [2], value: [2] });
    writer['id'] = 3;
    writer.next();
    expect(() => {
      writer['id'] = 'x';
    }).toThrow('row 3, column "id": "x" is not a number');
    expect(await inserter.execute()).toBe(3);
    writer['id'] = 4;
    expect(() => writer.next()).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    expect(() => inserter.writer()).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    const aborted = new RowInserter(connection, numbers);
    const late = aborted.writer();
    late['id'] = 5;
    await aborted.abort();
    expect(() => late.next()).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    const stored = await connection.executeQuery<{ id: number }>('SELECT id, value FROM numbers');
    expect(stored.map(({ id }) => id)).toEqual([1, 2, 3]);
  });
});
