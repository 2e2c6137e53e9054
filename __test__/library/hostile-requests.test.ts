/** The clients of servers, and worker threads, under the rule of `hostile-calls.test.ts`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  createWorkers,
  HttpClient,
  type HttpStream,
  KvClient,
  ShardClient,
  ShardRow,
  ShardStore,
  SqlClient,
  type WorkerPool,
} from '../../src/index.js';
import { startMysql } from '../mysql-server.js';
import { lacks } from '../needs.js';
import { startRedis } from '../redis-server.js';
import { type Entries, hostileTests, membersOf, none } from './hostile-values.js';
import { type RawServer, startRawServer } from './http/http-server.js';

const signal = (): AbortSignal => new AbortController().signal;
const work = (): object => ({ signal: signal(), timeoutMs: 10_000 });

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
  const connecting = (): unknown[] => [
    server.url,
    {
      connections: 1,
      pipelining: 1,
      timeoutMs: 5000,
      connectTimeoutMs: 500,
      headers: { a: 'b' },
      maxResponseBytes: 1000,
      tls: 'off',
      http2: false,
    },
  ];
  const entries = (): Entries => ({
    HttpClient: [connecting, (url: never, options: never) => new HttpClient(url, options)],
    'HttpClient.connect': [connecting, HttpClient.connect],
    'HttpClient.request': [() => [request(), work()], client.request.bind(client)],
    'HttpClient.requestMany': [() => [[request()], work()], client.requestMany.bind(client)],
    'a request of HttpClient.requestMany': [() => [request()], (one: never) => client.requestMany([one])],
    'HttpClient.stream': [() => [request(), work()], client.stream.bind(client)],
    'HttpClient.close': [none, () => new HttpClient(server.url).close()],
    'HttpResponse.text': [none, async () => (await client.request({ path: '/' })).text()],
    'HttpResponse.headerValues': [
      () => ['a'],
      async (name: never) => (await client.request({ path: '/' })).headerValues(name),
    ],
    'HttpResponse.getSetCookie': [none, async () => (await client.request({ path: '/' })).getSetCookie()],
    'HttpResponse.json': [none, async () => (await client.request({ path: '/' })).json()],
    'HttpResponses.response': [() => [0], many((responses, index) => responses.response(index))],
    'HttpResponses.status': [() => [0], many((responses, index) => responses.status(index))],
    'HttpResponses.error': [() => [0], many((responses, index) => responses.error(index))],
    'HttpStream.text': [none, streamed((stream) => stream.text())],
    'HttpStream.close': [none, streamed((stream) => stream.close())],
    'HttpStream.headerValues': [() => ['a'], named((stream, name) => stream.headerValues(name))],
    'HttpStream.getSetCookie': [none, streamed((stream) => stream.getSetCookie())],
  });
  const many =
    (use: (responses: Awaited<ReturnType<HttpClient['requestMany']>>, index: never) => unknown) =>
    async (index: never): Promise<unknown> =>
      use(await client.requestMany([{ path: '/' }]), index);
  const named =
    (use: (stream: HttpStream, name: never) => unknown) =>
    async (name: never): Promise<unknown> =>
      use(await client.stream({ path: '/' }), name);
  const streamed = (use: (stream: HttpStream) => unknown) => async (): Promise<unknown> =>
    use(await client.stream({ path: '/' }));
  hostileTests(
    [
      'HttpClient',
      'HttpClient.connect',
      'HttpClient.request',
      'HttpClient.requestMany',
      'a request of HttpClient.requestMany',
      'HttpClient.stream',
      'HttpClient.close',
      'HttpResponse.text',
      'HttpResponse.json',
      'HttpResponse.headerValues',
      'HttpResponse.getSetCookie',
      'HttpResponses.response',
      'HttpResponses.status',
      'HttpResponses.error',
      'HttpStream.text',
      'HttpStream.close',
      'HttpStream.headerValues',
      'HttpStream.getSetCookie',
    ],
    entries,
  );
  test('none is left out', async () => {
    expect(
      missingFrom({ HttpClient, HttpResponses: await client.requestMany([{ path: '/' }]) }, Object.keys(entries())),
    ).toEqual([]);
    expect(
      missingFrom(
        {
          HttpClient: client,
          HttpResponse: await client.request({ path: '/' }),
          HttpStream: await client.stream({ path: '/' }),
        },
        Object.keys(entries()),
      ),
    ).toEqual([]);
  });
});

describe.skipIf(lacks('redis'))('KvClient', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let client: KvClient;
  beforeAll(async () => {
    server = await startRedis();
    client = await KvClient.connect(server.url);
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });
  const values = (use: (read: Awaited<ReturnType<KvClient['mget']>>, index: never) => unknown) =>
    (async (index: never) => use(await client.mget(['a', 'b']), index)) as (...args: never[]) => unknown;
  const replies = (
    use: (read: Awaited<ReturnType<ReturnType<KvClient['pipeline']>['execute']>>, index: never) => unknown,
  ) =>
    (async (index: never) => use(await client.pipeline().command('TIME').get('a').execute(), index)) as (
      ...args: never[]
    ) => unknown;
  const entries = (): Entries => ({
    'KvClient.connect': [
      () => [
        server.url,
        { connections: 1, timeoutMs: 5000, connectTimeoutMs: 500, tls: 'off', maxResponseBytes: 1000 },
      ],
      KvClient.connect,
    ],
    'KvClient.get': [() => ['a', work()], client.get.bind(client)],
    'KvClient.getText': [() => ['a', work()], client.getText.bind(client)],
    'KvClient.set': [() => ['a', 'b', work()], client.set.bind(client)],
    'KvClient.mget': [() => [['a'], work()], client.mget.bind(client)],
    'a key of KvClient.mget': [() => ['a'], (key: never) => client.mget(['b', key])],
    'KvClient.mset': [() => [[['a', 'b']], work()], client.mset.bind(client)],
    'an entry of KvClient.mset': [() => [['a', 'b']], (entry: never) => client.mset([entry])],
    'KvClient.pipeline': [none, client.pipeline.bind(client)],
    'KvClient.close': [none, async () => (await KvClient.connect(server.url)).close()],
    'KvPipeline.get': [() => ['a'], (key: never) => client.pipeline().get(key).execute()],
    'KvPipeline.set': [() => ['a', 'b'], (key: never, value: never) => client.pipeline().set(key, value).execute()],
    'KvPipeline.command': [
      () => ['GET', 'a'],
      (name: never, key: never) => client.pipeline().command(name, key).execute(),
    ],
    'KvPipeline.execute': [() => [work()], (options: never) => client.pipeline().get('a').execute(options)],
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
  });
  const entryNames = [
    ...['connect', 'get', 'getText', 'set', 'mget', 'mset', 'pipeline', 'close'].map((name) => `KvClient.${name}`),
    ...['get', 'set', 'command', 'execute'].map((name) => `KvPipeline.${name}`),
    ...['start', 'end', 'isNull', 'error', 'bytes', 'text', 'toArray', 'cursor'].map((name) => `KvValues.${name}`),
    ...['value', 'values', 'isStatus'].map((name) => `KvReplies.${name}`),
    'a key of KvClient.mget',
    'an entry of KvClient.mset',
  ];
  hostileTests(entryNames, entries);
  test('none is left out', () => {
    expect(missingFrom({ KvClient, KvPipeline: client.pipeline() }, entryNames)).toEqual([]);
    expect(missingFrom({ KvClient: client }, entryNames)).toEqual([]);
  });
});

describe.skipIf(lacks('mysql'))('SqlClient', () => {
  let server: Awaited<ReturnType<typeof startMysql>>;
  let client: SqlClient;
  beforeAll(async () => {
    server = await startMysql();
    client = await SqlClient.connect(server.url);
    await client.query('CREATE DATABASE IF NOT EXISTS hostile');
    await client.query('CREATE TABLE hostile.t (i INT, s TEXT)');
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });
  const results = (use: (read: Awaited<ReturnType<SqlClient['queryMany']>>, index: never) => unknown) =>
    (async (index: never) => use(await client.queryMany('SELECT ? AS n', [[1], [2]]), index)) as (
      ...args: never[]
    ) => unknown;
  const entries = (): Entries => ({
    'SqlClient.connect': [
      () => [
        server.url,
        {
          connections: 1,
          timeoutMs: 5000,
          connectTimeoutMs: 500,
          tls: 'off',
          maxResponseBytes: 100_000,
          int64: 'number',
          allowPublicKeyRetrieval: false,
          collation: 'utf8mb4_bin',
        },
      ],
      SqlClient.connect,
    ],
    'SqlClient.ping': [() => [work()], client.ping.bind(client)],
    'SqlClient.query': [() => ['SELECT 1 AS n', work()], client.query.bind(client)],
    'SqlClient.execute': [() => ['SELECT ? AS n', [1], work()], client.execute.bind(client)],
    'a parameter of SqlClient.execute': [() => [1], (value: never) => client.execute('SELECT ? AS n', [value])],
    'SqlClient.prepare': [() => ['SELECT ? AS n', work()], client.prepare.bind(client)],
    'SqlClient.queryMany': [() => ['SELECT ? AS n', [[1]], work()], client.queryMany.bind(client)],
    'a list of SqlClient.queryMany': [() => [[1]], (list: never) => client.queryMany('SELECT ? AS n', [list, list])],
    'SqlClient.executeBatch': [
      () => ['INSERT INTO hostile.t VALUES (?, ?)', [[1, 'x']], work()],
      client.executeBatch.bind(client),
    ],
    'SqlClient.run': [() => [[{ sql: 'SELECT 1 AS n' }], work()], client.run.bind(client)],
    'a request of SqlClient.run': [
      () => [{ sql: 'SELECT ? AS n', parameters: [1] }],
      (request: never) => client.run([request]),
    ],
    'SqlClient.insertRows': [() => ['hostile.t', ['i', 's'], [[1, 'x']], work()], client.insertRows.bind(client)],
    'SqlClient.close': [none, async () => (await SqlClient.connect(server.url)).close()],
    'SqlStatement.execute': [
      () => [[1], work()],
      async (list: never, options: never) => (await client.prepare('SELECT ? AS n')).execute(list, options),
    ],
    'SqlStatement.queryMany': [
      () => [[[1]], work()],
      async (lists: never, options: never) => (await client.prepare('SELECT ? AS n')).queryMany(lists, options),
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
  });
  const entryNames = [
    ...[
      'connect',
      'ping',
      'query',
      'execute',
      'prepare',
      'queryMany',
      'executeBatch',
      'run',
      'insertRows',
      'close',
    ].map((name) => `SqlClient.${name}`),
    ...['execute', 'queryMany'].map((name) => `SqlStatement.${name}`),
    ...['at', 'error', 'chunk', 'rows', 'cursor', 'throwIfFailed'].map((name) => `SqlResults.${name}`),
    ...['rows', 'cursor'].map((name) => `SqlResult.${name}`),
    'a parameter of SqlClient.execute',
    'a list of SqlClient.queryMany',
    'a request of SqlClient.run',
  ];
  hostileTests(entryNames, entries);
  test('none is left out', async () => {
    expect(missingFrom({ SqlClient, SqlStatement: await client.prepare('SELECT 1 AS n') }, entryNames)).toEqual([]);
    expect(missingFrom({ SqlClient: client, SqlResult: await client.query('SELECT 1 AS n') }, entryNames)).toEqual([]);
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
  const found = (use: (rows: Awaited<ReturnType<ShardClient['multiGet']>>, index: never) => unknown) =>
    (async (index: never) => use(await client.multiGet(Float64Array.of(1)), index)) as (...args: never[]) => unknown;
  const entries = (): Entries => ({
    'ShardClient.connect': [
      () => [stores, { timeoutMs: 5000, connectTimeoutMs: 500, connections: 1, apiKey: 'k' }],
      ShardClient.connect,
    ],
    'ShardClient.tryGet': [() => [1, new ShardRow()], client.tryGet.bind(client)],
    'ShardClient.get': [() => [1, call()], client.get.bind(client)],
    'ShardClient.multiGet': [() => [Float64Array.of(1), call()], client.multiGet.bind(client)],
    'ShardClient.tryPut': [() => [row], client.tryPut.bind(client)],
    'ShardClient.put': [() => [row, call()], client.put.bind(client)],
    'ShardClient.putMany': [() => [row.bytes, call()], client.putMany.bind(client)],
    'ShardClient.scan': [() => [call()], client.scan.bind(client)],
    'ShardClient.aggregate': [() => [{ column: 'price', place: 'here' }, call()], client.aggregate.bind(client)],
    'a filter of ShardClient.aggregate': [
      () => [{ column: 'quantity', comparison: '>', value: 1 }],
      (filter: never) => client.aggregate({ column: 'key', filter }),
    ],
    'ShardClient.populate': [() => [10, { ...call(), replace: true }], limited],
    'ShardClient.populateFrom': [() => [[], { ...call(), replace: true }], refused],
    'ShardClient.describe': [() => [call()], client.describe.bind(client)],
    'ShardClient.close': [none, async () => (await ShardClient.connect(stores)).close()],
    'ShardRows.has': [() => [0], found((rows, index) => rows.has(index))],
    'ShardRows.row': [() => [0], found((rows, index) => rows.row(index))],
    'ShardRows.cursor': [none, found((rows) => [...rows.cursor()].length)],
    'ShardRows.assertAll': [none, found((rows) => rows.assertAll())],
    'ShardRows.release': [none, found((rows) => rows.release())],
  });
  /** Fills the shards, but with no more rows than a test has time for. */
  const limited = (rows: never, options: never): Promise<void> =>
    client.populate(typeof rows === 'number' && rows > 1e6 ? (1.5 as never) : rows, options);
  /** Fills the shards; the list of no shards, whose options are good, is refused by its number alone. */
  const refused = async (shards: never, options: never): Promise<void> => {
    await client.populateFrom(shards, options).catch((thrown: unknown) => {
      if (!(thrown as Error).message.startsWith('the rows of 0 shards are given')) throw thrown;
    });
  };
  const entryNames = [
    ...['connect', 'tryGet', 'get', 'multiGet', 'tryPut', 'put', 'putMany', 'scan', 'aggregate', 'populate'].map(
      (name) => `ShardClient.${name}`,
    ),
    ...['populateFrom', 'describe', 'close'].map((name) => `ShardClient.${name}`),
    ...['has', 'row', 'cursor', 'assertAll', 'release'].map((name) => `ShardRows.${name}`),
    'a filter of ShardClient.aggregate',
  ];
  hostileTests(entryNames, entries);
  test('none is left out', async () => {
    expect(missingFrom({ ShardClient, ShardRows: await client.multiGet(Float64Array.of(1)) }, entryNames)).toEqual([]);
    expect(missingFrom({ ShardClient: client }, entryNames)).toEqual([]);
  });
});

describe('worker threads', () => {
  let workers: WorkerPool;
  const module = new URL('workers/functions.mjs', import.meta.url);
  beforeAll(async () => {
    workers = await createWorkers({ module, count: 1 });
  });
  afterAll(() => workers.close());
  const entries = (): Entries => ({
    createWorkers: [() => [{ module, count: 1, maxQueued: 1, graceMs: 100 }], createWorkers],
    'WorkerPool.run': [
      () => ['counted', undefined, { ...work(), transfer: [], worker: 0 }],
      workers.run.bind(workers) as (...args: never[]) => unknown,
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
  });
  const entryNames = ['createWorkers', ...['run', 'runOnEach', 'drain', 'close'].map((name) => `WorkerPool.${name}`)];
  hostileTests(entryNames, entries);
  test('none is left out', () => {
    expect(missingFrom({ WorkerPool: workers }, entryNames)).toEqual([]);
  });
});

/** The functions of these objects, of which each has the name of its class, that are not called above. */
function missingFrom(objects: Record<string, object>, entryNames: readonly string[]): string[] {
  const all = Object.entries(objects).flatMap(([name, object]) => membersOf(object).map((member) => [name, member]));
  const named = all.filter(([, member]) => !INTERNAL.has(member!)).map((names) => names.join('.'));
  return named.filter((name) => !entryNames.includes(name));
}

/** Functions that are no part of the API. */
const INTERNAL = new Set(
  'step open failure kind textAt affectedRowsOf lastInsertIdOf rowCountOf rowsOf cursorOf columnsOf'.split(' '),
);
