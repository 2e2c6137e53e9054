import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { keyHash, shardOf } from '../../../src/library/shards/shard-placing.js';
import { ShardRow } from '../../../src/library/shards/shard-row.js';
import {
  PriceSums,
  ROW_WORDS,
  RowSums,
  blankRows,
  batchHash,
  expectedOf,
  keyOf,
  madeHash,
  messageHash,
  packedRows,
  rowHash,
} from '../../../src/families/hybrid/data.js';
import { batchesOf } from '../../../src/families/hybrid/made-batches.js';
import type { ArrowMessage } from '../../../src/library/shards/shard-filling.js';
import { BatchReader, type RowBatch } from '../../../src/clients/shard-batches.js';

const SHARDS = 3;

/** The batches that fill all shards, whose bodies begin at a byte as they do in a message of gRPC. */
function* batches(totalRows: number): Generator<{ batch: RowBatch; shard: number }> {
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const reader = new BatchReader();
    for (const { header, body } of batchesOf(shard, SHARDS, totalRows).messages as Iterable<ArrowMessage>) {
      const message = Buffer.alloc(body.byteLength + 3);
      message.set(body, 3);
      const batch = reader.add({ ipc_header: Buffer.from(header), ipc_body: message.subarray(3) });
      if (batch !== undefined) yield { batch, shard };
    }
  }
}

describe('the rows of hybrid', () => {
  it('have the hashes and shards that Rust computes', () => {
    // The same numbers are in `native/clients/shards/src/placing.rs`.
    expect([0, 1, 2, 3, -1, 2n ** 63n - 1n, 2 ** 32].map(keyHash)).toEqual([
      2_856_213_345, 1_863_002_342, 577_680_360, 3_888_307_089, 478_346_618, 3_842_498_966, 2_571_226_413,
    ]);
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 1, max: 100 }), (key, shards) => {
        expect(keyHash(BigInt(key))).toBe(keyHash(key));
        expect(shardOf(key, shards)).toBe(Number((BigInt(keyHash(key)) * BigInt(shards)) >> 32n));
      }),
    );
  });

  it('are made as the proto says', () => {
    // The same numbers are in `native/clients/shards/src/row.rs`.
    const words = packedRows([12_345]);
    const row = new ShardRow(new Uint8Array(words.buffer));
    expect([row.key, row.quantity, row.price, row.updatedAt]).toEqual([12_345n, 47, 6017.75, 1_700_000_012_345_000n]);
    expect([words[7]! >>> 0, rowHash(words, 0) >>> 0]).toEqual([2_852_882_247, 2_933_292_185]);
    fc.assert(
      fc.property(fc.nat({ max: 75_000_000 }), (key) => {
        expect(madeHash(key)).toBe(rowHash(packedRows([key]), 0));
        const { quantity, price, updatedAt, payload } = new ShardRow(new Uint8Array(packedRows([key]).buffer));
        const message = { key, quantity, price, updated_at: Number(updatedAt), payload };
        expect(messageHash(message)).toBe(madeHash(key));
        expect(rowHash(blankRows([key]), 0)).not.toBe(madeHash(key));
      }),
    );
  });

  it('are all there once in the batches that fill the shards', () => {
    const sums = new RowSums();
    for (const { batch, shard } of batches(20_000)) {
      sums.add(batch.rows, batchHash(batch));
      const keys = Array.from({ length: batch.rows }, (_, row) => batch.body.getBigInt64(row * 8, true));
      expect(keys.every((key) => shardOf(key, SHARDS) === shard)).toBe(true);
    }
    expect(sums.checksum()).toEqual(expectedOf('scan', 1, 20_000));
  });

  it('have sums in closed form', () => {
    const [prices, found] = [new PriceSums(), new RowSums()];
    for (const { batch } of batches(5000)) prices.addBatch(batch);
    expect(prices.checksum()).toEqual(expectedOf('aggregate.pull', 1, 5000));
    const rows = packedRows(Array.from({ length: 300 }, (_, operation) => keyOf(operation, 5000)));
    const message = new Uint8Array(rows.byteLength + 1);
    message.set(new Uint8Array(rows.buffer), 1);
    found.addPacked(message.subarray(1));
    expect(found.checksum()).toEqual(expectedOf('point_lookup', 300, 5000));
    expect(new PriceSums().checksum()).toEqual({ rows: 0, sums: { price: 0, min: 0, max: 0 } });
  });
});

describe('a row', () => {
  it('gives back what it was made of', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int64, fc.integer(), fc.double(), int64, fc.uint8Array({ maxLength: 172 }), (...values) => {
        const [key, quantity, price, updatedAt, payload] = values;
        const row = ShardRow.of({ key, quantity, price, updatedAt, payload }).copy();
        expect([row.key, row.quantity, row.price, row.updatedAt]).toEqual([key, quantity, price, updatedAt]);
        expect([...row.payload]).toEqual([...payload, ...new Uint8Array(172 - payload.length)]);
        expect(row.bytes.byteLength).toBe(ROW_WORDS * 4);
      }),
    );
  });

  it('refuses other sizes', () => {
    expect(() => new ShardRow(new Uint8Array(199))).toThrow('200 bytes');
    const values = { key: 1, quantity: 1, price: 1, updatedAt: 1, payload: new Uint8Array(173) };
    expect(() => ShardRow.of(values)).toThrow('172 bytes');
  });
});
