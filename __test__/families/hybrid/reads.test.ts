import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it } from 'vitest';

import { ShardClient, ShardRow, ShardStore } from '../../../src/index.js';
import type { ArrowMessage } from '../../../src/library/shards/shard-filling.js';
import type { GrpcFound, GrpcRow } from '../../../src/clients/grpc-js.js';
import { BatchReader, type RowBatch } from '../../../src/clients/shard-batches.js';
import { ROW_WORDS, blankRows, expectedOf, packedRows } from '../../../src/families/hybrid/data.js';
import { readAll } from '../../../src/families/hybrid/input.js';
import { batchesOf } from '../../../src/families/hybrid/made-batches.js';
import { HybridCheck, HybridSums, type HybridReader } from '../../../src/families/hybrid/reads.js';

const KEYS = [11, 2, 7];
const TOTAL = 50;
const MISMATCH = expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' });

type Change = (words: Int32Array) => void;

/** Exchanges words of two rows. */
function exchange(words: Int32Array, [first, second]: readonly [number, number], from: number, to: number): void {
  const [one, other] = [first, second].map((row) => words.slice(row * ROW_WORDS + from, row * ROW_WORDS + to));
  words.set(other!, first * ROW_WORDS + from);
  words.set(one!, second * ROW_WORDS + from);
}

/** The usual ways in which the rows of answers are wrong, and whether the sum of their hashes is another one. */
const WRONG: readonly (readonly [string, Change, boolean])[] = [
  ['two replies are exchanged', (words) => exchange(words, [0, 2], 0, ROW_WORDS), false],
  ['two rows exchange a column', (words) => exchange(words, [0, 1], 3, 5), true],
  ['two rows exchange their payloads', (words) => exchange(words, [0, 1], 7, ROW_WORDS), true],
  ['a row comes twice and another is missing', (words) => words.copyWithin(ROW_WORDS, 0, ROW_WORDS), true],
  ['a row is stale', (words) => words.set(blankRows([KEYS[1]!]), ROW_WORDS), true],
  ['a payload ends early', (words) => words.fill(0, words.length - 1), true],
];

function changed(change: Change, keys: readonly number[] = KEYS): Int32Array {
  const words = packedRows(keys);
  change(words);
  return words;
}

/** The bytes of packed rows, which begin at no multiple of four. */
function misaligned(words: Int32Array): Uint8Array {
  const message = new Uint8Array(words.byteLength + 1);
  message.set(new Uint8Array(words.buffer), 1);
  return message.subarray(1);
}

function rowAt(words: Int32Array, row: number): Int32Array {
  return words.slice(row * ROW_WORDS, (row + 1) * ROW_WORDS);
}

function messageOf(words: Int32Array): GrpcRow {
  const { key, quantity, price, updatedAt, payload } = new ShardRow(new Uint8Array(words.buffer));
  return { key: Number(key), quantity, price, updated_at: Number(updatedAt), payload };
}

/** Each way in which the rows of keys are read. */
const BY_KEY: Readonly<Record<string, (reader: HybridReader, words: Int32Array) => void | Promise<void>>> = {
  'one by one': (reader, words) => KEYS.forEach((key, row) => reader.addRow(key, rowAt(words, row))),
  'as messages': (reader, words) => KEYS.forEach((key, row) => reader.addMessage(key, messageOf(rowAt(words, row)))),
  packed: (reader, words) => reader.addPacked({ keys: KEYS, found: Uint8Array.of(0b111), rows: misaligned(words) }),
  'as columns': async (reader, words) => {
    // Stored under the keys that are asked for, with the values that a wrong answer has.
    await using client = await ShardClient.connect([ShardStore.inMemory()]);
    const stored = words.slice();
    KEYS.forEach((key, row) => (stored[row * ROW_WORDS] = key));
    await client.putMany(new Uint8Array(stored.buffer));
    reader.addFound(KEYS, await client.multiGet(Int32Array.from(KEYS)));
  },
};

describe('the check of rows by their keys', () => {
  for (const [way, read] of Object.entries(BY_KEY)) {
    it(`takes right rows ${way}, and finds each wrong one`, async () => {
      const right = new HybridCheck('multi_get', TOTAL);
      await read(right, packedRows(KEYS));
      right.finish(KEYS.length);
      expect(() => right.finish(KEYS.length + 1)).toThrow(MISMATCH);
      for (const [name, change] of WRONG) {
        const wrong = async (): Promise<void> => read(new HybridCheck('multi_get', TOTAL), changed(change));
        await expect(wrong(), name).rejects.toEqual(MISMATCH);
      }
    });
  }

  it('finds what sums do not show', () => {
    for (const [name, change, isInSums] of WRONG) {
      const sums = new HybridSums('multi_get');
      void BY_KEY['packed']!(sums, changed(change));
      const right = new HybridSums('multi_get');
      void BY_KEY['packed']!(right, packedRows(KEYS));
      expect(isDeepStrictEqual(sums.checksum(), right.checksum()), name).toBe(!isInSums);
    }
  });

  it('finds rows that are missing, or not as many as are found', async () => {
    const rows = misaligned(packedRows(KEYS));
    const check = (found: Partial<GrpcFound>) => () =>
      new HybridCheck('multi_get', TOTAL).addPacked({ keys: KEYS, found: Uint8Array.of(0b111), rows, ...found });
    expect(check({})).not.toThrow();
    for (const found of [
      { rows: rows.subarray(0, -1) },
      { rows: rows.subarray(0, 400) },
      { found: Uint8Array.of(0b011) },
      { found: Uint8Array.of(0b011), rows: rows.subarray(0, 400) },
      { keys: KEYS.slice(1), found: Uint8Array.of(0b11) },
    ]) {
      expect(check(found)).toThrow(MISMATCH);
    }
    const one = messageOf(packedRows([11]));
    const message = (row: GrpcRow | null) => () => new HybridCheck('point_lookup', TOTAL).addMessage(11, row);
    expect(message(one)).not.toThrow();
    expect(message(null)).toThrow(MISMATCH);
    expect(message({ ...one, payload: one.payload.subarray(1) })).toThrow(MISMATCH);
    await using client = await ShardClient.connect([ShardStore.inMemory()]);
    await client.populate(10);
    const none = await client.multiGet(Int32Array.from(KEYS));
    expect(() => new HybridCheck('multi_get', TOTAL).addFound(KEYS, none)).toThrow(MISMATCH);
  });
});

/** The rows of one shard as a batch of a message, after a change of the bytes of its body. */
function batchOf(change: (body: Buffer, batch: RowBatch) => void = () => {}, rows = TOTAL): RowBatch {
  const reader = new BatchReader();
  let batch: RowBatch | undefined;
  for (const { header, body } of batchesOf(0, 1, rows).messages as Iterable<ArrowMessage>) {
    batch = reader.add({ ipc_header: Buffer.from(header), ipc_body: Buffer.from(body) }) ?? batch;
  }
  const { body } = batch!;
  change(Buffer.from(body.buffer, body.byteOffset, body.byteLength), batch!);
  return batch!;
}

/** Exchanges values of two rows in a column of a batch. */
function exchangeIn(column: number, width: number) {
  return (body: Buffer, { columns }: RowBatch): void => {
    const [start, held] = [columns[column]!, Buffer.from(body.subarray(columns[column]!, columns[column]! + width))];
    body.copy(body, start, start + width, start + 2 * width);
    held.copy(body, start + width);
  };
}

describe('the check of scans', () => {
  const scan = (batch: RowBatch) => (): void => {
    const check = new HybridCheck('scan', TOTAL);
    check.addBatch(batch);
    check.finish(TOTAL);
  };

  it('takes each row once, and finds each that is wrong', () => {
    expect(scan(batchOf())).not.toThrow();
    const widths = [8, 4, 8, 8, 172];
    for (const [column, width] of widths.entries()) expect(scan(batchOf(exchangeIn(column, width)))).toThrow(MISMATCH);
    expect(scan({ ...batchOf(), rows: TOTAL - 1 })).toThrow(MISMATCH);
    expect(scan(batchOf(() => {}, TOTAL + 1))).toThrow(MISMATCH);
    const twice = batchOf((body, { columns }) => {
      for (const [column, width] of widths.entries())
        body.copy(body, columns[column]!, columns[column]! + width, columns[column]! + 2 * width);
    });
    expect(scan(twice)).toThrow(MISMATCH);
  });

  it('finds the same in chunks of the addon', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
    await client.populate(TOTAL);
    const check = async (): Promise<void> => {
      const each = new HybridCheck('populate', TOTAL);
      await readAll(each, client);
      each.finish(TOTAL);
    };
    await check();
    const stale = blankRows([3]);
    await client.putMany(new Uint8Array(stale.buffer));
    await expect(check()).rejects.toEqual(MISMATCH);
    await client.putMany(new Uint8Array(packedRows([3]).buffer));
    await check();
    await client.putMany(new Uint8Array(packedRows([TOTAL]).buffer));
    await expect(check()).rejects.toEqual(MISMATCH);
  });

  it('needs the schema and whole bodies', () => {
    const [schema, message] = [...(batchesOf(0, 1, TOTAL).messages as Iterable<ArrowMessage>)];
    const reader = new BatchReader();
    const add = ({ header, body }: ArrowMessage) =>
      reader.add({ ipc_header: Buffer.from(header), ipc_body: Buffer.from(body) });
    expect(add(schema!)).toBeUndefined();
    expect(add(message!)!.rows).toBe(TOTAL);
    expect(() => add({ ...message!, body: message!.body.subarray(0, -8) })).toThrow('only read');
  });
});

describe('the check of aggregates', () => {
  it('is exact even if sums have a tolerance', () => {
    const { rows, sums } = expectedOf('aggregate.pull', 1, TOTAL);
    const [price, min, max] = [sums['price'], sums['min'], sums['max']] as [number, number, number];
    const finished =
      (...prices: Parameters<HybridReader['addPrices']>) =>
      (): void => {
        const check = new HybridCheck('aggregate.push_down', TOTAL);
        check.addPrices(...prices);
        check.finish(TOTAL);
      };
    expect(finished(rows, price, min, max)).not.toThrow();
    expect(finished(rows, price * (1 + Number.EPSILON), min, max)).toThrow(MISMATCH);
    expect(finished(rows + 1, price, min, max)).toThrow(MISMATCH);
    expect(finished(rows, price, min - 0.25, max)).toThrow(MISMATCH);
    expect(finished(rows, price, min, max + 0.25)).toThrow(MISMATCH);
    const pulled = new HybridCheck('aggregate.pull', TOTAL);
    pulled.addPricesOf(batchOf());
    pulled.finish(TOTAL);
    const wrong = new HybridCheck('aggregate.pull', TOTAL);
    wrong.addPricesOf(batchOf((body, { columns }) => body.writeInt32LE(99, columns[1])));
    expect(() => wrong.finish(TOTAL), 'a row that should not count').toThrow(MISMATCH);
  });
});
