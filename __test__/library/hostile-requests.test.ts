/** The clients of servers, and worker threads, under the rule of `hostile-calls.test.ts`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  createWorkers,
  HttpClient,
  KvClient,
  ShardClient,
  ShardRow,
  ShardStore,
  SqlClient,
  type WorkerPool,
} from '../../src/index.js';
import { mysqlOfSuite } from '../mysql-server.js';
import { lacks } from '../needs.js';
import { redisOfSuite } from '../redis-server.js';
import { type Entries, hostileTests, membersOf, method, none } from './hostile-values.js';
import { type RawServer, startRawServer } from './http/http-server.js';

const signal = (): AbortSignal => new AbortController().signal;
const work = (): object => ({ signal: signal(), timeoutMs: 10_000 });

/** The options of each client that connects to a server. */
const CONNECTING = { connections: 1, timeoutMs: 5000, connectTimeoutMs: 500, tls: 'off', maxResponseBytes: 100_000 };

/** Functions that use what a call has read, with a hostile argument. */
const reading =
  <Read>(read: () => Promise<Read>) =>
  (use: (result: Read, argument: never) => unknown) =>
    (async (argument: never) => use(await read(), argument)) as (...args: never[]) => unknown;

describe('HttpClient', () => {
  let server: RawServer;
  let client: HttpClient;
  beforeAll(async () => {
    server = await startRawServer(({ answer }) => answer('{}', 'a: b\r\n'));
    client = await HttpClient.connect(server.url);
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  const request = (): object => ({ method: 'POST', path: '/', headers: { a: 'b' }, body: 'x' });
  const connecting = (): unknown[] => [server.url, { ...CONNECTING, pipelining: 1, headers: { a: 'b' }, http2: false }];
  const one = reading(() => client.request({ path: '/' }));
  const many = reading(() => client.requestMany([{ path: '/' }]));
  const streamed = reading(() => client.stream({ path: '/' }));
  const entries: Entries = {
    HttpClient: [connecting, (url: never, options: never) => new HttpClient(url, options)],
    'HttpClient.connect': [connecting, HttpClient.connect],
    'HttpClient.request': [() => [request(), work()], method(() => client, 'request')],
    'HttpClient.requestMany': [() => [[request()], work()], method(() => client, 'requestMany')],
    'a request of HttpClient.requestMany': [() => [request()], (one: never) => client.requestMany([one])],
    'HttpClient.stream': [() => [request(), work()], method(() => client, 'stream')],
    'HttpClient.close': [none, () => new HttpClient(server.url).close()],
    'HttpResponse.text': [none, one((response) => response.text())],
    'HttpResponse.headerValues': [() => ['a'], one((response, name) => response.headerValues(name))],
    'HttpResponse.getSetCookie': [none, one((response) => response.getSetCookie())],
    'HttpResponse.json': [none, one((response) => response.json())],
    'HttpResponses.response': [() => [0], many((responses, index) => responses.response(index))],
    'HttpResponses.status': [() => [0], many((responses, index) => responses.status(index))],
    'HttpResponses.error': [() => [0], many((responses, index) => responses.error(index))],
    'HttpStream.text': [none, streamed((stream) => stream.text())],
    'HttpStream.close': [none, streamed((stream) => stream.close())],
    'HttpStream.headerValues': [() => ['a'], streamed((stream, name) => stream.headerValues(name))],
    'HttpStream.getSetCookie': [none, streamed((stream) => stream.getSetCookie())],
  };
  hostileTests(entries);
  test('none is left out', async () => {
    const HttpResponse = await client.request({ path: '/' });
    const HttpResponses = await client.requestMany([{ path: '/' }]);
    const HttpStream = await client.stream({ path: '/' });
    const made = { HttpResponse, HttpResponses, HttpStream };
    expect(missingFrom(entries, { HttpClient }, { HttpClient: client, ...made })).toEqual([]);
  });
});

describe.skipIf(lacks('redis'))('KvClient', () => {
  const redis = redisOfSuite();
  const values = reading(() => redis.client.mget(['a', 'b']));
  const replies = reading(() => redis.client.pipeline().command('TIME').get('a').execute());
  const entries: Entries = {
    'KvClient.connect': [() => [redis.url, CONNECTING], KvClient.connect],
    'KvClient.get': [() => ['a', work()], method(() => redis.client, 'get')],
    'KvClient.getText': [() => ['a', work()], method(() => redis.client, 'getText')],
    'KvClient.set': [() => ['a', 'b', work()], method(() => redis.client, 'set')],
    'KvClient.mget': [() => [['a'], work()], method(() => redis.client, 'mget')],
    'a key of KvClient.mget': [() => ['a'], (key: never) => redis.client.mget(['b', key])],
    'KvClient.mset': [() => [[['a', 'b']], work()], method(() => redis.client, 'mset')],
    'an entry of KvClient.mset': [() => [['a', 'b']], (entry: never) => redis.client.mset([entry])],
    'KvClient.pipeline': [none, method(() => redis.client, 'pipeline')],
    'KvClient.close': [none, async () => (await KvClient.connect(redis.url)).close()],
    'KvPipeline.get': [() => ['a'], (key: never) => redis.client.pipeline().get(key).execute()],
    'KvPipeline.set': [
      () => ['a', 'b'],
      (key: never, value: never) => redis.client.pipeline().set(key, value).execute(),
    ],
    'KvPipeline.command': [
      () => ['GET', 'a'],
      (name: never, key: never) => redis.client.pipeline().command(name, key).execute(),
    ],
    'KvPipeline.execute': [() => [work()], (options: never) => redis.client.pipeline().get('a').execute(options)],
    ...Object.fromEntries(
      (['start', 'end', 'isNull', 'error', 'bytes', 'text'] as const).map((name) => [
        `KvValues.${name}`,
        [() => [0], values((read, index) => read[name](index))] as const,
      ]),
    ),
    'KvValues.toArray': [none, values((read) => read.toArray())],
    'KvValues.cursor': [none, values((read) => [...read.cursor()].length)],
    'KvReplies.value': [() => [0], replies((read, index) => read.value(index))],
    'KvReplies.values': [none, replies((read) => read.values())],
    'KvReplies.isStatus': [() => [0], replies((read, index) => read.isStatus(index))],
  };
  hostileTests(entries);
  test('none is left out', () => {
    expect(missingFrom(entries, { KvClient, KvPipeline: redis.client.pipeline() }, { KvClient: redis.client })).toEqual(
      [],
    );
  });
});

describe.skipIf(lacks('mysql'))('SqlClient', () => {
  const mysql = mysqlOfSuite();
  beforeAll(() => mysql.client.query('CREATE TABLE hostile (i INT, s TEXT)'));
  const results = reading(() => mysql.client.queryMany('SELECT ? AS n', [[1], [2]]));
  const login = { int64: 'number', allowPublicKeyRetrieval: false, collation: 'utf8mb4_bin' };
  const entries: Entries = {
    'SqlClient.connect': [() => [mysql.url, { ...CONNECTING, ...login }], SqlClient.connect],
    'SqlClient.ping': [() => [work()], method(() => mysql.client, 'ping')],
    'SqlClient.query': [() => ['SELECT 1 AS n', work()], method(() => mysql.client, 'query')],
    'SqlClient.execute': [() => ['SELECT ? AS n', [1], work()], method(() => mysql.client, 'execute')],
    'a parameter of SqlClient.execute': [() => [1], (value: never) => mysql.client.execute('SELECT ? AS n', [value])],
    'SqlClient.prepare': [() => ['SELECT ? AS n', work()], method(() => mysql.client, 'prepare')],
    'SqlClient.queryMany': [() => ['SELECT ? AS n', [[1]], work()], method(() => mysql.client, 'queryMany')],
    'a list of SqlClient.queryMany': [
      () => [[1]],
      (list: never) => mysql.client.queryMany('SELECT ? AS n', [list, list]),
    ],
    'SqlClient.executeBatch': [
      () => ['INSERT INTO hostile VALUES (?, ?)', [[1, 'x']], work()],
      method(() => mysql.client, 'executeBatch'),
    ],
    'SqlClient.run': [() => [[{ sql: 'SELECT 1 AS n' }], work()], method(() => mysql.client, 'run')],
    'a request of SqlClient.run': [
      () => [{ sql: 'SELECT ? AS n', parameters: [1] }],
      (request: never) => mysql.client.run([request]),
    ],
    'SqlClient.insertRows': [
      () => ['hostile', ['i', 's'], [[1, 'x']], work()],
      method(() => mysql.client, 'insertRows'),
    ],
    'SqlClient.close': [none, async () => (await SqlClient.connect(mysql.url)).close()],
    'SqlStatement.execute': [
      () => [[1], work()],
      async (list: never, options: never) => (await mysql.client.prepare('SELECT ? AS n')).execute(list, options),
    ],
    'SqlStatement.queryMany': [
      () => [[[1]], work()],
      async (lists: never, options: never) => (await mysql.client.prepare('SELECT ? AS n')).queryMany(lists, options),
    ],
    ...Object.fromEntries(
      (['at', 'error', 'chunk', 'rows', 'cursor'] as const).map((name) => [
        `SqlResults.${name}`,
        [() => [0], results((read, index) => read[name](index))] as const,
      ]),
    ),
    'SqlResults.throwIfFailed': [none, results((read) => read.throwIfFailed())],
    'SqlResult.rows': [none, results((read) => read.at(0).rows())],
    'SqlResult.cursor': [none, results((read) => [...read.at(0).cursor()].length)],
  };
  hostileTests(entries);
  test('none is left out', async () => {
    const SqlStatement = await mysql.client.prepare('SELECT 1 AS n');
    const SqlResult = await mysql.client.query('SELECT 1 AS n');
    expect(missingFrom(entries, { SqlClient, SqlStatement }, { SqlClient: mysql.client, SqlResult })).toEqual([]);
  });
});

describe('ShardClient', () => {
  let client: ShardClient;
  let stores: ShardStore[];
  const row = ShardRow.of({ key: 1, quantity: 1, price: 1, updatedAt: 1, payload: new Uint8Array(3) });
  beforeAll(async () => {
    stores = [ShardStore.inMemory(), ShardStore.inMemory()];
    client = await ShardClient.connect(stores);
    await client.put(row);
  });
  afterAll(async () => {
    await client.close();
    for (const store of stores) store.close();
  });
  const call = (): object => ({ signal: signal() });
  const found = reading(() => client.multiGet(Float64Array.of(1)));
  /** Fills the shards, but with no more rows than a test has time for. */
  const limited = (rows: never, options: never): Promise<void> =>
    client.populate(typeof rows === 'number' && rows > 1e6 ? (1.5 as never) : rows, options);
  /** Fills the shards; the list of no shards, whose options are good, is refused by its number alone. */
  const refused = async (shards: never, options: never): Promise<void> => {
    await client.populateFrom(shards, options).catch((thrown: unknown) => {
      if (!(thrown as Error).message.startsWith('the rows of 0 shards are given')) throw thrown;
    });
  };
  const entries: Entries = {
    'ShardClient.connect': [
      () => [stores, { timeoutMs: 5000, connectTimeoutMs: 500, connections: 1, apiKey: 'k' }],
      ShardClient.connect,
    ],
    'ShardClient.tryGet': [() => [1, new ShardRow()], method(() => client, 'tryGet')],
    'ShardClient.get': [() => [1, call()], method(() => client, 'get')],
    'ShardClient.multiGet': [() => [Float64Array.of(1), call()], method(() => client, 'multiGet')],
    'ShardClient.tryPut': [() => [row], method(() => client, 'tryPut')],
    'ShardClient.put': [() => [row, call()], method(() => client, 'put')],
    'ShardClient.putMany': [() => [row.bytes, call()], method(() => client, 'putMany')],
    'ShardClient.scan': [() => [call()], method(() => client, 'scan')],
    'ShardClient.aggregate': [() => [{ column: 'price', place: 'here' }, call()], method(() => client, 'aggregate')],
    'a filter of ShardClient.aggregate': [
      () => [{ column: 'quantity', comparison: '>', value: 1 }],
      (filter: never) => client.aggregate({ column: 'key', filter }),
    ],
    'ShardClient.populate': [() => [10, { ...call(), replace: true }], limited],
    'ShardClient.populateFrom': [() => [[], { ...call(), replace: true }], refused],
    'ShardClient.describe': [() => [call()], method(() => client, 'describe')],
    'ShardClient.close': [none, async () => (await ShardClient.connect(stores)).close()],
    'ShardRows.has': [() => [0], found((rows, index) => rows.has(index))],
    'ShardRows.row': [() => [0], found((rows, index) => rows.row(index))],
    'ShardRows.cursor': [none, found((rows) => [...rows.cursor()].length)],
    'ShardRows.assertAll': [none, found((rows) => rows.assertAll())],
    'ShardRows.release': [none, found((rows) => rows.release())],
  };
  hostileTests(entries);
  test('none is left out', async () => {
    const ShardRows = await client.multiGet(Float64Array.of(1));
    expect(missingFrom(entries, { ShardClient, ShardRows }, { ShardClient: client })).toEqual([]);
  });
});

describe('worker threads', () => {
  let workers: WorkerPool;
  const module = new URL('workers/functions.mjs', import.meta.url);
  beforeAll(async () => void (workers = await createWorkers({ module, count: 1 })));
  afterAll(() => workers.close());
  const entries: Entries = {
    createWorkers: [() => [{ module, count: 1, maxQueued: 1, graceMs: 100 }], createWorkers],
    'WorkerPool.run': [
      () => ['counted', undefined, { ...work(), transfer: [], worker: 0 }],
      method(() => workers, 'run'),
    ],
    'WorkerPool.runOnEach': [
      () => ['counted', () => undefined, work()],
      (name: never, argumentOf: never, options: never) =>
        Promise.all(workers.runOnEach(name, typeof argumentOf === 'function' ? () => undefined : argumentOf, options)),
    ],
    'WorkerPool.drain': [none, () => workers.drain()],
    'WorkerPool.close': [
      () => [{ force: true }],
      async (options: never) => {
        await using pool = await createWorkers({ module, count: 1 });
        await pool.close(options);
      },
    ],
  };
  hostileTests(entries);
  test('none is left out', () => {
    expect(missingFrom(entries, { WorkerPool: workers })).toEqual([]);
  });
});

/** The functions of these objects, of which each has the name of its class, that are no entries. */
function missingFrom(entries: Entries, ...made: readonly Record<string, object>[]): string[] {
  const all = made
    .flatMap(Object.entries)
    .flatMap(([name, object]) => membersOf(object).map((member) => [name, member]));
  const named = all.filter(([, member]) => !INTERNAL.has(member!)).map((names) => names.join('.'));
  return named.filter((name) => !Object.hasOwn(entries, name));
}

/** Functions that are no part of the API. */
const INTERNAL = new Set(
  'step open failure kind textAt affectedRowsOf lastInsertIdOf rowCountOf rowsOf cursorOf columnsOf'.split(' '),
);
