/** The errors of clients whose shards fail during calls. Every call must end: a test does not return before its calls. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { ShardClient, ShardRow } from '../../src/index.js';
import { shardOf } from '../../src/library/shards/shard-placing.js';
import { GrpcShards } from '../../src/clients/grpc-js.js';
import { expectedOf, packedRows } from '../../src/families/hybrid/data.js';
import { readAll } from '../../src/families/hybrid/input.js';
import { HybridSums } from '../../src/families/hybrid/reads.js';
import { ShardServers } from './shard-process.js';

const SHARDS = 3;
const ROWS = 9000;
const KEYS = Int32Array.from({ length: 3000 }, (_, key) => key);

/** The expected presence of rows if every key has its row. */
const ALL = [...KEYS].map(() => true);

function keyOf(shard: number): number {
  return KEYS.find((key) => shardOf(key, SHARDS) === shard)!;
}

function rowOf(key: number): ShardRow {
  return new ShardRow(new Uint8Array(packedRows([key]).buffer));
}

/** The text by which an error must name a shard. */
function named(shard: number): unknown {
  return expect.stringContaining(`shard ${shard} of ${SHARDS} at http://127.0.0.1:`);
}

/** For each key, whether its row is found while a shard is missing. */
function keysWithout(shard: number): boolean[] {
  return [...KEYS].map((key) => shardOf(key, SHARDS) !== shard);
}

async function check(client: ShardClient, rows: number): Promise<void> {
  const sums = new HybridSums('scan');
  await readAll(sums, client);
  expect(sums.checksum()).toEqual(expectedOf('scan', 1, rows));
}

/** Repeats a call until it is answered again: a call that needs a broken connection reconnects after some time. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch {
      await sleep(20);
    }
  }
}

describe('a shard that is killed', () => {
  it('under many calls is named by its own calls; the others are answered, and it is found again where it was', async () => {
    await using servers = await ShardServers.start(SHARDS);
    await using client = await ShardClient.connect(servers.urls);
    await client.populate(ROWS);
    const broken = { code: 'BB_CONNECTION', message: named(1) };
    const over = new AbortController();
    const failures: unknown[] = [];
    const ask = async (): Promise<void> => {
      while (!over.signal.aborted) {
        using rows = await client.multiGet(KEYS);
        const isWhole = rows.failures.length === 0;
        expect(rows.failures).toMatchObject(isWhole ? [] : [{ shard: 1, error: broken }]);
        expect([...KEYS.keys()].map((place) => rows.has(place))).toEqual(isWhole ? ALL : keysWithout(1));
        failures.push(...rows.failures);
      }
    };
    const askOther = async (shard: number): Promise<void> => {
      while (!over.signal.aborted) {
        expect((await client.get(keyOf(shard)))!.bytes).toEqual(rowOf(keyOf(shard)).bytes);
        await client.put(rowOf(keyOf(shard)));
      }
    };
    const askKilled = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const outcome = await client.get(keyOf(1)).catch((thrown: unknown) => thrown);
        const failed = outcome instanceof ShardRow ? [] : [outcome];
        expect(failed).toMatchObject(failed.map(() => broken));
        failures.push(...failed);
      }
    };
    const asking = Promise.all([ask(), ask(), ask(), askOther(0), askOther(2), askKilled(), askKilled()]);
    await sleep(50);
    expect(failures).toEqual([]);
    await servers.each[1]!.kill();
    while (failures.length < 20) await sleep(5);
    over.abort();
    await asking;
    using found = await client.multiGet(KEYS);
    expect(() => found.assertAll()).toThrow(`shard 1 of ${SHARDS}`);
    let read = 0;
    const scan = async (): Promise<void> => {
      for await (const chunk of client.scan()) read += chunk.rowCount;
    };
    await expect(scan()).rejects.toMatchObject(broken);
    expect(read).toBe(Array.from({ length: ROWS }, (_, key) => key).filter((key) => shardOf(key, SHARDS) !== 1).length);
    await expect(client.populate(ROWS, { replace: true })).rejects.toMatchObject(broken);
    await expect(client.put(rowOf(keyOf(1)))).rejects.toMatchObject(broken);
    await expect(client.aggregate({ column: 'key' })).rejects.toMatchObject(broken);
    await expect(client.describe()).rejects.toMatchObject(broken);
    const packed = new Uint8Array(packedRows([keyOf(0), keyOf(1), keyOf(2), ROWS]).buffer);
    await expect(client.putMany(packed)).rejects.toMatchObject(broken);
    await servers.each[1]!.restart();
    await answered(() => client.put(rowOf(keyOf(1))));
    using rows = await client.multiGet(Int32Array.of(keyOf(0), keyOf(1), keyOf(2)));
    expect([rows.found, rows.failures]).toEqual([3, []]);
    await client.populate(ROWS, { replace: true });
    await check(client, ROWS);
  });

  it('under many calls of grpc-js is named, and found again where it was', async () => {
    await using servers = await ShardServers.start(SHARDS);
    await using filling = await ShardClient.connect(servers.urls);
    await filling.populate(ROWS);
    const client = await GrpcShards.connect(servers.urls);
    const broken = { code: 'BB_CONNECTION', message: named(1) };
    const ask = async (): Promise<unknown> => {
      for (;;) {
        const outcome = await client.multiGet([...KEYS]).catch((thrown: unknown) => thrown);
        if (!Array.isArray(outcome)) return outcome;
      }
    };
    const asking = Promise.all([ask(), ask(), ask()]);
    await sleep(50);
    await servers.each[1]!.kill();
    for (const outcome of await asking) expect(outcome).toMatchObject(broken);
    await expect(client.get(keyOf(1))).rejects.toMatchObject(broken);
    expect(await client.get(keyOf(0))).not.toBeNull();
    await servers.each[1]!.restart();
    expect(await answered(() => client.get(keyOf(1)))).toBeNull();
    client.close();
  });
});

describe('a shard that stands still', () => {
  it('is given up in the time given; the others are answered', async () => {
    await using servers = await ShardServers.start(SHARDS);
    await using patient = await ShardClient.connect(servers.urls);
    await patient.populate(ROWS);
    await using client = await ShardClient.connect(servers.urls, { timeoutMs: 1000 });
    const late = { code: 'BB_TIMEOUT', message: named(1) };
    await servers.each[1]!.pause();
    let read = 0;
    const scan = async (): Promise<void> => {
      for await (const chunk of client.scan()) read += chunk.rowCount;
    };
    const [rows] = await Promise.all([
      client.multiGet(KEYS),
      client.get(keyOf(0)).then((row) => expect(row!.key).toBe(BigInt(keyOf(0)))),
      ...[
        client.get(keyOf(1)),
        scan(),
        client.aggregate({ column: 'key' }),
        client.describe(),
        client.put(rowOf(keyOf(1))),
      ].map((call) => expect(call).rejects.toMatchObject(late)),
    ]);
    using found = rows;
    expect(found.failures).toMatchObject([{ shard: 1, error: late }]);
    expect([...KEYS.keys()].map((place) => found.has(place))).toEqual(keysWithout(1));
    expect(read).toBe(Array.from({ length: ROWS }, (_, key) => key).filter((key) => shardOf(key, SHARDS) !== 1).length);
    const payload = new Uint8Array(172);
    const changed = [0, 1, 2].map((shard) =>
      ShardRow.of({ key: keyOf(shard), quantity: -7, price: 0, updatedAt: 0, payload }),
    );
    const packed = new Uint8Array(changed.flatMap(({ bytes }) => [...bytes]));
    await expect(client.putMany(packed)).rejects.toMatchObject(late);
    for (const shard of [0, 2]) expect((await client.get(keyOf(shard)))!.quantity).toBe(-7);
    await expect(client.populate(ROWS, { replace: true })).rejects.toMatchObject(late);
    await expect(ShardClient.connect(servers.urls, { timeoutMs: 1000 })).rejects.toMatchObject({ message: named(1) });
    servers.each[1]!.resume();
    await answered(() => client.populate(ROWS, { replace: true }));
    await check(client, ROWS);
  });

  it('keeps no call of a client that is closed', async () => {
    await using servers = await ShardServers.start(SHARDS);
    const client = await ShardClient.connect(servers.urls);
    await client.populate(ROWS);
    await servers.each[1]!.pause();
    const scan = client.scan()[Symbol.asyncIterator]();
    let chunk = await scan.next();
    const packed = new Uint8Array(packedRows([...KEYS]).buffer);
    const calls = [
      client.get(keyOf(1)),
      client.multiGet(KEYS),
      client.put(rowOf(keyOf(1))),
      client.putMany(packed),
      client.aggregate({ column: 'key' }),
      client.aggregate({ column: 'key', place: 'here' }),
      client.describe(),
      client.populate(ROWS, { replace: true }),
      (async () => {
        while (chunk.done !== true) chunk = await scan.next();
      })(),
    ].map((call) => expect(call).rejects.toMatchObject({ code: 'BB_CLOSED' }));
    await sleep(100);
    await client.close();
    await Promise.all(calls);
    servers.each[1]!.resume();
    await using other = await ShardClient.connect(servers.urls);
    await answered(() => other.populate(ROWS, { replace: true }));
    await check(other, ROWS);
  });
});
