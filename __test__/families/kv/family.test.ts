import { describe, expect, test } from 'vitest';

import type { KvClient } from '../../../src/index.js';
import { kvFamily } from '../../../src/families/kv/family.js';
import { expectedOf, KvSums, valueOf } from '../../../src/families/kv/keys.js';
import type { PlannedCell } from '../../../src/families/workload.js';
import { parseKvUrl } from '../../../src/clients/js-kv-client.js';
import { connectMasters, redisOfSuite, startRedisCluster } from '../../redis-server.js';
import { lacks } from '../../needs.js';
import { REQUESTS, openCells, sampleCells, signal, stopwatch } from '../sampled-cells.js';

/** The options of a plan with every cell. */
const ALL = { ...REQUESTS, operations: 700, connections: [1, 3], batch: [1, 64], peers: true };

/** The cells of the engine that is measured if none is named. */
function onOneServer<P extends PlannedCell>(cells: readonly P[]): readonly P[] {
  return cells.filter(({ cell }) => cell.engine === 'redis');
}

test('the sums of the values have a closed form, by text and by bytes', () => {
  const [texts, bytes] = [new KvSums(), new KvSums()];
  for (let index = 0; index < 1234; index += 1) {
    texts.addText(valueOf(index));
    const data = Buffer.from(`--${valueOf(index)}--`);
    bytes.addBytes(data, 2, data.length - 2);
  }
  expect(texts.checksum()).toEqual(expectedOf(1234));
  expect(bytes.checksum()).toEqual(expectedOf(1234));
  expect(expectedOf(3)).toEqual({ rows: 3, sums: { value: '3', bytes: '48' } });
});

test('URLs are taken apart for clients that do not read all of them', () => {
  expect(parseKvUrl('redis://localhost')).toEqual({ host: 'localhost', port: 6379, database: 0, tls: false });
  expect(parseKvUrl('rediss://me:p%40ss@[::1]:7000/3?tls-ca=/a.pem&cluster=false')).toEqual({
    host: '::1',
    port: 7000,
    username: 'me',
    password: 'p@ss',
    database: 3,
    tls: true,
    tlsCa: '/a.pem',
    cluster: false,
  });
  expect(parseKvUrl('redis+unix:///tmp/a%20b.sock?db=2&password=x')).toMatchObject({
    path: '/tmp/a b.sock',
    database: 2,
    password: 'x',
  });
  expect(parseKvUrl('redis://h:80/1')).toMatchObject({ host: 'h', port: 80, database: 1 });
});

test('node-redis is measured without being asked for, and development has it', () => {
  const cells = onOneServer(kvFamily.plan({ rows: 0, workers: 1, engines: { redis: 'redis://localhost' } }));
  const ofClient = cells.filter(({ cell }) => cell.id.includes('/node-redis/'));
  expect(new Set(ofClient.map(({ cell }) => cell.workload))).toEqual(new Set(['get', 'set', 'mget', 'mset']));
  expect(new Set(ofClient.map(({ skip }) => skip))).toEqual(new Set([undefined]));
});

/** The key of a number. */
function keyAt(keys: readonly string[], number: number): string {
  return keys.find((key) => key.endsWith(`:${number}`))!;
}

describe.skipIf(lacks('redis'))('the kv family', () => {
  const redis = redisOfSuite();

  const spoiled = {
    'two keys have exchanged their values': async (client: KvClient, keys: string[]) => {
      const [a, b] = [await client.getText(keys[0]!), await client.getText(keys[1]!)];
      await client.mset([
        [keys[0]!, b!],
        [keys[1]!, a!],
      ]);
    },
    'a value is cut, and another one is longer': async (client: KvClient, keys: string[]) => {
      const [a, b] = [await client.getText(keys[1]!), await client.getText(keys[2]!)];
      await client.mset([
        [keys[1]!, a!.slice(1)],
        [keys[2]!, `0${b}`],
      ]);
    },
    'one value came twice, instead of two others': (client: KvClient, keys: string[]) => {
      const twenty = valueOf(20);
      return client.mset([
        [keyAt(keys, 10), twenty],
        [keyAt(keys, 30), twenty],
      ]);
    },
    'a value is the old one, zeros, and another one too large': (client: KvClient, keys: string[]) =>
      client.mset([
        [keyAt(keys, 5), valueOf(0)],
        [keyAt(keys, 7), valueOf(12)],
      ]),
  };
  test.each(Object.keys(spoiled) as (keyof typeof spoiled)[])('each cell notices that %s', async (what) => {
    const options = { ...REQUESTS, engines: { redis: redis.url }, operations: 100, connections: [2], batch: [1, 8] };
    const cells = onOneServer(kvFamily.plan(options)).filter(
      ({ cell }) => cell.workload === 'get' || cell.workload === 'mget',
    );
    await openCells(await kvFamily.open(options, cells), cells, async (cell, id) => {
      const keys = (await redis.client.pipeline().command('KEYS', '*').execute()).value(0) as unknown[];
      await spoiled[what](redis.client, keys.map(String).toSorted());
      expect(await cell.sample(stopwatch, signal), id).toEqual(cell.expected);
      await expect(cell.verify!(stopwatch, signal), id).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
    });
    expect(cells.length).toBeGreaterThan(8);
  });

  test('every cell of every side does its work and leaves no key', async () => {
    const options = { ...ALL, engines: { redis: redis.url } };
    const cells = onOneServer(kvFamily.plan(options));
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    const lanes = cells.filter(({ cell }) => cell.side === 'napi').map(({ cell }) => cell.lane);
    expect(new Set(lanes)).toEqual(new Set(['call', 'call-async', 'call-blocking', 'batch']));
    const family = await kvFamily.open(options, cells);
    const size = async (): Promise<unknown> => (await redis.client.pipeline().command('DBSIZE').execute()).value(0);
    const opened = cells.filter(({ skip }) => skip === undefined);
    await sampleCells(family, opened, async (id) => expect({ id, keys: await size() }).toEqual({ id, keys: 0 }));
  }, 300_000);

  test('a wrong value is seen, and a sample can be aborted', async () => {
    const options = { ...REQUESTS, engines: { redis: redis.url }, operations: 50 };
    const planned = kvFamily.plan(options).filter(({ cell }) => cell.side === 'napi' && cell.workload === 'get');
    await openCells(await kvFamily.open(options, planned), planned.slice(0, 1), async (cell) => {
      const keys = (await redis.client.pipeline().command('KEYS', '*').execute()).value(0) as string[];
      expect(keys).toHaveLength(50);
      await redis.client.set(keys[0]!, valueOf(77));
      expect(await cell.sample(stopwatch, signal)).not.toEqual(cell.expected);
      const aborted = cell.sample(stopwatch, AbortSignal.abort());
      await expect(aborted).rejects.toMatchObject({ code: 'BB_ABORTED' });
    });
  });
});

describe('the redis-cluster engine', () => {
  test('its cells are measured if it is named, and say if a client divides its batches', () => {
    const engines = { redis: 'redis://localhost', 'redis-cluster': 'redis://localhost' };
    const cells = kvFamily.plan({ ...ALL, engines });
    const ofCluster = cells.filter(({ cell }) => cell.engine === 'redis-cluster');
    expect(ofCluster.length).toBe(cells.length / 2);
    expect(ofCluster.every(({ askedBy }) => askedBy?.includes('engine'))).toBe(true);
    const variants = new Set(ofCluster.map(({ cell }) => cell.variant));
    expect(variants).toContain('ioredis, a pipeline for each server');
    expect(variants).not.toContain('ioredis pipeline');
  });

  test.skipIf(lacks('redis'))(
    'every cell of every side does its work and leaves no key',
    async () => {
      const cluster = await startRedisCluster();
      const engines = { 'redis-cluster': cluster.url };
      const cells = kvFamily.plan({ ...ALL, engines }).filter(({ cell }) => cell.engine === 'redis-cluster');
      expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
      const family = await kvFamily.open({ ...ALL, engines }, cells);
      const masters = await connectMasters(cluster.url);
      const keysLeft = async (): Promise<unknown[]> =>
        Promise.all(masters.map(async (master) => (await master.pipeline().command('DBSIZE').execute()).value(0)));
      const opened = cells.filter(({ skip }) => skip === undefined);
      await sampleCells(family, opened, async (id) =>
        expect({ id, keys: await keysLeft() }).toEqual({ id, keys: [0, 0, 0] }),
      );
      await Promise.all(masters.map((master) => master.close()));
      await cluster.stop();
    },
    300_000,
  );
});
