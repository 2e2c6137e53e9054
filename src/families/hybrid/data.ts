/**
 * The rows, requests and expected results of the family, all by formula, as `proto/boundary_bench/shards/v1/shards.proto` and
 * `native/suite/src/hybrid/data.rs` have it.
 */
import { PAYLOAD_BYTES, ROW_BYTES } from '../../library/shards/shard-row.js';
import { keyHash, mix } from '../../library/shards/shard-placing.js';
import type { Checksum } from '../../records/record.js';
import type { GrpcRow } from '../../clients/grpc-js.js';
import type { RowBatch, RowColumns } from '../../clients/shard-batches.js';
import { familyMatrix } from '../matrix.js';
import type { RequestMatrix, RequestWorkload } from '../requests/grid.js';

/**
 * How the shards of a cell are reached: all in this process, all by gRPC, or the first in this process and the others by gRPC.
 */
export type Setting = 'direct' | 'grpc' | 'hybrid';

export interface HybridWorkload extends RequestWorkload {
  /** Whether the workload covers all rows: a sample is then one request. */
  readonly isOfAll?: boolean;
}

export interface HybridMatrix extends RequestMatrix<HybridWorkload> {
  /** The number of rows at scale 1. `scale` is the default scale. */
  readonly rowsAtScale1: number;
  readonly scale: number;
  readonly shards: number;
  /** The factor of operations per sample for direct shards, whose operations take very little time. */
  readonly directTimesOperations: number;
  /** The least quantity of the rows whose prices are aggregated. */
  readonly leastQuantity: number;
  /** The keys of one call of untimed work. */
  readonly keysAtOnce: number;
  /** The number of rows that are overwritten before all rows are filled again, so that a missing refill is detected. */
  readonly changedRows: number;
}

export const HYBRID_MATRIX = familyMatrix<HybridMatrix>('hybrid');

/** The 32-bit words of a row, of its payload, and of the values before the payload. */
export const ROW_WORDS = ROW_BYTES / 4;
export const PAYLOAD_WORDS = PAYLOAD_BYTES / 4;
export const HEAD_WORDS = ROW_WORDS - PAYLOAD_WORDS;

const SEED = 0x5eed5eed;
const WORD_STEP = 0x9e3779b1;
const EPOCH = 1_700_000_000_000_000;
const WORD = 2 ** 32;

const priceWords = new Int32Array(2);
const priceValue = new Float64Array(priceWords.buffer);

/** The key of an operation, spread over all keys. */
export function keyOf(operation: number, totalRows: number): number {
  return keyHash(operation) % totalRows;
}

function baseOf(key: number): number {
  return mix((keyHash(key) + SEED) | 0) >>> 0;
}

/** The quantity of a generated row. */
function quantityOf(base: number): number {
  return base % 100;
}

/** The price of a generated row. */
function priceOf(base: number): number {
  return ((base >>> 8) % 40_000) * 0.25;
}

/** Writes the generated row of a key into 50 words from `at` on. */
export function writeRow(words: Int32Array, at: number, key: number): void {
  const base = baseOf(key);
  const updatedAt = EPOCH + key * 1000;
  priceValue[0] = priceOf(base);
  words[at] = key | 0;
  words[at + 1] = Math.floor(key / WORD) | 0;
  words[at + 2] = quantityOf(base);
  words[at + 3] = priceWords[0]!;
  words[at + 4] = priceWords[1]!;
  words[at + 5] = (updatedAt % WORD) | 0;
  words[at + 6] = Math.floor(updatedAt / WORD) | 0;
  let word = base | 0;
  for (let place = at + HEAD_WORDS; place < at + ROW_WORDS; place += 1) {
    words[place] = word;
    word = (word + WORD_STEP) | 0;
  }
}

/** The packed rows of keys. */
export function packedRows(keys: readonly number[]): Int32Array {
  const words = new Int32Array(keys.length * ROW_WORDS);
  for (const [index, key] of keys.entries()) writeRow(words, index * ROW_WORDS, key);
  return words;
}

/** Rows written before a sample of writes instead of the expected rows. Their hashes differ. */
export function blankRows(keys: readonly number[]): Int32Array {
  const words = packedRows(keys);
  for (let at = 2; at < words.length; at += ROW_WORDS) words[at] = -1;
  return words;
}

/**
 * The sum of `count` words from `at` on, times the odd numbers from `weight` on. Unrolled by eight, since V8 unrolls no loops.
 */
function weightedSum(words: Int32Array, at: number, count: number, weight: number): number {
  const end = at + count;
  let sum = 0;
  for (; at + 8 <= end; at += 8, weight += 16) {
    sum = (sum + Math.imul(words[at]!, weight)) | 0;
    sum = (sum + Math.imul(words[at + 1]!, weight + 2)) | 0;
    sum = (sum + Math.imul(words[at + 2]!, weight + 4)) | 0;
    sum = (sum + Math.imul(words[at + 3]!, weight + 6)) | 0;
    sum = (sum + Math.imul(words[at + 4]!, weight + 8)) | 0;
    sum = (sum + Math.imul(words[at + 5]!, weight + 10)) | 0;
    sum = (sum + Math.imul(words[at + 6]!, weight + 12)) | 0;
    sum = (sum + Math.imul(words[at + 7]!, weight + 14)) | 0;
  }
  for (; at < end; at += 1, weight += 2) sum = (sum + Math.imul(words[at]!, weight)) | 0;
  return sum;
}

/** The same sum over the words from the byte `at` on, which may be any: what arrives in a message is at no multiple of four. */
function weightedSumAt(view: DataView, at: number, count: number, weight: number): number {
  const end = at + count * 4;
  let sum = 0;
  for (; at + 32 <= end; at += 32, weight += 16) {
    sum = (sum + Math.imul(view.getInt32(at, true), weight)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 4, true), weight + 2)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 8, true), weight + 4)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 12, true), weight + 6)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 16, true), weight + 8)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 20, true), weight + 10)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 24, true), weight + 12)) | 0;
    sum = (sum + Math.imul(view.getInt32(at + 28, true), weight + 14)) | 0;
  }
  for (; at < end; at += 4, weight += 2) sum = (sum + Math.imul(view.getInt32(at, true), weight)) | 0;
  return sum;
}

/** The weight of the first word of a payload. */
const PAYLOAD_WEIGHT = 2 * HEAD_WORDS + 1;

/** The hash of the row in 50 words from `at` on. */
export function rowHash(words: Int32Array, at: number): number {
  return mix(weightedSum(words, at, ROW_WORDS, 1));
}

/** The sum of the weights of the payload's words, and the sum of each weight times its word's number. */
const [WEIGHTS, STEPS] = payloadWeights();

function payloadWeights(): [number, number] {
  let [weights, steps] = [0, 0];
  for (let word = 0; word < PAYLOAD_WORDS; word += 1) {
    const weight = 2 * (word + HEAD_WORDS) + 1;
    weights += weight;
    steps += weight * word;
  }
  return [weights, steps];
}

/** The weighted sum of the words before the payload. */
function headSum(key: number, quantity: number, price: number, updatedAt: number): number {
  priceValue[0] = price;
  return (
    ((key | 0) +
      Math.imul(Math.floor(key / WORD) | 0, 3) +
      Math.imul(quantity, 5) +
      Math.imul(priceWords[0]!, 7) +
      Math.imul(priceWords[1]!, 9) +
      Math.imul((updatedAt % WORD) | 0, 11) +
      Math.imul(Math.floor(updatedAt / WORD) | 0, 13)) |
    0
  );
}

/** The hash of the generated row of a key, without generating it. */
export function madeHash(key: number): number {
  const base = baseOf(key);
  const payload = Math.imul(base, WEIGHTS) + Math.imul(WORD_STEP, STEPS);
  return mix((headSum(key, quantityOf(base), priceOf(base), EPOCH + key * 1000) + payload) | 0);
}

/** The hash of a row in the form of its message, whose payload is read where it lies. */
export function messageHash({ key, quantity, price, updated_at: updatedAt, payload }: GrpcRow): number {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return mix((headSum(key, quantity, price, updatedAt) + weightedSumAt(view, 0, PAYLOAD_WORDS, PAYLOAD_WEIGHT)) | 0);
}

/** The sum of the hashes of rows, which reads every value. The columns must begin at multiples of their values' widths. */
export function columnsHash({ keys, quantities, prices, updatedAt, payloads }: RowColumns): number {
  const rows = keys.length;
  const keyWords = new Int32Array(keys.buffer, keys.byteOffset, rows * 2);
  const priceColumn = new Int32Array(prices.buffer, prices.byteOffset, rows * 2);
  const timeWords = new Int32Array(updatedAt.buffer, updatedAt.byteOffset, rows * 2);
  const payloadColumn = new Int32Array(payloads.buffer, payloads.byteOffset, rows * PAYLOAD_WORDS);
  let hashes = 0;
  for (let row = 0; row < rows; row += 1) {
    const pair = row * 2;
    const head =
      (keyWords[pair]! +
        Math.imul(keyWords[pair + 1]!, 3) +
        Math.imul(quantities[row]!, 5) +
        Math.imul(priceColumn[pair]!, 7) +
        Math.imul(priceColumn[pair + 1]!, 9) +
        Math.imul(timeWords[pair]!, 11) +
        Math.imul(timeWords[pair + 1]!, 13)) |
      0;
    const payload = weightedSum(payloadColumn, row * PAYLOAD_WORDS, PAYLOAD_WORDS, PAYLOAD_WEIGHT);
    hashes = (hashes + mix((head + payload) | 0)) | 0;
  }
  return hashes;
}

/** The same sum, of the rows of a message where they lie. */
export function batchHash({ rows, body, columns }: RowBatch): number {
  const [keys, quantities, prices, updatedAt, payloads] = columns;
  let hashes = 0;
  for (let row = 0; row < rows; row += 1) {
    const wide = row * 8;
    const head =
      (body.getInt32(keys + wide, true) +
        Math.imul(body.getInt32(keys + wide + 4, true), 3) +
        Math.imul(body.getInt32(quantities + row * 4, true), 5) +
        Math.imul(body.getInt32(prices + wide, true), 7) +
        Math.imul(body.getInt32(prices + wide + 4, true), 9) +
        Math.imul(body.getInt32(updatedAt + wide, true), 11) +
        Math.imul(body.getInt32(updatedAt + wide + 4, true), 13)) |
      0;
    const payload = weightedSumAt(body, payloads + row * PAYLOAD_BYTES, PAYLOAD_WORDS, PAYLOAD_WEIGHT);
    hashes = (hashes + mix((head + payload) | 0)) | 0;
  }
  return hashes;
}

/** The number of rows and the sum of their hashes. */
export class RowSums {
  #rows = 0;
  #hash = 0;

  add(rows: number, hash: number): void {
    this.#rows += rows;
    this.#hash = (this.#hash + hash) | 0;
  }

  /** Adds packed rows, which may begin at any byte. */
  addPacked(packed: Uint8Array): void {
    const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    for (let at = 0; at + ROW_BYTES <= packed.byteLength; at += ROW_BYTES) {
      this.add(1, mix(weightedSumAt(view, at, ROW_WORDS, 1)));
    }
  }

  checksum(): Checksum {
    return { rows: this.#rows, sums: { hash: String(this.#hash >>> 0) } };
  }
}

/** The number of prices, their sum, and the smallest and largest price. */
export class PriceSums {
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  add(count: number, sum: number, min: number, max: number): void {
    this.#count += count;
    this.#sum += sum;
    if (min < this.#min) this.#min = min;
    if (max > this.#max) this.#max = max;
  }

  /** Adds the rows of a message that pass the filter. */
  addBatch({ rows, body, columns }: RowBatch): void {
    const { leastQuantity } = HYBRID_MATRIX;
    const [, quantities, prices] = columns;
    let [count, sum, min, max] = [0, 0, Infinity, -Infinity];
    for (let row = 0; row < rows; row += 1) {
      if (body.getInt32(quantities + row * 4, true) < leastQuantity) continue;
      const price = body.getFloat64(prices + row * 8, true);
      count += 1;
      sum += price;
      if (price < min) min = price;
      if (price > max) max = price;
    }
    this.add(count, sum, min, max);
  }

  checksum(): Checksum {
    const isEmpty = this.#count === 0;
    const sums = { price: this.#sum, min: isEmpty ? 0 : this.#min, max: isEmpty ? 0 : this.#max };
    return { rows: this.#count, sums };
  }
}

/** The checksum that a sample of a workload must return. */
export function expectedOf(workload: string, operations: number, totalRows: number): Checksum {
  if (isAggregate(workload)) {
    const sums = new PriceSums();
    for (let key = 0; key < totalRows; key += 1) {
      const base = baseOf(key);
      const price = priceOf(base);
      if (quantityOf(base) >= HYBRID_MATRIX.leastQuantity) sums.add(1, price, price, price);
    }
    return sums.checksum();
  }
  const sums = new RowSums();
  if (isOfAll(workload)) for (let key = 0; key < totalRows; key += 1) sums.add(1, madeHash(key));
  else for (let index = 0; index < operations; index += 1) sums.add(1, madeHash(keyOf(index, totalRows)));
  return sums.checksum();
}

export function isOfAll(workload: string): boolean {
  return HYBRID_MATRIX.workloads[workload]?.isOfAll === true;
}

export function isAggregate(workload: string): boolean {
  return workload.startsWith('aggregate.');
}
