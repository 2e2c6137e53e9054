import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  ArrowInserter,
  attach,
  type ColumnarChunk,
  connect,
  type Connection,
  createPool,
  dateFromMicros,
  RowInserter,
  SqlType,
  TableDefinition,
} from '../../../src/index.js';

let connection: Connection;
beforeEach(async () => {
  connection = await connect();
});
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
    const all = [connection.executeQuery(sql), prepared.executeQuery([1]), prepared.executeQuery([1])];
    const next = prepared.execute([1]);
    connection.executeQueryStream('SELECT nothing, that is never read');
    await connection.execute('SET VARIABLE v = -1');
    expect(await Promise.all(streams.map(firstOf))).toEqual([v, v, v, v, v]);
    expect((await Promise.all(all)).flat().map(({ x }) => x)).toEqual([v, v, v]);
    await Promise.all([set, next]);
  }
});

test('calls that run at once take effect in their order', async () => {
  for (let round = 0; round < 10; round++) {
    const calls = Array.from({ length: 10 }, (_, i) => connection.execute(`SET VARIABLE v = ${i}`));
    const seen = valueOf(connection, "getvariable('v')");
    const later = connection.execute('SET VARIABLE v = 10');
    const bound = connection.executeQuery("SELECT getvariable('v') + $1::INTEGER AS x", { parameters: [0] });
    const last = connection.execute('SET VARIABLE v = 11');
    await Promise.all([...calls, later, last]);
    expect([await seen, await bound]).toEqual([9, [{ x: 10 }]]);
    expect(await valueOf(connection, "getvariable('v')")).toBe(11);
  }
  const many = Array.from({ length: 1000 }, (_, i) => connection.execute(`SET VARIABLE v = ${i}`));
  await Promise.all(many);
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

test('rows of RETURNING are counted by execute and read by every query', async () => {
  await connection.execute('CREATE TABLE t (a INTEGER)');
  expect(await connection.execute('INSERT INTO t SELECT range FROM range(3) RETURNING a')).toBe(3);
  expect(await connection.executeQuery('UPDATE t SET a = a + 1 WHERE a = 2 RETURNING a')).toEqual([{ a: 3 }]);
  expect(await connection.executeQuery('DELETE FROM t WHERE a = $1 RETURNING a', { parameters: [3] })).toEqual([
    { a: 3 },
  ]);
  const streamed = connection.executeQueryStream<{ a: number }>('INSERT INTO t VALUES (7), (8) RETURNING a');
  const found: number[] = [];
  for await (const { a } of streamed) found.push(a);
  expect(found).toEqual([7, 8]);
  await using statement = await connection.prepare('INSERT INTO t VALUES ($1) RETURNING a * 2 AS twice');
  expect(await statement.executeQuery([9])).toEqual([{ twice: 18 }]);
  expect(await statement.execute([10])).toBe(1);
  await expect(connection.executeQuery('EXPLAIN ANALYZE INSERT INTO t VALUES (1)')).rejects.toMatchObject({
    code: 'BB_UNSUPPORTED',
  });
  expect(await valueOf(connection, '(SELECT list(a ORDER BY a)::VARCHAR FROM t)')).toBe('[0, 1, 7, 8, 9, 10]');
});

test('a PIVOT is one statement in every lane', async () => {
  await connection.execute('CREATE TABLE cities AS SELECT 1 AS a, 2000 AS y, 5::INTEGER AS p');
  const pivot = 'PIVOT cities ON y USING sum(p)::INTEGER AS p';
  expect(await connection.executeQuery(pivot)).toEqual([{ a: 1, '2000_p': 5 }]);
  expect((await connection.executeQueryToArrow(pivot)).length).toBeGreaterThan(0);
  await using statement = await connection.prepare(pivot);
  expect(await statement.executeQuery()).toEqual([{ a: 1, '2000_p': 5 }]);
  await connection.execute('INSERT INTO cities VALUES (1, 2001, 6)');
  expect(await statement.executeQuery()).toEqual([{ a: 1, '2000_p': 5, '2001_p': 6 }]);
  await connection.execute('SET VARIABLE v = 1');
  expect(await connection.execute(`CREATE TABLE pivoted AS ${pivot}`)).toBe(1);
  expect(await connection.executeQuery(pivot)).toEqual(await connection.executeQuery('FROM pivoted'));
});

test('names in memory make no file', async () => {
  await using plain = await connect('embedded::memory:');
  await plain.execute('CREATE TABLE t (i INTEGER)');
  await using first = await connect('embedded::memory:shared');
  await first.execute('CREATE TABLE t (i INTEGER)');
  await using second = await connect('embedded::memory:shared');
  expect(await second.listTables()).toEqual(['t']);
  await using empty = await connect('embedded:?');
  expect(await empty.listTables()).toEqual([]);
  for (const name of [':memory:', ':memory:shared', '?']) expect(existsSync(name)).toBe(false);
  await expect(connect('embedded:sqlite:x.db')).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
});

test('columns of types of their own are written and read, in schemas and attached databases too', async () => {
  await connection.execute("ATTACH ':memory:' AS other; CREATE SCHEMA other.s");
  await connection.execute(`CREATE TABLE other.s.t (u UUID, e ENUM('a', 'b'), n UBIGINT, tz TIMESTAMPTZ, tiny TINYINT,
    l INTEGER[], twice INTEGER GENERATED ALWAYS AS (tiny::INTEGER * 2))`);
  const described = await connection.describeTable('other.s.t');
  expect(described.columns.map(({ name }) => name)).toEqual(['u', 'e', 'n', 'tz', 'tiny', 'l', 'twice']);
  const named = new TableDefinition(
    'other.s.t',
    described.columns.filter(({ name }) => !['l', 'twice'].includes(name)),
  );
  const inserter = new RowInserter(connection, named);
  const moment = new Date('2024-02-29T12:00:00Z');
  inserter.addRow(['123e4567-e89b-12d3-a456-426614174000', 'b', 2n ** 64n - 1n, moment, -128]);
  expect(await inserter.execute()).toBe(1);
  const [row] = await connection.executeQuery<Record<string, unknown>>('SELECT * EXCLUDE (l) FROM other.s.t');
  expect(row).toEqual({
    u: '123e4567-e89b-12d3-a456-426614174000',
    e: 'b',
    n: '18446744073709551615',
    tz: BigInt(moment.getTime()) * 1000n,
    tiny: -128,
    twice: -256,
  });
  expect(dateFromMicros(row!['tz'] as bigint)).toEqual(moment);
  const tooLarge = new RowInserter(
    connection,
    new TableDefinition('other.s.t', [{ name: 'tiny', type: SqlType.smallInt() }]),
  );
  tooLarge.addRow([300]);
  await expect(tooLarge.execute()).rejects.toMatchObject({ code: 'BB_INVALID_VALUE' });
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
