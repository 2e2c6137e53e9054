import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import {
  ArrowInserter,
  attach,
  connect,
  type Connection,
  RowInserter,
  SqlType,
  TableDefinition,
} from '../../../src/index.js';
import { handlesOf } from '../../../src/library/engine/connection.js';
import { folderOfTest } from '../../temporary-folder.js';

const numbers = new TableDefinition('numbers', [
  { name: 'id', type: SqlType.int(), nullable: false },
  { name: 'value', type: SqlType.double() },
]);
const builtIndex = new URL('../../../dist/index.js', import.meta.url).href;

async function withRows(uri: string, rows: number): Promise<Connection> {
  const connection = await connect(uri);
  await connection.createTable(numbers);
  const inserter = new RowInserter(connection, numbers);
  for (let id = 0; id < rows; id++) if (!inserter.addRow([id, id / 2])) await inserter.drain();
  expect(await inserter.execute()).toBe(rows);
  return connection;
}

async function count(connection: Connection): Promise<number> {
  let rows = 0;
  for await (using chunk of connection.executeQueryColumnar('SELECT id FROM numbers')) rows += chunk.rowCount;
  return rows;
}

test('a value that is no connection is refused, such as the promise of one', async () => {
  const promised = connect('memory:');
  for (const given of [promised, undefined, null, {}, 'memory:']) {
    const refused = expect.objectContaining({ code: 'BB_INVALID_ARGUMENT', hint: 'Await the promise of connect()' });
    expect(() => new RowInserter(given as never, numbers)).toThrow(refused);
    expect(() => new ArrowInserter(given as never, numbers)).toThrow(refused);
  }
  await expect(connect(5 as never)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  await (await promised).close();
});

test.each([
  ['in a loop that breaks', true, 'break'],
  ['in a loop that breaks, on demand', false, 'break'],
  ['by an iterator that is kept', true, 'keep'],
  ['by an iterator that is kept, on demand', false, 'keep'],
  ['until its signal is aborted', true, 'abort'],
  ['until its signal is aborted, on demand', false, 'abort'],
] as const)('the file is free once the connection is closed, with a query read %s', async (_, readAhead, how) => {
  const folder = folderOfTest();
  const file = join(folder, 'rows.duckdb');
  const connection = await connect(`embedded:${file}`);
  await connection.execute('CREATE TABLE t AS SELECT range AS id FROM range(5000000)');
  const aborting = new AbortController();
  const { signal } = aborting;
  const chunks = connection.executeQueryColumnar('SELECT id FROM t', { readAhead, signal })[Symbol.asyncIterator]();
  await chunks.next();
  // The queue of a query that runs ahead fills up.
  await sleep(50);
  if (how === 'break') await chunks.return!();
  if (how === 'abort') aborting.abort();
  await connection.close();
  // The iterator stays in use to the end, so that no collection of garbage can let the engine go.
  const open = `import { connect } from ${JSON.stringify(builtIndex)}; (await connect(process.argv[1])).close();`;
  const opens = (): number | null =>
    spawnSync(process.execPath, ['--input-type=module', '-e', open, `embedded:${file}`]).status;
  await expect.poll(opens).toBe(0);
  await chunks.return!();
});

describe.each(['memory:', 'embedded:'])('inserters on %s', (uri) => {
  test('nothing is stored before execute, and nothing after abort', async () => {
    await using connection = await withRows(uri, 0);
    const inserter = new RowInserter(connection, numbers, { batchRows: 2 });
    inserter.addRows([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(await count(connection)).toBe(0);
    await inserter.abort();
    await inserter.abort();
    expect(await count(connection)).toBe(0);
    for (const use of [
      () => inserter.addRow([1, 1]),
      () => inserter.addRows([]),
      () => inserter.addColumns({ id: [], value: [] }),
    ]) {
      expect(use).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    }
    await expect(inserter.execute()).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect(inserter.drain()).rejects.toMatchObject({ code: 'BB_CLOSED' });
  });

  test('leaving its block aborts an inserter that was not executed', async () => {
    await using connection = await withRows(uri, 0);
    {
      await using inserter = new RowInserter(connection, numbers);
      inserter.addRow([1, 1]);
    }
    {
      await using inserter = new RowInserter(connection, numbers);
      inserter.addRow([2, 2]);
      await inserter.execute();
    }
    expect(await connection.executeQuery('SELECT id, value FROM numbers')).toEqual([{ id: 2, value: 2 }]);
    expect(handlesOf(connection).size).toBe(0);
  });

  test('after a bad row, the rows around it are stored', async () => {
    await using connection = await withRows(uri, 0);
    const inserter = new RowInserter(connection, numbers);
    expect(() =>
      inserter.addRows([
        [1, 1],
        [2, null],
        ['three', 3],
        [4, 4],
      ]),
    ).toThrow('row 2, column "id"');
    expect(inserter.rowCount).toBe(2);
    inserter.addRow({ id: 5 });
    expect(() => inserter.addColumns({ id: [6, 7.5], value: [6, 7] })).toThrow(
      'row 4, column "id": 7.5 is not an integer',
    );
    inserter.addColumns({ id: Int32Array.of(8), value: [8] });
    expect(await inserter.execute()).toBe(4);
    expect((await connection.executeQuery('SELECT id FROM numbers')).map((row) => row['id'])).toEqual([1, 2, 5, 8]);
  });

  test('a table that is missing, or has other columns, stops the insert', async () => {
    await using connection = await withRows(uri, 0);
    const missing = new RowInserter(connection, new TableDefinition('missing', numbers.columns));
    missing.addRow([1, 1]);
    await expect(missing.execute()).rejects.toMatchObject({ code: 'BB_TABLE_NOT_FOUND' });
    const other = new RowInserter(connection, new TableDefinition('numbers', [{ name: 'x', type: SqlType.text() }]));
    other.addRow(['1']);
    await expect(other.execute()).rejects.toMatchObject({ code: 'BB_SCHEMA_MISMATCH' });
    await expect(other.execute()).rejects.toMatchObject({ code: 'BB_SCHEMA_MISMATCH' });
    expect(await count(connection)).toBe(0);
  });

  test('five million rows pass with bounded memory, whether the caller waits or not', async () => {
    await using connection = await withRows(uri, 5_000_000);
    expect(await count(connection)).toBe(5_000_000);
    await connection.createTable(numbers, { mode: 'replace' });
    // One batch has more bytes than may be queued: at any speed of the engine, the inserter asks its caller to pause.
    const batchRows = 1 << 21;
    const inserter = new RowInserter(connection, numbers, { batchRows });
    const columns = { id: new Int32Array(batchRows), value: new Float64Array(batchRows) };
    // The `memory` engine takes each batch in the call, and has none to wait for.
    const mayGoOn = uri === 'memory:';
    expect([inserter.addColumns(columns), inserter.addRow([1, 1]), inserter.addColumns(columns)]).toEqual([
      mayGoOn,
      mayGoOn,
      mayGoOn,
    ]);
    await inserter.drain();
    expect(inserter.addRow([2, 2])).toBe(true);
    expect(await inserter.execute()).toBe(2 * batchRows + 2);
  });

  test('several inserters, queries and closes at once', async () => {
    const connection = await withRows(uri, 200_000);
    const tables = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        const table = new TableDefinition(`t${index}`, numbers.columns);
        await connection.createTable(table);
        const inserter = new RowInserter(connection, table, { batchRows: 100 });
        for (let id = 0; id < 1000; id++) inserter.addRow([id, index]);
        const [stored] = await Promise.all([inserter.execute(), count(connection)]);
        return stored;
      }),
    );
    expect(tables).toEqual([1000, 1000, 1000, 1000]);
    await Promise.all([connection.close(), connection.close()]);
    await connection.close();
  });

  test('closing the connection aborts its inserters and ends its queries', async () => {
    const connection = await withRows(uri, 300_000);
    const second = attach(connection.share());
    const inserter = new RowInserter(connection, numbers);
    inserter.addRow([1, 1]);
    const rows = connection.executeQueryStream('SELECT id FROM numbers', { batchRows: 1000 })[Symbol.asyncIterator]();
    await rows.next();
    await connection.close();
    await expect(rows.next()).rejects.toMatchObject({ code: 'BB_CLOSED' });
    expect(await rows.next()).toEqual({ value: undefined, done: true });
    expect(() => inserter.addRow([2, 2])).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    const uses = [
      () => connection.executeQuery('SELECT id FROM numbers'),
      () => connection.executeQueryToArrow('SELECT id FROM numbers'),
      () => connection.executeQueryColumnar('SELECT id FROM numbers')[Symbol.asyncIterator]().next(),
      () => connection.execute('SELECT 1'),
      () => connection.listTables(),
      () => connection.dropTable('numbers'),
      async () => connection.share(),
      async () => new ArrowInserter(connection, numbers),
    ];
    for (const use of uses) await expect(use()).rejects.toMatchObject({ name: 'BoundaryError', code: 'BB_CLOSED' });
    // Other users of the engine go on.
    expect(await count(second)).toBe(300_000);
    await second.close();
  });

  test('calls of next at once get the rows in their order', async () => {
    await using connection = await withRows(uri, 1000);
    const rows = connection.executeQueryStream('SELECT id FROM numbers', { batchRows: 64 })[Symbol.asyncIterator]();
    const results = await Promise.all(Array.from({ length: 1003 }, () => rows.next()));
    expect(results.slice(0, 1000).map((result) => result.value?.['id'])).toEqual(
      Array.from({ length: 1000 }, (_, id) => id),
    );
    expect(results.slice(1000).every((result) => result.done)).toBe(true);
    const chunks = connection.executeQueryColumnar('SELECT id FROM numbers', { batchRows: 64 })[Symbol.asyncIterator]();
    const columnar = await Promise.all(Array.from({ length: 20 }, () => chunks.next()));
    const ids = columnar.flatMap((result) => (result.done ? [] : [...result.value.column<Int32Array>('id')]));
    expect(ids).toEqual(Array.from({ length: 1000 }, (_, id) => id));
  });

  test('a row that has no value as asked for ends a stream after the rows before it', async () => {
    await using connection = await connect();
    const sql = 'SELECT CASE WHEN i = 2000 THEN 9007199254740993 ELSE i END AS n FROM range(3000) t(i)';
    const rows = connection.executeQueryStream<{ n: number }>(sql, { int64: 'number' })[Symbol.asyncIterator]();
    const read: number[] = [];
    const readAll = async () => {
      for (let next = await rows.next(); !next.done; next = await rows.next()) read.push(next.value.n);
    };
    await expect(readAll()).rejects.toMatchObject({ code: 'BB_UNSAFE_INTEGER' });
    expect(read).toEqual(Array.from({ length: read.length }, (_, index) => index));
    expect(read.length).toBeGreaterThan(1000);
    expect(await rows.next()).toEqual({ value: undefined, done: true });
    expect(handlesOf(connection).size).toBe(0);
  });

  test('breaking out of a loop ends the query; a stream is used once', async () => {
    await using connection = await withRows(uri, 300_000);
    const options = { batchRows: 1000 };
    const stream = connection.executeQueryStream('SELECT id FROM numbers', options);
    for await (const row of stream) if (row['id'] === 1500) break;
    for await (const _ of connection.executeQueryStream('SELECT id FROM numbers', options).chunks()) break;
    for await (const _ of connection.executeQueryColumnar('SELECT id FROM numbers', options)) break;
    expect(handlesOf(connection).size).toBe(0);
    expect(() => stream.chunks()).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
  });

  test('a chunk stays good after its loop and its connection, until it is released', async () => {
    const connection = await withRows(uri, 10);
    const stream = connection.executeQueryColumnar('SELECT id, value FROM numbers');
    const { value: chunk } = await stream[Symbol.asyncIterator]().next();
    await connection.close();
    const ids = chunk!.column<Int32Array>('id');
    expect([...ids]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(() => chunk!.column('nothing')).toThrow('the result has no column "nothing"');
    expect(() => chunk!.offsets('id')).toThrow('column "id" is INTEGER, which has no offsets');
    expect(() => chunk!.row(10)).toThrow('the chunk has no row 10, it has 10');
    expect(() => chunk!.column(10n as never)).toThrow('the result has no column 10n');
    expect(() => chunk!.row({ toString: null } as never)).toThrow('the chunk has no row an object, it has 10');
    chunk!.release();
    chunk!.release();
    expect(ids).toHaveLength(0);
    for (const use of [
      () => chunk!.column('id'),
      () => chunk!.row(0),
      () => chunk!.values(1),
      () => chunk!.validity('id'),
    ]) {
      expect(use).toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    }
  });
});
