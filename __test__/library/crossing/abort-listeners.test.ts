/** Any number of calls may have one signal: Node warns of a leak if the signal itself has more than ten listeners. */
import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  type ArrowMessage,
  type BoundaryError,
  connect,
  type Connection,
  createPool,
  createWorkers,
  HttpClient,
  KvClient,
  ShardClient,
  ShardStore,
  SqlClient,
} from '../../../src/index.js';
import { onAbort } from '../../../src/library/crossing/abort-listeners.js';
import { startMysql } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { startRedis } from '../../redis-server.js';
import { type RawServer, startRawServer } from '../http/http-server.js';

const CALLS = 50;

/** The most listeners that the signal had while calls were made. */
let most = 0;

/** Makes many calls at once with one signal, which must warn of nothing; resolves to their outcomes. */
async function manyCalls(
  call: (signal: AbortSignal) => unknown,
  whileUnderWay?: (aborting: AbortController) => void,
): Promise<PromiseSettledResult<unknown>[]> {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  const aborting = new AbortController();
  const calls = Array.from({ length: CALLS }, async () => call(aborting.signal));
  await new Promise((resolve) => setTimeout(resolve, 20));
  most = getEventListeners(aborting.signal, 'abort').length;
  whileUnderWay?.(aborting);
  const outcomes = await Promise.allSettled(calls);
  // Warnings come a turn later.
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
  expect(most).toBeLessThanOrEqual(1);
  expect(getEventListeners(aborting.signal, 'abort')).toEqual([]);
  return outcomes;
}

/** The calls that were not answered. */
async function unanswered(call: (signal: AbortSignal) => unknown): Promise<unknown[]> {
  return (await manyCalls(call)).filter(({ status }) => status === 'rejected');
}

/** The calls that were not ended by their signal. */
async function unaborted(call: (signal: AbortSignal) => unknown): Promise<unknown[]> {
  const reason = new Error('enough');
  const outcomes = await manyCalls(call, (aborting) => aborting.abort(reason));
  return outcomes.filter((outcome) => {
    const error = outcome.status === 'rejected' ? (outcome.reason as BoundaryError) : undefined;
    return error?.code !== 'BB_ABORTED' || error.cause !== reason;
  });
}

describe('engines', () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await connect('embedded:');
    await connection.execute('CREATE TABLE s(i INT)');
  });
  afterAll(() => connection.close());
  const long = 'SELECT sum(a.range * b.range) AS s FROM range(1000000) a, range(100000) b';

  test('queries, streams, chunks, Arrow, commands and statements share a signal', async () => {
    const sql = 'SELECT range AS n FROM range(10)';
    const statement = await connection.prepare(sql);
    const pool = createPool('embedded:', { max: 2 });
    expect(
      await unanswered(async (signal) => {
        await connection.executeQuery(sql, { signal });
        for await (const row of connection.executeQueryStream(sql, { signal })) expect(row).toBeDefined();
        for await (const chunk of connection.executeQueryColumnar(sql, { signal })) chunk.release();
        await connection.executeQueryToArrow(sql, { signal });
        await connection.execute('INSERT INTO s VALUES (1)', { signal });
        await statement.executeQuery([], { signal });
        await pool.use((lent) => lent.executeQuery('SELECT 1 AS n', { signal }), { signal });
      }),
    ).toEqual([]);
    await pool.close();
  });

  test('all are aborted', async () => {
    expect(await unaborted((signal) => connection.executeQuery(long, { signal }))).toEqual([]);
  });

  test('calls that wait for a connection are aborted', async () => {
    const pool = createPool('memory:', { max: 1 });
    const lent = await pool.acquire();
    expect(await unaborted((signal) => pool.acquire({ signal }))).toEqual([]);
    await lent.close();
    await pool.close();
  });
});

describe('clients', () => {
  test('shards', async () => {
    const client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
    expect(
      await unanswered(async (signal) => {
        await client.get(1, { signal });
        await client.multiGet(Float64Array.of(1, 2), { signal });
        await client.describe({ signal });
        for await (const chunk of client.scan({ signal })) chunk.release();
      }),
    ).toEqual([]);
    const never: AsyncIterable<ArrowMessage> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    };
    expect(
      await unaborted((signal) =>
        client.populateFrom(
          Array.from({ length: 2 }, () => ({ rows: 1, messages: never })),
          { signal },
        ),
      ),
    ).toEqual([]);
    await client.close();
  });

  test('http, of which a stream has a connection of its own', async () => {
    const server: RawServer = await startRawServer(({ path, answer }) => path === '/late' || answer('x'));
    const client = await HttpClient.connect(server.url, { connections: 4 });
    expect(
      await unanswered(async (signal) => {
        await client.request({ path: '/' }, { signal });
        await client.requestMany([{ path: '/' }, { path: '/' }], { signal });
        expect(await (await client.stream({ path: '/' }, { signal })).text()).toBe('x');
      }),
    ).toEqual([]);
    expect(await unaborted((signal) => client.request({ path: '/late' }, { signal }))).toEqual([]);
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  test.skipIf(lacks('redis'))('kv', async () => {
    const server = await startRedis();
    const client = await KvClient.connect(server.url);
    expect(
      await unanswered(async (signal) => {
        await client.set('k', 'v', { signal });
        await client.mget(['k'], { signal });
        await client.pipeline().get('k').execute({ signal });
      }),
    ).toEqual([]);
    expect(await unaborted((signal) => client.pipeline().command('BLPOP', 'none', '0').execute({ signal }))).toEqual(
      [],
    );
    await client.close();
    await server.stop();
  });

  test.skipIf(lacks('mysql'))('sql', async () => {
    const server = await startMysql();
    const client = await SqlClient.connect(server.url, { connections: 3 });
    expect(await unanswered((signal) => client.execute('SELECT ? AS n', [1], { signal }))).toEqual([]);
    expect(await unaborted((signal) => client.query('SELECT SLEEP(20) AS s', { signal }))).toEqual([]);
    await client.close();
    await server.stop();
  });

  test('workers', async () => {
    const module = new URL('../workers/functions.mjs', import.meta.url);
    const workers = await createWorkers({ module, count: 2 });
    expect(await unanswered((signal) => workers.run('add', { left: 1, right: 2 }, { signal }))).toEqual([]);
    await workers.close();
  });
});

test('listeners are told in their order, and those that were stopped are not', () => {
  const aborting = new AbortController();
  const told: string[] = [];
  const stops = ['a', 'b', 'c', 'd'].map((name) =>
    onAbort(aborting.signal, () => {
      told.push(name);
      if (name === 'a') stops[2]!();
    }),
  );
  stops[1]!();
  aborting.abort();
  expect(told).toEqual(['a', 'd']);
  for (const stop of stops) stop();
  expect(getEventListeners(aborting.signal, 'abort')).toEqual([]);
});

test('a signal that is used again after its calls ended is listened to again', () => {
  const aborting = new AbortController();
  let told = 0;
  onAbort(aborting.signal, () => (told += 1))();
  expect(getEventListeners(aborting.signal, 'abort')).toEqual([]);
  const stop = onAbort(aborting.signal, () => (told += 1));
  expect(getEventListeners(aborting.signal, 'abort')).toHaveLength(1);
  aborting.abort();
  stop();
  expect(told).toBe(1);
});
