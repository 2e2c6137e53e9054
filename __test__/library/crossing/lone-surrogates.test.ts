/** A lone surrogate, which UTF-8 can't hold, is refused wherever a text of JavaScript crosses: it never becomes U+FFFD. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  attach,
  ColumnsEncoder,
  connect,
  type Connection,
  createPool,
  encodeColumns,
  encodeLines,
  encodeRows,
  HttpClient,
  JsonPaths,
  JsonRows,
  KvClient,
  LineEncoder,
  parseLines,
  RowInserter,
  RowsEncoder,
  ShardClient,
  ShardStore,
  SqlClient,
  SqlType,
  TableDefinition,
  typed,
} from '../../../src/index.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { redisOfSuite } from '../../redis-server.js';
import { type RawServer, startRawServer } from '../http/http-server.js';

/** Texts that are no Unicode: each half of a pair alone, at any place, in a short and in a long text. */
const LONE = ['\ud800', 'a\udfff', '\ud800b', 'é\ud800\ud800', `${'x'.repeat(100)}\udc00`];

/** The error that a call throws or rejects with; undefined if it does neither. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** Expects that each call refuses each text, whether it comes alone or within another. */
function refusing(calls: Record<string, (lone: string) => unknown>): void {
  test.each(Object.entries(calls))('%s', async (_, call) => {
    for (const lone of LONE) {
      expect(await errorOf(() => call(lone)), lone).toMatchObject({
        name: 'BoundaryError',
        code: 'BB_INVALID_ARGUMENT',
        message: expect.stringContaining('lone surrogate') as string,
      });
    }
  });
}

describe('engines', () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await connect('embedded:');
    await connection.execute('CREATE TABLE t(s VARCHAR)');
  });
  afterAll(() => connection.close());
  const table = new TableDefinition('t', [{ name: 's', type: SqlType.text() }]);

  const calls = {
    'the URI of a connection': (lone: string) => connect(`embedded:/tmp/${lone}`),
    'the URI of a pool': (lone: string) => createPool(`embedded:/tmp/${lone}`),
    'a handle': (lone: string) => attach(lone),
    'the name of a table': (lone: string) => new TableDefinition(lone, table.columns),
    'the name of a column': (lone: string) => new TableDefinition('t', [{ name: lone, type: SqlType.text() }]),
    describeTable: (lone: string) => connection.describeTable(lone),
    dropTable: (lone: string) => connection.dropTable(lone),
    execute: (lone: string) => connection.execute(`INSERT INTO t VALUES ('${lone}')`),
    executeQuery: (lone: string) => connection.executeQuery(`SELECT '${lone}' AS s`),
    executeQueryStream: (lone: string) => connection.executeQueryStream(`SELECT '${lone}' AS s`),
    executeQueryColumnar: (lone: string) => connection.executeQueryColumnar(`SELECT 1 AS "${lone}"`),
    executeQueryToArrow: (lone: string) => connection.executeQueryToArrow(`SELECT '${lone}' AS s`),
    prepare: (lone: string) => connection.prepare(`SELECT '${lone}' AS s`),
    'a parameter': (lone: string) => connection.executeQuery('SELECT $1 AS s', { parameters: [lone] }),
    'a typed parameter': (lone: string) =>
      connection.executeQuery('SELECT $1 AS s', { parameters: [typed(SqlType.text(), lone)] }),
  };
  refusing(calls);

  test('a value of a row is refused as a value', async () => {
    for (const lone of LONE) {
      const inserter = new RowInserter(connection, table);
      expect(() => inserter.addRow([lone])).toThrow(expect.objectContaining({ code: 'BB_INVALID_VALUE' }));
      expect(() => inserter.addColumns({ s: [lone] })).toThrow(expect.objectContaining({ code: 'BB_INVALID_VALUE' }));
      const writer = inserter.writer<{ s: string }>();
      expect(() => (writer.s = lone)).toThrow(expect.objectContaining({ code: 'BB_INVALID_VALUE' }));
    }
    expect(await connection.executeQuery('SELECT s FROM t')).toEqual([]);
  });

  test('whole pairs, and U+FFFD itself, cross unchanged', async () => {
    const text = 'a\u{1f600}\ufffd\u{10ffff}';
    expect(await connection.executeQuery(`SELECT '${text}' AS "${text}"`)).toEqual([{ [text]: text }]);
  });
});

describe('encoders', () => {
  const values = Float64Array.of(1);
  const encoders: Record<
    string,
    (names: { measurement: string; tags?: Record<string, string>; field: string }) => unknown
  > = {
    encodeLines: (names) => encodeLines(names, values),
    encodeRows: (names) => encodeRows(names, values),
    encodeColumns: (names) => encodeColumns(names, values),
    LineEncoder: (names) => new LineEncoder(names),
    RowsEncoder: (names) => new RowsEncoder(names),
    ColumnsEncoder: (names) => new ColumnsEncoder(names),
  };
  const calls = Object.fromEntries(
    Object.entries(encoders).flatMap(([name, encode]) => [
      [`the measurement of ${name}`, (lone: string) => encode({ measurement: lone, field: 'f' })],
      [`the field of ${name}`, (lone: string) => encode({ measurement: 'm', field: lone })],
      [`a tag of ${name}`, (lone: string) => encode({ measurement: 'm', tags: { [lone]: 'v' }, field: 'f' })],
      [`the value of a tag of ${name}`, (lone: string) => encode({ measurement: 'm', tags: { t: lone }, field: 'f' })],
    ]),
  );
  const others: Record<string, (lone: string) => unknown> = {
    'lines to parse': (lone) => parseLines(`m,t=${lone} v=1 1`),
    'a path': (lone) => new JsonPaths(lone),
    'a path with a type': (lone) => new JsonPaths({ path: lone, type: 'text' }),
    'a path of rows': (lone) => new JsonRows('data', lone),
    'the entry of rows': (lone) => new JsonRows(lone, '0'),
  };
  const all = { ...calls, ...others };
  refusing(all);
});

describe('shards', () => {
  const calls: Record<string, (lone: string) => unknown> = {
    'an address': (lone) => ShardClient.connect([`http://localhost:1/${lone}`]),
    'an API key': (lone) => ShardClient.connect(['http://localhost:1'], { apiKey: lone }),
    'a file of certificates': (lone) => ShardClient.connect(['https://localhost:1'], { tlsCa: lone }),
    'a folder': (lone) => ShardStore.open(`/tmp/${lone}`, 0, 1),
  };
  refusing(calls);
});

describe('HttpClient', () => {
  let server: RawServer;
  let client: HttpClient;
  beforeAll(async () => {
    server = await startRawServer(({ path, answer }) => answer(path));
    client = await HttpClient.connect(server.url);
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  const calls: Record<string, (lone: string) => unknown> = {
    'the URL': (lone) => new HttpClient(`http://localhost/${lone}`),
    'a header of the client': (lone) => new HttpClient('http://localhost', { headers: { a: lone } }),
    'a file of certificates': (lone) => new HttpClient('https://localhost', { tlsCa: lone }),
    'the path': (lone) => client.request({ path: `/${lone}` }),
    'a header': (lone) => client.request({ path: '/', headers: { a: lone } }),
    'the name of a header': (lone) => client.request({ path: '/', headers: { [lone]: 'a' } }),
    'the body': (lone) => client.request({ path: '/', body: lone }),
    'a body among many': (lone) =>
      client.requestMany([
        { path: '/', body: Uint8Array.of(1) },
        { path: '/', body: lone },
      ]),
    'the path of a stream': (lone) => client.stream({ path: `/${lone}` }),
  };
  refusing(calls);

  test('the client goes on', async () => {
    expect((await client.request({ path: '/on' })).text()).toBe('/on');
  });
});

describe.skipIf(lacks('redis'))('KvClient', () => {
  const redis = redisOfSuite();

  const calls: Record<string, (lone: string) => unknown> = {
    'the URL': (lone) => KvClient.connect(`redis://${lone}@localhost`),
    'a file of certificates': (lone) => KvClient.connect('rediss://localhost', { tlsCa: lone }),
    get: (lone) => redis.client.get(lone),
    getText: (lone) => redis.client.getText(lone),
    'the key of set': (lone) => redis.client.set(lone, 'v'),
    'the value of set': (lone) => redis.client.set('k', lone),
    mget: (lone) => redis.client.mget(['a', lone]),
    'mget of many': (lone) => redis.client.mget([...Array.from({ length: 20 }, (_, index) => `k${index}`), lone]),
    mset: (lone) => redis.client.mset([['k', lone]]),
    'a command of a pipeline': (lone) => redis.client.pipeline().command(lone).execute(),
    'an argument of a pipeline': (lone) => redis.client.pipeline().command('SET', 'k', lone).execute(),
    'a key of a pipeline': (lone) => redis.client.pipeline().set(lone, 'v').execute(),
  };
  refusing(calls);

  test('nothing was set, and the redis.client goes on', async () => {
    expect((await redis.client.pipeline().command('DBSIZE').execute()).value(0)).toBe(0);
  });
});

describe.skipIf(lacks('mysql'))('SqlClient', () => {
  const mysql = mysqlOfSuite();
  beforeAll(() => mysql.client.query('CREATE TABLE t (s TEXT) CHARACTER SET utf8mb4'));

  const calls: Record<string, (lone: string) => unknown> = {
    'the URL': (lone) => SqlClient.connect(`mysql://${lone}@localhost`),
    'the file of a key': (lone) => SqlClient.connect('mysql://localhost', { serverPublicKey: lone }),
    'a collation': (lone) => SqlClient.connect('mysql://localhost', { collation: lone as 'utf8mb4_bin' }),
    query: (lone) => mysql.client.query(`INSERT INTO t VALUES ('${lone}')`),
    execute: (lone) => mysql.client.execute(`INSERT INTO t VALUES ('${lone}')`),
    'a parameter': (lone) => mysql.client.execute('INSERT INTO t VALUES (?)', [lone]),
    prepare: (lone) => mysql.client.prepare(`SELECT '${lone}'`),
    queryMany: (lone) => mysql.client.queryMany('INSERT INTO t VALUES (?)', [['a'], [lone]]),
    run: (lone) => mysql.client.run([{ sql: `INSERT INTO t VALUES ('${lone}')` }]),
    'the table of insertRows': (lone) => mysql.client.insertRows(lone, ['s'], [['a']]),
    'a column of insertRows': (lone) => mysql.client.insertRows('t', [lone], [['a']]),
    'a value of insertRows': (lone) => mysql.client.insertRows('t', ['s'], [[lone]]),
  };
  refusing(calls);

  test('nothing was stored, and the mysql.client goes on', async () => {
    expect((await mysql.client.query('SELECT COUNT(*) AS n FROM t')).rows()).toEqual([{ n: 0n }]);
  });
});
