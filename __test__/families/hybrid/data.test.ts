import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { keyHash, shardOf } from '../../../src/library/shards/shard-placing.js';
import { ShardRow } from '../../../src/library/shards/shard-row.js';
import {
  PriceSums,
  ROW_WORDS,
  RowSums,
  blankRows,
  columnsHash,
  expectedOf,
  keyOf,
  madeHash,
  packedRows,
  rowHash,
} from '../../../src/families/hybrid/data.js';
import { populationOf } from '../../../src/families/hybrid/made-batches.js';
import { BatchReader, type RowColumns } from '../../../src/clients/shard-batches.js';
import type { GrpcPiece } from '../../../src/clients/grpc-js.js';

const SHARDS = 3;

/** The batches that fill all shards. */
function* batchesOf(totalRows: number): Generator<{ columns: RowColumns; shard: number }> {
  for (let shard = 0; shard < SHARDS; shard += 1) {
    const reader = new BatchReader();
    for (const message of populationOf(shard, SHARDS, totalRows) as Generator<Partial<GrpcPiece>>) {
      const piece = { ipc_header: message.ipc_header!, ipc_body: message.ipc_body ?? Buffer.alloc(0) };
      const columns = reader.add(piece);
      if (columns !== undefined) yield { columns, shard };
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
        expect(rowHash(blankRows([key]), 0)).not.toBe(madeHash(key));
      }),
    );
  });

  it('are all there once in the batches that fill the shards', () => {
    const sums = new RowSums();
    for (const { columns, shard } of batchesOf(20_000)) {
      sums.add(columns.keys.length, columnsHash(columns));
      expect(columns.keys.every((key) => shardOf(key, SHARDS) === shard)).toBe(true);
    }
    expect(sums.checksum()).toEqual(expectedOf('scan', 1, 20_000));
  });

  it('have sums in closed form', () => {
    const [prices, found] = [new PriceSums(), new RowSums()];
    for (const { columns } of batchesOf(5000)) prices.addColumns(columns.quantities, columns.prices);
    expect(prices.checksum()).toEqual(expectedOf('aggregate.pull', 1, 5000));
    found.addPacked(packedRows(Array.from({ length: 300 }, (_, operation) => keyOf(operation, 5000))));
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
