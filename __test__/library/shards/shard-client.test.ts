import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { crossing, type PrivateShards } from '../../../src/crossing-addon.js';
import {
  type ArrowMessage,
  type ShardBatches,
  ShardClient,
  ShardRow,
  ShardStore,
  shardOf,
} from '../../../src/index.js';
import { GrpcShards } from '../../../src/clients/grpc-js.js';
import { RowSums, expectedOf, packedRows } from '../../../src/families/hybrid/data.js';
import { readAll } from '../../../src/families/hybrid/input.js';
import { batchesOf } from '../../../src/families/hybrid/made-batches.js';
import { HybridCheck, HybridSums } from '../../../src/families/hybrid/reads.js';
import { errorWith } from '../../error-with.js';

const ROWS = 10_000;
const SHARDS = 3;

async function filled(): Promise<{ stores: ShardStore[]; client: ShardClient }> {
  const stores = Array.from({ length: SHARDS }, () => ShardStore.inMemory());
  const client = await ShardClient.connect(stores);
  await client.populate(ROWS);
  return { stores, client };
}

function madeRow(key: number): ShardRow {
  return new ShardRow(new Uint8Array(packedRows([key]).buffer));
}

function valuesOf({ key, quantity, price, updatedAt, payload }: ShardRow): unknown {
  return { key, quantity, price, updatedAt, payload: [...payload] };
}

describe('a client of shards in this process', () => {
  it('reads rows at once, by promise, and by keys of every kind', async () => {
    const { client } = await filled();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -5, max: ROWS + 5 }), { maxLength: 50 }), async (keys) => {
        const isThere = (key: number): boolean => key >= 0 && key < ROWS;
        for (const key of keys) {
          const expected = isThere(key) ? valuesOf(madeRow(key)) : undefined;
          for (const row of [client.tryGet(key), client.tryGet(BigInt(key)), await client.get(key)]) {
            expect(row === null ? undefined : valuesOf(row!)).toEqual(expected);
          }
        }
        const kinds = [Int32Array.from(keys), Float64Array.from(keys), BigInt64Array.from(keys.map(BigInt))];
        for (const kind of kinds) {
          using rows = await client.multiGet(kind);
          expect([rows.length, rows.found]).toEqual([keys.length, keys.filter(isThere).length]);
          for (const [index, key] of keys.entries()) {
            expect(rows.has(index)).toBe(isThere(key));
            expect(rows.row(index)?.['price']).toBe(isThere(key) ? madeRow(key).price : undefined);
            expect(rows.chunk.column<BigInt64Array>('key')[index]).toBe(BigInt(key));
          }
          const found = Array.from(rows.cursor(), (row) => row.toObject());
          expect(found.map((row) => row['key'])).toEqual(keys.map(BigInt));
          expect(found.map((row) => row['price'])).toEqual(
            keys.map((key) => (isThere(key) ? madeRow(key).price : null)),
          );
          expect(rows.has(-1) || rows.has(keys.length)).toBe(false);
        }
      }),
      { numRuns: 20 },
    );
    await client.close();
  });

  it('writes rows, one by one and many, overwriting others and as new ones', async () => {
    const { client } = await filled();
    const payload = new Uint8Array(172).fill(7);
    const changed = ShardRow.of({ key: 5, quantity: -1, price: 0.5, updatedAt: 1n, payload });
    const added = ShardRow.of({ key: -(2n ** 63n), quantity: 2, price: -0, updatedAt: 2, payload });
    expect(client.tryPut(changed)).toBe(true);
    await client.put(added);
    expect(valuesOf(client.tryGet(5)!)).toEqual(valuesOf(changed));
    expect(valuesOf((await client.get(-(2n ** 63n)))!)).toEqual(valuesOf(added));
    await client.putMany(new Uint8Array(packedRows([5, ROWS, ROWS + 1]).buffer));
    expect(valuesOf(client.tryGet(5)!)).toEqual(valuesOf(madeRow(5)));
    expect((await client.describe()).reduce((sum, { rows }) => sum + rows, 0)).toBe(ROWS + 3);
    await expect(client.putMany(new Uint8Array(199))).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    await client.close();
  });

  it('scans and sums up, there and here', async () => {
    const { client } = await filled();
    const sums = new HybridSums('scan');
    await readAll(sums, client);
    expect(sums.checksum()).toEqual(expectedOf('scan', 1, ROWS));
    const filter = { column: 'quantity', comparison: '>=', value: 50 } as const;
    for (const place of ['shards', 'here'] as const) {
      const { count, sum, min, max, average } = await client.aggregate({ column: 'price', filter, place });
      expect({ rows: count, sums: { price: sum, min, max } }).toEqual(expectedOf('aggregate.pull', 1, ROWS));
      expect(average).toBe(Number(sum) / count);
      const keys = await client.aggregate({ column: 'key', place });
      expect(keys).toMatchObject({ count: ROWS, sum: (BigInt(ROWS) * BigInt(ROWS - 1)) / 2n, min: 0n, max: 9999n });
    }
    const none = { column: 'key', comparison: '<', value: -(2n ** 63n) } as const;
    expect(await client.aggregate({ column: 'price', filter: none })).toEqual({ count: 0, sum: 0 });
    const chunks = client.scan();
    for await (const chunk of chunks) {
      expect(chunk.columns.map(({ name }) => name)).toEqual(['key', 'quantity', 'price', 'updated_at', 'payload']);
      break;
    }
    expect(() => chunks[Symbol.asyncIterator]()).toThrow('iterated once');
    await client.close();
  });

  it('refuses what makes no sense, and is closed for good', async () => {
    const { stores, client } = await filled();
    const invalid = { code: 'BB_INVALID_ARGUMENT' };
    for (const key of [0.5, 2 ** 53, NaN, 2n ** 63n, '1' as unknown as number]) {
      expect(() => client.tryGet(key)).toThrow(expect.objectContaining(invalid));
      await expect(client.get(key)).rejects.toMatchObject(invalid);
    }
    await expect(client.multiGet(new Float64Array([0.5]))).rejects.toMatchObject(invalid);
    await expect(client.multiGet(new Uint8Array(1) as unknown as Int32Array)).rejects.toMatchObject(invalid);
    await expect(client.populate(10)).rejects.toMatchObject(invalid);
    const value = 'much' as unknown as number;
    const filter = { column: 'price', comparison: '<', value } as const;
    await expect(client.aggregate({ column: 'price', filter })).rejects.toMatchObject(invalid);
    for (const part of [{ column: 'price', value: 1 }, { comparison: '<', value: 1 }, { value: 1 }]) {
      const aggregation = { column: 'price', filter: part as unknown as typeof filter } as const;
      await expect(client.aggregate(aggregation)).rejects.toMatchObject(invalid);
    }
    await expect(ShardClient.connect([])).rejects.toMatchObject(invalid);
    await expect(ShardStore.open('/nowhere', 3, 3)).rejects.toMatchObject(invalid);
    await client.close();
    await client.close();
    const closed = { code: 'BB_CLOSED' };
    await expect(client.scan()[Symbol.asyncIterator]().next()).rejects.toMatchObject(closed);
    expect(() => client.tryGet(1)).toThrow(expect.objectContaining(closed));
    await expect(client.get(1)).rejects.toMatchObject(closed);
    await expect(client.multiGet(Int32Array.of(1))).rejects.toMatchObject(closed);
    const [first] = stores;
    first!.close();
    first!.close();
    expect(() => first!.rows).toThrow(expect.objectContaining(closed));
    await expect(ShardClient.connect([first!])).rejects.toMatchObject(invalid);
  });
});

it('a client uses no memory that is shared or gone', async () => {
  const { client } = await filled();
  const invalid = { code: 'BB_INVALID_ARGUMENT' };
  const gone = new ShardRow();
  structuredClone(gone.bytes, { transfer: [gone.bytes.buffer as ArrayBuffer] });
  for (const row of [gone, new ShardRow(new Uint8Array(new SharedArrayBuffer(200)))]) {
    expect(() => client.tryGet(1, row)).toThrow(expect.objectContaining(invalid));
    expect(() => client.tryPut(row)).toThrow(expect.objectContaining(invalid));
    await expect(client.put(row)).rejects.toMatchObject(invalid);
  }
  await expect(client.putMany(new Uint8Array(new SharedArrayBuffer(200)))).rejects.toMatchObject(invalid);
  const keys = Float64Array.of(1, 2);
  const answer = client.multiGet(keys);
  structuredClone(keys, { transfer: [keys.buffer] });
  expect((await answer).found).toBe(2);
  await expect(client.multiGet(keys)).rejects.toMatchObject(invalid);
  await expect(client.multiGet(new Int32Array(new SharedArrayBuffer(8)))).rejects.toMatchObject(invalid);
  await client.close();
});

describe('a population with rows of the caller', () => {
  const given = (rows: number, shards = SHARDS): ShardBatches[] =>
    Array.from({ length: shards }, (_, shard) => batchesOf(shard, shards, rows));
  let shards: PrivateShards;
  beforeAll(async () => (shards = await crossing.PrivateShards.start(SHARDS)), 120_000);
  afterAll(() => shards.stop());

  /** The code of unusable messages: a shard behind gRPC answers as for all unusable arguments. */
  const INVALID = expect.stringMatching(/^BB_INVALID_(IPC|ARGUMENT)$/);

  /** The client of shards in this process, behind gRPC, and of both. */
  async function* clients(): AsyncGenerator<ShardClient> {
    const stores = Array.from({ length: SHARDS }, () => ShardStore.inMemory());
    for (const places of [stores, shards.urls, [stores[0]!, ...shards.urls.slice(1)]]) {
      await using client = await ShardClient.connect(places);
      yield client;
    }
  }

  async function checked(client: ShardClient, rows: number): Promise<void> {
    const check = new HybridCheck('scan', rows);
    await readAll(check, client);
    check.finish(rows);
  }

  it('has exactly those, also if they come one by one', async () => {
    for await (const client of clients()) {
      await client.populateFrom(given(ROWS), { replace: true });
      await checked(client, ROWS);
      expect((await client.describe()).map(({ populated }) => populated)).toEqual([ROWS, ROWS, ROWS]);
      async function* slowly({ messages }: ShardBatches): AsyncGenerator<ArrowMessage> {
        for await (const message of messages) {
          await new Promise(setImmediate);
          yield message;
        }
      }
      const late = given(5000).map((batches) => ({ ...batches, messages: slowly(batches) }));
      await client.populateFrom(late, { replace: true });
      await checked(client, 5000);
    }
  });

  it('changes nothing if its rows break off, are others, or are refused', async () => {
    for await (const client of clients()) {
      await client.populateFrom(given(5000), { replace: true });
      const [first, ...others] = given(ROWS);
      const messages = [...(first!.messages as Iterable<ArrowMessage>)];
      const withFirst = (batches: ShardBatches) => client.populateFrom([batches, ...others], { replace: true });
      function* failing(): Generator<ArrowMessage> {
        yield messages[0]!;
        throw new RangeError('no more');
      }
      await expect(withFirst({ ...first!, messages: failing() })).rejects.toThrow('no more');
      await expect(withFirst({ ...first!, messages: messages.slice(0, -1) })).rejects.toThrow(
        errorWith(INVALID, 'broke off'),
      );
      await expect(withFirst({ ...first!, rows: 1 })).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
      const cut = messages.map(({ header, body }) => ({ header, body: body.subarray(8) }));
      await expect(withFirst({ ...first!, messages: cut })).rejects.toThrow(
        errorWith(INVALID, 'shorter than its header says'),
      );
      await expect(client.populateFrom(given(ROWS))).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
      await expect(client.populateFrom(given(ROWS, 2))).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
      const states = await client.describe();
      expect(states[0]!.populated).toBe(5000);
      await client.populateFrom(given(5000), { replace: true });
      await checked(client, 5000);
    }
  });

  it('ends with its signal while it waits for rows', async () => {
    for await (const client of clients()) {
      const controller = new AbortController();
      const never = new Promise<void>(() => {});
      async function* endless(): AsyncGenerator<ArrowMessage> {
        const [schema] = given(1)[0]!.messages as ArrowMessage[];
        yield schema!;
        await never;
      }
      const batches = Array.from({ length: SHARDS }, () => ({ rows: 1, messages: endless() }));
      const filling = client.populateFrom(batches, { replace: true, signal: controller.signal });
      const outcome = expect(filling).rejects.toMatchObject({ code: 'BB_ABORTED' });
      controller.abort();
      await outcome;
    }
  });
});

describe('clients of shards behind gRPC', () => {
  let shards: PrivateShards;
  beforeAll(async () => {
    shards = await crossing.PrivateShards.start(SHARDS);
    await using client = await ShardClient.connect(shards.urls);
    await client.populate(ROWS);
  }, 120_000);
  afterAll(() => shards.stop());

  it('reach some shards there, and one here', async () => {
    const { stores } = await filled();
    await using client = await ShardClient.connect([stores[0]!, ...shards.urls.slice(1)]);
    const sums = new RowSums();
    for (let key = 0; key < 100; key += 1) {
      const isHere = shardOf(key, SHARDS) === 0;
      expect(client.tryGet(key) === undefined).toBe(!isHere);
      sums.addPacked((await client.get(key))!.bytes);
    }
    const many = new HybridSums('multi_get');
    const keys = Int32Array.from({ length: 100 }, (_, key) => key);
    many.addFound(keys, await client.multiGet(keys));
    expect(many.checksum()).toEqual(sums.checksum());
    expect(await client.get(ROWS)).toBeNull();
    expect(client.shards).toBe(SHARDS);
  });

  it('check which shard they reach, and how long it takes', async () => {
    const swapped = [shards.urls[1]!, shards.urls[0]!, shards.urls[2]!];
    await expect(ShardClient.connect(swapped)).rejects.toThrow('give the addresses in the order of the shards');
    await using hasty = await ShardClient.connect(shards.urls, { timeoutMs: 50 });
    await expect(hasty.populate(1_000_000, { replace: true })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    await using client = await ShardClient.connect(shards.urls);
    await client.populate(ROWS, { replace: true });
  }, 60_000);

  it('in JavaScript alone agree with the addon', async () => {
    const client = await GrpcShards.connect(shards.urls);
    const row = await client.get(123);
    expect(Number(row!.key)).toBe(123);
    expect(await client.get(ROWS)).toBeNull();
    const keys = Array.from({ length: 1000 }, (_, key) => key);
    const found = (await client.multiGet(keys)).reduce((sum, { rows }) => sum + rows.byteLength / 200, 0);
    expect(found).toBe(1000);
    await expect(client.put({ ...row!, payload: new Uint8Array(1) })).rejects.toThrow(
      errorWith('BB_INVALID_ARGUMENT', /shard \d of 3 at http.*172/s),
    );
    client.close();
  });

  it('keep the hash of every value', async () => {
    await using client = await ShardClient.connect(shards.urls);
    const row = (await client.get(77))!;
    expect(row.bytes).toEqual(new Uint8Array(packedRows([77]).buffer));
  });
});
