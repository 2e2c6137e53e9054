import type { RawShardRows } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import { ColumnarChunk } from '../engine/columnar-chunk.js';
import { Frame } from '../engine/frame.js';
import type { Row } from '../engine/row-reader.js';
import { SqlType } from '../engine/sql-type.js';
import type { Column } from '../engine/table-definition.js';

/** Why a shard could not be asked. */
export interface ShardFailure {
  /** The number of the shard. */
  readonly shard: number;
  /** It names the shard. */
  readonly error: BoundaryError;
}

const TYPES: readonly (readonly [string, SqlType])[] = [
  ['key', SqlType.bigInt()],
  ['quantity', SqlType.int()],
  ['price', SqlType.double()],
  ['updated_at', SqlType.bigInt()],
  ['payload', SqlType.bytes()],
];

/** The columns of all rows. */
export const SCAN_COLUMNS: readonly Column[] = TYPES.map(([name, type]) => ({ name, type, nullable: false }));

/** The columns of the rows of keys, of which some may be missing. */
const FOUND_COLUMNS: readonly Column[] = TYPES.map(([name, type]) => ({ name, type, nullable: name !== 'key' }));

/** A column that is null where there is no row. */
const QUANTITY = 1;

/**
 * The rows of keys, in the order of the keys. Their values are read when they are asked for, from memory that `release` gives
 * back at once, and the garbage collector later.
 */
export class ShardRows implements Disposable {
  /** The rows by columns: `key`, `quantity`, `price`, `updated_at`, `payload`. Where there is no row, only the key is not null. */
  readonly chunk: ColumnarChunk;
  /** The shards that could not be asked: their rows are missing. */
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

  /** Whether there is a row for the key `index`. */
  has(index: number): boolean {
    return this.chunk.has(QUANTITY, index);
  }

  /** The row of the key `index`; undefined where there is none. */
  row(index: number): Row | undefined {
    return this.has(index) ? this.chunk.row(index) : undefined;
  }

  /** Throws the first failure, where there is one. */
  assertAll(): this {
    if (this.failures.length > 0) throw this.failures[0]!.error;
    return this;
  }

  release(): void {
    this.chunk.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
