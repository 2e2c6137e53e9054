import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  ArrowInserter,
  attach,
  type ColumnarChunk,
  connect,
  type Connection,
  createPool,
  RowInserter,
  SqlType,
  TableDefinition,
} from '../../../src/index.js';

let connection: Connection;
beforeEach(async () => void (connection = await connect()));
afterEach(() => connection.close());

const valueOf = async (of: Connection, sql: string): Promise<unknown> =>
  (await of.executeQuery<{ x: unknown }>(`SELECT ${sql} AS x`))[0]!.x;

test('a connection keeps what its calls set, also while several run', async () => {
  await using prepared = await connection.prepare("SELECT getvariable('v') AS x");
  await connection.execute('SET VARIABLE v = 5; CREATE TEMP TABLE t (a INTEGER)');
  expect(await prepared.executeQuery()).toEqual([{ x: 5 }]);
  const inserter = new RowInserter(connection, await connection.describeTable('t'));
  for (let a = 0; a < 1000; a++) inserter.addRow([a]);
  // The insert is not ended, and holds nothing up.
  expect(await valueOf(connection, '(SELECT count(*) FROM t)')).toBe(0n);
  expect(await inserter.execute()).toBe(1000);
  const rows = connection.executeQueryStream<{ a: number }>('SELECT a FROM t, range(300)', { batchRows: 1000 });
  let count = 0;
  const seen: unknown[] = [];
  for await (const { a } of rows) {
    if (count++ % 50_000 === 0) seen.push(await valueOf(connection, `${a} - ${a} + getvariable('v')`));
  }
  expect([count, seen]).toEqual([300_000, [5, 5, 5, 5, 5, 5]]);
  const values = await Promise.all(
    Array.from({ length: 20 }, (_, i) => valueOf(connection, `getvariable('v') + ${i}`)),
  );
  expect(values).toEqual(Array.from({ length: 20 }, (_, i) => i + 5));
  await connection.execute('CREATE SCHEMA s; USE s; CREATE TABLE here (a INTEGER)');
  expect(await connection.listTables()).toEqual(['here', 't']);
  expect(await connection.dropTable('here')).toBe(true);
});

test('every call takes its turn when it is made, streams and runs of prepared statements too', async () => {
  const sql = "SELECT getvariable('v') AS x";
  await using prepared = await connection.prepare(`${sql}, $1 AS p`);
  const firstOf = async (stream: AsyncIterable<{ x: unknown } | ColumnarChunk>): Promise<unknown> => {
    for await (const part of stream) return 'x' in part ? part.x : part.row(0)['x'];
    return undefined;
  };
  for (let v = 0; v < 20; v++) {
    const set = connection.execute(`SET VARIABLE v = ${v}`);
    const streams = [
      connection.executeQueryStream<{ x: number }>(sql),
      prepared.executeQueryStream<{ x: number }>([1]),
      connection.executeQueryColumnar(sql),
      connection.executeQueryColumnar(sql, { readAhead: false }),
      prepared.executeQueryColumnar([1]),
    ];
    const bound = connection.executeQuery<{ x: unknown }>(`${sql}, $1 AS p`, { parameters: [1] });
    const all = [connection.executeQuery(sql), bound, prepared.executeQuery([1]), prepared.executeQuery([1])];
    const next = prepared.execute([1]);
    connection.executeQueryStream('SELECT nothing, that is never read');
    await connection.execute('SET VARIABLE v = -1');
    expect(await Promise.all(streams.map(firstOf))).toEqual([v, v, v, v, v]);
    expect((await Promise.all(all)).flat().map(({ x }) => x)).toEqual([v, v, v, v]);
    await Promise.all([set, next]);
  }
  // More calls than there are threads to wait on.
  await Promise.all(Array.from({ length: 1000 }, (_, v) => connection.execute(`SET VARIABLE v = ${v}`)));
  expect(await valueOf(connection, "getvariable('v')")).toBe(999);
});

test('a session belongs to its connection alone', async () => {
  await connection.execute("SET VARIABLE v = 'mine'; CREATE TEMP TABLE t (a INTEGER)");
  await using other = attach(connection.share());
  expect(await valueOf(other, "getvariable('v')")).toBeNull();
  expect(await other.listTables()).toEqual([]);
  await using pool = createPool('embedded:', { max: 1 });
  await pool.use(async (lent) => {
    await lent.execute("SET VARIABLE v = 'left'; CREATE TEMP TABLE t (a INTEGER)");
    expect(await valueOf(lent, "getvariable('v')")).toBe('left');
  });
  await pool.use(async (lent) => {
    expect(await valueOf(lent, "getvariable('v')")).toBeNull();
    expect(await lent.listTables()).toEqual([]);
  });
});

test.each(['USE s2', "SET search_path = 's2'", 'CREATE TEMP TABLE t (a INTEGER)'])(
  'rows of an inserter go to the table that its name meant when it was made, whatever a later %s makes of the name',
  async (later) => {
    await connection.execute('CREATE SCHEMA s2; CREATE TABLE main.t (a INTEGER); CREATE TABLE s2.t (a INTEGER)');
    const definition = new TableDefinition('t', [{ name: 'a', type: SqlType.int() }]);
    const ipc = await connection.executeQueryToArrow('SELECT 7::INTEGER AS a');
    const byRows = new RowInserter(connection, definition);
    const byArrow = new ArrowInserter(connection, definition);
    byRows.addRow([7]);
    await connection.execute(later);
    byArrow.insert(ipc);
    expect([await byRows.execute(), await byArrow.execute()]).toEqual([1, 1]);
    expect(await valueOf(connection, '(SELECT count(*)::INTEGER FROM memory.main.t)')).toBe(2);
  },
);
