import type { RawShardRows } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import { ColumnarChunk } from '../engine/columnar-chunk.js';
import { Frame } from '../engine/frame.js';
import type { RowCursor } from '../engine/row-cursor.js';
import type { Row } from '../engine/row-reader.js';
import { SqlType } from '../engine/sql-type.js';
import type { Column } from '../engine/table-definition.js';

/** A shard that could not be read, with the reason. */
export interface ShardFailure {
  /** The number of the shard. */
  readonly shard: number;
  /** The error, which names the shard. */
  readonly error: BoundaryError;
}

const TYPES: readonly (readonly [string, SqlType])[] = [
  ['key', SqlType.bigInt()],
  ['quantity', SqlType.int()],
  ['price', SqlType.double()],
  ['updated_at', SqlType.bigInt()],
  ['payload', SqlType.bytes()],
];

/** The columns of a scan of all rows. */
export const SCAN_COLUMNS: readonly Column[] = TYPES.map(([name, type]) => ({ name, type, nullable: false }));

/** The columns of the rows found by keys, of which some may be missing. */
const FOUND_COLUMNS: readonly Column[] = TYPES.map(([name, type]) => ({ name, type, nullable: name !== 'key' }));

/** The index of a column that is null only if there is no row. */
const QUANTITY = 1;

/**
 * The rows of keys, in the order of the keys. Values are decoded when they are read, from memory that `release` returns at once,
 * and the garbage collector late.
 */
export class ShardRows implements Disposable {
  /** The rows as columns: `key`, `quantity`, `price`, `updated_at`, `payload`. If a key has no row, all but the key are null. */
  readonly chunk: ColumnarChunk;
  /** The shards that could not be read, whose rows are missing. */
  readonly failures: readonly ShardFailure[];

  /** @internal */
  constructor({ rows, failures }: RawShardRows) {
    this.chunk = new ColumnarChunk(new Frame(rows, FOUND_COLUMNS), 'bigint', 0);
    this.failures =
      failures?.map(({ shard, message }) => ({ shard, error: toBoundaryError(new Error(message)) })) ?? [];
  }

  /** The number of keys. */
  get length(): number {
    return this.chunk.rowCount;
  }

  /** The number of rows that were found. */
  get found(): number {
    return this.length - this.chunk.nullCount(QUANTITY);
  }

  /** Whether key `index` has a row. */
  has(index: number): boolean {
    return this.chunk.has(QUANTITY, index);
  }

  /** The row of key `index`; undefined if there is none. */
  row(index: number): Row | undefined {
    return this.has(index) ? this.chunk.row(index) : undefined;
  }

  /**
   * The rows of all keys by one object that moves, with the columns of `chunk`: if a key has no row, all but the key are null.
   */
  cursor(): RowCursor {
    return this.chunk.rows();
  }

  /** Throws the first failure, if there is one. */
  assertAll(): this {
    if (this.failures.length > 0) throw this.failures[0]!.error;
    return this;
  }

  /** Returns the memory of the rows early. */
  release(): void {
    this.chunk.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
