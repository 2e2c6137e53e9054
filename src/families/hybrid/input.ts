import { abortedBy } from '../../library/crossing/cancellation.js';
import type { ColumnarChunk } from '../../library/engine/columnar-chunk.js';
import type { ShardClient } from '../../library/shards/shard-client.js';
import { ROW_BYTES, ShardRow } from '../../library/shards/shard-row.js';
import type { ShardRows } from '../../library/shards/shard-rows.js';
import type { Cell } from '../../records/record.js';
import type { RowColumns } from '../../clients/shard-batches.js';
import { HYBRID_MATRIX, RowSums, blankRows, columnsHash, isOfAll, keyOf, packedRows } from './data.js';

const { keysAtOnce: KEYS_AT_ONCE, changedRows: CHANGED_ROWS } = HYBRID_MATRIX;

/** The keys and rows of a cell, and the untimed work on them. Made in advance, since making the input is not measured. */
export class HybridInput {
  readonly totalRows: number;
  readonly keys: readonly number[];
  /** `keys` in the form in which they cross. */
  readonly keyArray: Float64Array;
  /** The packed rows of a workload that writes. */
  readonly packed: Uint8Array;
  /** The rows of a workload of single writes, one by one. */
  readonly rows: readonly ShardRow[];
  /** The keys whose rows a sample must change. */
  readonly #changed: readonly number[];

  constructor(cell: Pick<Cell, 'workload' | 'lane' | 'rows'>, totalRows: number) {
    const operations = isOfAll(cell.workload) ? 0 : cell.rows;
    this.totalRows = totalRows;
    const keysOf = (count: number): number[] =>
      Array.from({ length: count }, (_, operation) => keyOf(operation, totalRows));
    this.keys = keysOf(operations);
    this.keyArray = Float64Array.from(this.keys);
    const written = cell.workload === 'write' ? this.keys : [];
    this.#changed = cell.workload === 'populate' ? keysOf(CHANGED_ROWS) : written;
    this.packed = new Uint8Array(packedRows(written).buffer);
    this.rows = Array.from(
      { length: cell.lane === 'call' ? this.packed.byteLength / ROW_BYTES : 0 },
      (_, row) => new ShardRow(this.packed.subarray(row * ROW_BYTES, (row + 1) * ROW_BYTES)),
    );
  }

  /** Overwrites the rows that a sample will write or fill, so that unchanged rows are detected. */
  async blank(client: ShardClient, signal: AbortSignal): Promise<void> {
    for (let start = 0; start < this.#changed.length; start += KEYS_AT_ONCE) {
      assertWanted(signal);
      await client.putMany(new Uint8Array(blankRows(this.#changed.slice(start, start + KEYS_AT_ONCE)).buffer));
    }
  }

  /** The sums of the rows that the shards hold for the keys. */
  async readBack(client: ShardClient, signal: AbortSignal): Promise<RowSums> {
    const sums = new RowSums();
    for (let start = 0; start < this.keys.length; start += KEYS_AT_ONCE) {
      assertWanted(signal);
      addFound(sums, await client.multiGet(this.keyArray.subarray(start, start + KEYS_AT_ONCE)));
    }
    return sums;
  }

  /** The sums of all rows that the shards hold. */
  async readAll(client: ShardClient, signal?: AbortSignal): Promise<RowSums> {
    const sums = new RowSums();
    await addAll(sums, client, signal);
    return sums;
  }
}

/** Rewrites the rows that an interrupted run left blank, since the next run may use them if they persist. */
export async function restoreBlanks(client: ShardClient): Promise<void> {
  const filter = { column: 'quantity', comparison: '<', value: 0 } as const;
  if ((await client.aggregate({ column: 'quantity', filter })).count === 0) return;
  const blank: number[] = [];
  for await (const chunk of client.scan()) {
    const { keys, quantities } = columnsOf(chunk);
    for (let row = 0; row < keys.length; row += 1) if (quantities[row]! < 0) blank.push(Number(keys[row]!));
    chunk.release();
  }
  for (let start = 0; start < blank.length; start += KEYS_AT_ONCE) {
    await client.putMany(new Uint8Array(packedRows(blank.slice(start, start + KEYS_AT_ONCE)).buffer));
  }
}

/** Adds all rows that the shards hold to `sums`. */
export async function addAll(sums: RowSums, client: ShardClient, signal?: AbortSignal): Promise<void> {
  for await (const chunk of client.scan()) {
    if (signal !== undefined) assertWanted(signal);
    sums.add(chunk.rowCount, columnsHash(columnsOf(chunk)));
    chunk.release();
  }
}

/** Adds the rows of keys to `sums`. If one is missing the sum is wrong, whatever the others are. */
export function addFound(sums: RowSums, rows: ShardRows): void {
  rows.assertAll();
  const { found, length, chunk } = rows;
  sums.add(found, found === length ? columnsHash(columnsOf(chunk)) : 0);
  rows.release();
}

function columnsOf(chunk: ColumnarChunk): RowColumns {
  return {
    keys: chunk.column(0),
    quantities: chunk.column(1),
    prices: chunk.column(2),
    updatedAt: chunk.column(3),
    payloads: chunk.column(4),
  };
}

function assertWanted(signal: AbortSignal): void {
  if (signal.aborted) throw abortedBy(signal);
}
