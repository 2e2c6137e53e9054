import { rawShards } from '../../library/shards/raw-shards.js';
import { explained } from '../../errors.js';
import { assertNotAborted } from '../../library/crossing/cancellation.js';
import type { ShardClient } from '../../library/shards/shard-client.js';
import type { ShardBatches } from '../../library/shards/shard-filling.js';
import { ROW_BYTES, ShardRow } from '../../library/shards/shard-row.js';
import { type Cell, itemsOf, type Counted } from '../../records/record.js';
import { HYBRID_MATRIX, blankRows, isOfAll, keyOf, packedRows } from './data.js';
import { type HybridReader, columnsOf } from './reads.js';

const { keysAtOnce: KEYS_AT_ONCE, changedRows: CHANGED_ROWS } = HYBRID_MATRIX;

/** The properties of a cell that the input depends on. */
type InputCell = Pick<Cell, 'workload' | 'lane'> & Counted;

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
  /** The rows of populations, for each shard. */
  readonly batches: readonly ShardBatches[];
  /** The keys whose rows a sample must change. */
  readonly #changed: readonly number[];

  /** Makes the input. Throws `BB_NOT_ENOUGH_MEMORY` if there is too little memory for the rows of a population. */
  static async make(cell: InputCell, totalRows: number, shards: number): Promise<HybridInput> {
    if (cell.workload !== 'populate') return new HybridInput(cell, totalRows, []);
    checkMemory(totalRows);
    // Imported on demand, since the package that writes the messages may not be installed.
    const { batchesOf } = await import('./made-batches.js');
    const batches = Array.from({ length: shards }, (_, shard) => batchesOf(shard, shards, totalRows));
    return new HybridInput(cell, totalRows, batches);
  }

  private constructor(cell: InputCell, totalRows: number, batches: readonly ShardBatches[]) {
    const operations = isOfAll(cell.workload) ? 0 : itemsOf(cell);
    this.batches = batches;
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
      assertNotAborted(signal);
      await client.putMany(new Uint8Array(blankRows(this.#changed.slice(start, start + KEYS_AT_ONCE)).buffer));
    }
  }

  /** Reads what the shards hold after a load: the rows of the keys that it wrote, or all rows. */
  async readBack(reader: HybridReader, client: ShardClient, signal: AbortSignal): Promise<void> {
    if (this.batches.length > 0) return readAll(reader, client, signal);
    for (let start = 0; start < this.keys.length; start += KEYS_AT_ONCE) {
      assertNotAborted(signal);
      const keys = this.keyArray.subarray(start, start + KEYS_AT_ONCE);
      reader.addFound(keys, await client.multiGet(keys));
    }
  }
}

/** Throws if there is too little memory for `rows` rows. */
export function checkMemory(rows: number): void {
  explained(() => rawShards().checkShardMemory(rows));
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

/** Reads all rows that the shards hold. */
export async function readAll(reader: HybridReader, client: ShardClient, signal?: AbortSignal): Promise<void> {
  for await (const chunk of client.scan()) {
    assertNotAborted(signal);
    reader.addChunk(chunk);
  }
}
