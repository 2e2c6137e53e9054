import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ArrowInserter, connect, type Connection, RowInserter, SqlType, TableDefinition } from '../../../src/index.js';
import type { ColumnInput } from '../../../src/library/engine/column-sources.js';
import type { ColumnarChunk } from '../../../src/library/engine/columnar-chunk.js';
import {
  columns,
  definition,
  givenArray,
  givenObject,
  returnedObject,
  rowsOfSamples,
  type Sample,
} from '../all-types.js';

const names = columns.map(({ name }) => `"${name.replaceAll('"', '""')}"`).join(', ');
const SELECT = `SELECT ${names} FROM "${definition.name}"`;
// A batch is smaller than the rows of most runs, so that there are several batches in both directions.
const BATCH = { batchRows: 8 };

/** The columns of a chunk in the form that `addColumns` takes. */
function memoryOf(chunk: ColumnarChunk): Record<string, ColumnInput> {
  return Object.fromEntries(
    columns.map(({ name, type }): [string, ColumnInput] => {
      const values = chunk.column(name);
      const validity = chunk.validity(name);
      if (type.kind !== 'text' && type.kind !== 'bytes')
        return [name, validity === null ? values : { values, validity }];
      return [name, { offsets: chunk.offsets(name), values: values as Uint8Array, validity }];
    }),
  );
}

async function insert(connection: Connection, add: (inserter: RowInserter) => unknown, rows: number): Promise<void> {
  await using inserter = new RowInserter(connection, definition, BATCH);
  await add(inserter);
  expect(inserter.rowCount).toBe(rows);
  expect(await inserter.execute()).toBe(rows);
}

/** Fills the table again with its rows, by a lane in that takes the values of a lane out. */
async function refill(connection: Connection, read: () => Promise<(connection: Connection) => Promise<void>>) {
  const write = await read();
  await connection.createTable(definition, { mode: 'replace' });
  await write(connection);
}

type Rows = Sample[][];

const LANES_IN: Record<string, (connection: Connection, rows: Rows) => Promise<void>> = {
  'addRow of arrays': (connection, rows) =>
    insert(connection, (inserter) => rows.forEach((row) => inserter.addRow(givenArray(row))), rows.length),
  'addRow of objects': (connection, rows) =>
    insert(connection, (inserter) => rows.forEach((row) => inserter.addRow(givenObject(row))), rows.length),
  'addRows of a generator': (connection, rows) =>
    insert(
      connection,
      (inserter) =>
        inserter.addRows(
          (function* () {
            for (const row of rows) yield givenArray(row);
          })(),
        ),
      rows.length,
    ),
  'writer, among rows that are added': (connection, rows) =>
    insert(
      connection,
      (inserter) => {
        const writer = inserter.writer();
        rows.forEach((row, at) => {
          if (at % 5 === 4) return inserter.addRow(givenArray(row));
          // Backwards, since the order of the setters does not matter; a null may be left out.
          for (const [column, { given }] of [...row.entries()].toReversed()) {
            if (given !== null || at % 2 === 0) writer[columns[column]!.name] = given;
          }
          return writer.next();
        });
      },
      rows.length,
    ),
  'addColumns of values, after a row': (connection, rows) =>
    insert(
      connection,
      (inserter) => {
        inserter.addRows(rows.slice(0, 1).map(givenArray));
        inserter.addColumns(
          Object.fromEntries(columns.map(({ name }, index) => [name, rows.slice(1).map((row) => row[index]!.given)])),
        );
      },
      rows.length,
    ),
  'addColumns of memory': async (connection, rows) => {
    await LANES_IN['addRow of arrays']!(connection, rows);
    await refill(connection, async () => {
      const chunks: ColumnarChunk[] = [];
      for await (const chunk of connection.executeQueryColumnar(SELECT)) chunks.push(chunk);
      return (to) =>
        insert(to, (inserter) => chunks.forEach((chunk) => inserter.addColumns(memoryOf(chunk))), rows.length);
    });
  },
  ArrowInserter: async (connection, rows) => {
    await LANES_IN['addRow of arrays']!(connection, rows);
    await refill(connection, async () => {
      const bytes = await connection.executeQueryToArrow(SELECT, BATCH);
      return async (to) => {
        const inserter = new ArrowInserter(to, definition);
        inserter.insert(bytes);
        expect(await inserter.execute()).toBe(rows.length);
      };
    });
  },
};

const LANES_OUT: Record<string, (connection: Connection) => Promise<unknown[]>> = {
  executeQuery: (connection) => connection.executeQuery(SELECT, BATCH),
  executeQueryStream: async (connection) => {
    const rows = [];
    for await (const row of connection.executeQueryStream(SELECT, BATCH)) rows.push(row);
    return rows;
  },
  chunks: async (connection) => {
    const rows = [];
    for await (const chunk of connection.executeQueryStream(SELECT, BATCH).chunks()) rows.push(...chunk);
    return rows;
  },
  cursor: async (connection) => {
    const rows = [];
    for await (const batch of connection.executeQueryStream(SELECT, BATCH).cursor()) {
      for (const row of batch) rows.push(row.toObject());
    }
    return rows;
  },
  'columnar, by cursor': async (connection) => {
    const rows: unknown[] = [];
    for await (using chunk of connection.executeQueryColumnar(SELECT, BATCH)) {
      for (const row of chunk.rows()) {
        rows.push(Object.fromEntries(columns.map(({ name }) => [name, row[name]])));
      }
    }
    return rows;
  },
  'columnar, by row': async (connection) => {
    const rows = [];
    for await (using chunk of connection.executeQueryColumnar(SELECT, BATCH)) {
      for (let index = 0; index < chunk.rowCount; index++) rows.push(chunk.row(index));
    }
    return rows;
  },
  'columnar, by column': async (connection) => {
    const rows = [];
    for await (using chunk of connection.executeQueryColumnar(SELECT, BATCH)) {
      const values = columns.map(({ name }) => chunk.values(name));
      for (const [index, column] of values.entries()) {
        expect(chunk.nullCount(index)).toBe(column.filter((value) => value === null).length);
      }
      for (let index = 0; index < chunk.rowCount; index++) {
        rows.push(Object.fromEntries(columns.map(({ name }, column) => [name, values[column]![index]])));
      }
    }
    return rows;
  },
};

describe.each(['memory:', 'embedded:'])('%s', (uri) => {
  let connection: Connection;
  beforeAll(async () => void (connection = await connect(uri)));
  afterAll(() => connection.close());

  test.each(Object.keys(LANES_IN))('rows of all types given by %s come out by every lane', async (lane) => {
    await fc.assert(
      fc.asyncProperty(rowsOfSamples, async (rows) => {
        await connection.createTable(definition, { mode: 'replace' });
        await LANES_IN[lane]!(connection, rows);
        const expected = rows.map(returnedObject);
        for (const [name, read] of Object.entries(LANES_OUT)) expect(await read(connection), name).toEqual(expected);
        const table = tableFromIPC(await connection.executeQueryToArrow(SELECT, BATCH));
        expect(table.numRows).toBe(rows.length);
        expect([...(table.getChild('int') ?? [])]).toEqual(expected.map((row) => row['int']));
        expect([...(table.getChild('text') ?? [])]).toEqual(expected.map((row) => row['text']));
      }),
      { numRuns: 25 },
    );
  });

  test('a table is described as it was defined', async () => {
    await connection.createTable(definition, { mode: 'replace' });
    expect(await connection.describeTable(definition.name)).toEqual(definition);
    expect(await connection.listTables()).toContain(definition.name);
    expect(await connection.dropTable(definition.name)).toBe(true);
    expect(await connection.dropTable(definition.name)).toBe(false);
    await expect(connection.describeTable(definition.name)).rejects.toMatchObject({ code: 'BB_TABLE_NOT_FOUND' });
  });

  test("int64: 'number' gives numbers, and an error where digits would be lost", async () => {
    const table = new TableDefinition('wide', [
      { name: 'n', type: SqlType.bigInt() },
      { name: 't', type: SqlType.timestamp() },
    ]);
    await connection.createTable(table);
    const most = Number.MAX_SAFE_INTEGER;
    const safe = [0, 1, -1, 2 ** 31, -(2 ** 31), 2 ** 32, -(2 ** 32), -(2 ** 32) - 1, most, -most];
    const inserter = new RowInserter(connection, table);
    inserter.addRows(safe.map((value) => [value, value]));
    await inserter.execute();
    const options = { int64: 'number', batchRows: 4 } as const;
    expect(await connection.executeQuery('SELECT n, t FROM wide', options)).toEqual(safe.map((n) => ({ n, t: n })));
    for (const unsafe of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)]) {
      await connection.createTable(table, { mode: 'replace' });
      const second = new RowInserter(connection, table);
      second.addRows([...safe.map((value) => [value, 0]), [unsafe, 0]]);
      await second.execute();
      const lost = {
        code: 'BB_UNSAFE_INTEGER',
        message: `row 10, column "n": ${unsafe} can't be a number without losing digits`,
      };
      await expect(connection.executeQuery('SELECT n, t FROM wide', options)).rejects.toMatchObject(lost);
      const read: unknown[] = [];
      const readAll = async (): Promise<void> => {
        for await (const rows of connection.executeQueryStream('SELECT n, t FROM wide', options).cursor()) {
          for (const row of rows) read.push(row['n']);
        }
      };
      await expect(readAll()).rejects.toMatchObject(lost);
      expect(read).toEqual(safe);
    }
  });

  test('the rows of a query have one hidden class, and are plain objects', async () => {
    const table = new TableDefinition('plain', [
      { name: 'a', type: SqlType.int() },
      { name: 'b', type: SqlType.text() },
    ]);
    await connection.createTable(table);
    const inserter = new RowInserter(connection, table);
    inserter.addRows([
      [1, null],
      [null, 'x'],
    ]);
    await inserter.execute();
    const rows = await connection.executeQuery('SELECT a, b FROM plain');
    for (const row of rows) {
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
      expect(Object.keys(row)).toEqual(['a', 'b']);
    }
  });

  test('a result without rows has columns all the same', async () => {
    const table = new TableDefinition('nothing', [{ name: 'a', type: SqlType.decimal(5, 2), nullable: false }]);
    await connection.createTable(table);
    expect(await connection.executeQuery('SELECT a FROM nothing')).toEqual([]);
    const stream = connection.executeQueryStream('SELECT a FROM nothing');
    expect((await stream.columns()).map(({ name, type }) => `${name} ${type}`)).toEqual(['a DECIMAL(5, 2)']);
    expect(await stream[Symbol.asyncIterator]().next()).toEqual({ value: undefined, done: true });
  });
});
