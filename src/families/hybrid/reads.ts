/** The work of a cell on the rows that its requests read: samples add them up, the check compares each. */
import { checksumMismatch } from '../../errors.js';
import type { ColumnarChunk } from '../../library/engine/columnar-chunk.js';
import { PAYLOAD_BYTES, ROW_BYTES, ShardRow } from '../../library/shards/shard-row.js';
import type { ShardRows } from '../../library/shards/shard-rows.js';
import type { Checksum } from '../../records/record.js';
import type { GrpcFound, GrpcRow } from '../../clients/grpc-js.js';
import type { RowBatch, RowColumns } from '../../clients/shard-batches.js';
import {
  PriceSums,
  ROW_WORDS,
  RowSums,
  batchHash,
  columnsHash,
  expectedOf,
  isAggregate,
  isOfAll,
  messageHash,
  rowHash,
  writeRow,
} from './data.js';

/** Takes what requests read, each answer with the keys that it answers. */
export interface HybridReader {
  /** Takes the row of a key, in the first words; null if it has none. */
  addRow(key: number, words: Int32Array | null): void;
  /** Takes the row of a key as its message; null if it has none. */
  addMessage(key: number, row: GrpcRow | null): void;
  /** Takes the rows of keys, in their order, and releases them. */
  addFound(keys: ArrayLike<number>, rows: ShardRows): void;
  /** Takes the packed rows of keys, as a shard returns them. */
  addPacked(found: GrpcFound): void;
  /** Takes rows of a scan, and releases them. */
  addChunk(chunk: ColumnarChunk): void;
  /** Takes rows of a scan, as they lie in their message. */
  addBatch(batch: RowBatch): void;
  /** Takes an aggregate. */
  addPrices(count: number, sum: number, min: number, max: number): void;
  /** Takes rows that are aggregated here. */
  addPricesOf(batch: RowBatch): void;
}

/** The columns of rows of shards. */
export function columnsOf(chunk: ColumnarChunk): RowColumns {
  return {
    keys: chunk.column(0),
    quantities: chunk.column(1),
    prices: chunk.column(2),
    updatedAt: chunk.column(3),
    payloads: chunk.column(4),
  };
}

/** The sums of what was read since a sample began. */
export class HybridSums implements HybridReader {
  readonly #workload: string;
  readonly #rows = new RowSums();
  readonly #prices = new PriceSums();

  constructor(workload: string) {
    this.#workload = workload;
  }

  addRow(_key: number, words: Int32Array | null): void {
    if (words !== null) this.#rows.add(1, rowHash(words, 0));
  }

  addMessage(_key: number, row: GrpcRow | null): void {
    if (row !== null) this.#rows.add(1, messageHash(row));
  }

  /** If a row is missing, the sum is wrong, even if all other rows are right. */
  addFound(_keys: ArrayLike<number>, rows: ShardRows): void {
    rows.assertAll();
    const { found, length, chunk } = rows;
    this.#rows.add(found, found === length ? columnsHash(columnsOf(chunk)) : 0);
    rows.release();
  }

  addPacked({ rows }: GrpcFound): void {
    this.#rows.addPacked(rows);
  }

  addChunk(chunk: ColumnarChunk): void {
    this.#rows.add(chunk.rowCount, columnsHash(columnsOf(chunk)));
    chunk.release();
  }

  addBatch(batch: RowBatch): void {
    this.#rows.add(batch.rows, batchHash(batch));
  }

  addPrices(count: number, sum: number, min: number, max: number): void {
    this.#prices.add(count, sum, min, max);
  }

  addPricesOf(batch: RowBatch): void {
    this.#prices.addBatch(batch);
  }

  checksum(): Checksum {
    return (isAggregate(this.#workload) ? this.#prices : this.#rows).checksum();
  }
}

/** Checks each row by itself: sums do not show that two answers were exchanged. */
export class HybridCheck implements HybridReader {
  readonly #workload: string;
  readonly #totalRows: number;
  /** For work on all rows: 1 for each key whose row came. */
  readonly #seen: Uint8Array;
  readonly #prices = new PriceSums();
  readonly #row = new Int32Array(ROW_WORDS);
  readonly #expected = new Int32Array(ROW_WORDS);
  #read = 0;

  constructor(workload: string, totalRows: number) {
    this.#workload = workload;
    this.#totalRows = totalRows;
    this.#seen = new Uint8Array(isOfAll(workload) && !isAggregate(workload) ? totalRows : 0);
  }

  addRow(key: number, words: Int32Array | null): void {
    if (words === null) throw checksumMismatch(`the row of the key ${key} is missing`);
    writeRow(this.#expected, 0, key);
    const wrong = this.#expected.findIndex((word, place) => words[place] !== word);
    if (wrong >= 0) {
      throw checksumMismatch(`the row that was read for the key ${key} is wrong from its byte ${wrong * 4} on`);
    }
    this.#read += 1;
  }

  addMessage(key: number, row: GrpcRow | null): void {
    if (row === null) return this.addRow(key, null);
    const { key: own, quantity, price, updated_at: updatedAt, payload } = row;
    if (payload.byteLength !== PAYLOAD_BYTES) {
      throw checksumMismatch(`the payload of the key ${key} has ${payload.byteLength} bytes`);
    }
    this.#row.set(wordsOf(ShardRow.of({ key: own, quantity, price, updatedAt, payload }).bytes));
    this.addRow(key, this.#row);
  }

  addFound(keys: ArrayLike<number>, rows: ShardRows): void {
    rows.assertAll();
    if (rows.found !== keys.length) throw checksumMismatch(`${rows.found} rows are found of ${keys.length}`);
    const columns = columnsOf(rows.chunk);
    for (let row = 0; row < keys.length; row += 1) this.addRow(keys[row]!, this.#ofColumns(columns, row));
    rows.release();
  }

  addPacked({ keys, found, rows }: GrpcFound): void {
    if (rows.byteLength % ROW_BYTES !== 0) throw checksumMismatch(`${rows.byteLength} bytes are no whole rows`);
    let at = 0;
    for (const [index, key] of keys.entries()) {
      const isFound = (found[index >> 3]! & (1 << (index & 7))) !== 0 && at < rows.byteLength;
      this.addRow(key, isFound ? wordsOf(rows.subarray(at, at + ROW_BYTES)) : null);
      at += ROW_BYTES;
    }
    if (at !== rows.byteLength) throw checksumMismatch(`${rows.byteLength} bytes of rows answer ${keys.length} keys`);
  }

  addChunk(chunk: ColumnarChunk): void {
    const columns = columnsOf(chunk);
    for (let row = 0; row < chunk.rowCount; row += 1) this.#addScanned(this.#ofColumns(columns, row));
    chunk.release();
  }

  addBatch({ rows, body, columns }: RowBatch): void {
    const widths = [2, 1, 2, 2, PAYLOAD_BYTES / 4];
    for (let row = 0; row < rows; row += 1) {
      let place = 0;
      for (const [index, start] of columns.entries()) {
        const width = widths[index]!;
        for (let word = 0; word < width; word += 1, place += 1) {
          this.#row[place] = body.getInt32(start + (row * width + word) * 4, true);
        }
      }
      this.#addScanned(this.#row);
    }
  }

  addPrices(count: number, sum: number, min: number, max: number): void {
    this.#prices.add(count, sum, min, max);
  }

  addPricesOf(batch: RowBatch): void {
    this.#prices.addBatch(batch);
  }

  /** Ends the check of `operations` reads: each must have come, and an aggregate must be exact. */
  finish(operations: number): void {
    if (isAggregate(this.#workload)) return this.#finishAggregate();
    const missing = this.#seen.indexOf(0);
    if (missing >= 0) throw checksumMismatch(`the row of the key ${missing} is missing`);
    if (this.#read !== operations) throw checksumMismatch(`${this.#read} of ${operations} rows were read`);
  }

  /** Prices are quarters, so that their sum is exact in any order. */
  #finishAggregate(): void {
    const [found, expected] = [this.#prices.checksum(), expectedOf(this.#workload, 1, this.#totalRows)];
    const isExact =
      found.rows === expected.rows && Object.entries(expected.sums).every(([name, sum]) => found.sums[name] === sum);
    if (!isExact) {
      throw checksumMismatch(`the aggregate is ${JSON.stringify(found)}, and should be ${JSON.stringify(expected)}`);
    }
  }

  #addScanned(words: Int32Array): void {
    const key = words[1]! * 2 ** 32 + (words[0]! >>> 0);
    if (!(key >= 0 && key < this.#seen.length)) throw checksumMismatch(`there should be no row of the key ${key}`);
    if (this.#seen[key] === 1) throw checksumMismatch(`the row of the key ${key} came twice`);
    this.#seen[key] = 1;
    this.addRow(key, words);
  }

  /** The words of one row of columns, valid until the next call. */
  #ofColumns({ keys, quantities, prices, updatedAt, payloads }: RowColumns, row: number): Int32Array {
    const payload = payloads.subarray(row * PAYLOAD_BYTES, (row + 1) * PAYLOAD_BYTES);
    const values = { key: keys[row]!, quantity: quantities[row]!, price: prices[row]!, updatedAt: updatedAt[row]! };
    const bytes = new ShardRow(new Uint8Array(this.#row.buffer)).set({ ...values, payload }).bytes;
    return wordsOf(bytes);
  }
}

/** The words of a packed row, in memory of their own if it begins at no multiple of four. */
export function wordsOf(bytes: Uint8Array): Int32Array {
  // A slice of a Buffer would share its memory.
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Int32Array(aligned.buffer, aligned.byteOffset, ROW_WORDS);
}
