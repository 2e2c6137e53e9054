import { types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { byteLengthOf, isGone } from '../crossing/typed-memory.js';
import { isInt64 } from './shard-placing.js';

/** The bytes of a packed row. */
export const ROW_BYTES = 200;

/** The bytes of a row's payload. */
export const PAYLOAD_BYTES = 172;

/** Byte offsets of the values in a packed row. */
const QUANTITY = 8;
const PRICE = 12;
const UPDATED_AT = 20;
const PAYLOAD = 28;

/** The values of a row. */
export interface ShardValues {
  readonly key: number | bigint;
  readonly quantity: number;
  readonly price: number;
  /** Microseconds since 1970-01-01T00:00:00 UTC. */
  readonly updatedAt: number | bigint;
  /** The payload, at most 172 bytes. The rest is filled with zeros. */
  readonly payload: Uint8Array;
}

/**
 * A row of a sharded store: 200 packed bytes, of which a value is decoded when it is read. It can be reused for one row after the
 * other. Its values, and the payload's memory, are then the last row's.
 *
 * @example
 * ```js
 * import { ShardRow } from 'boundary-bench';
 *
 * const row = ShardRow.of({ key: 7, quantity: 3, price: 1.5, updatedAt: 0n, payload: Uint8Array.of(1, 2) });
 * console.log(row.key, row.price, row.bytes.length); // 7n 1.5 200
 * ```
 */
export class ShardRow {
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array = new Uint8Array(ROW_BYTES)) {
    if (!types.isUint8Array(bytes) || byteLengthOf(bytes) !== ROW_BYTES) {
      throw invalidArgument(`a packed row is a Uint8Array of ${ROW_BYTES} bytes, not ${describeValue(bytes)}`);
    }
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, ROW_BYTES);
  }

  /** Makes a row of these values. */
  static of(values: ShardValues): ShardRow {
    return new ShardRow().set(values);
  }

  /** Replaces all values. Throws `BB_INVALID_VALUE`, and replaces none, for a value that its place in the row can't hold. */
  set(values: ShardValues): this {
    if (typeof values !== 'object' || values === null) {
      throw invalidArgument(`a row is made of an object of values, not ${describeValue(values)}`);
    }
    const { key, quantity, price, updatedAt, payload } = values;
    if (!isInt64(key)) throw misfit('key', key, 'an integer of 64 bits');
    if (typeof quantity !== 'number' || (quantity | 0) !== quantity) {
      throw misfit('quantity', quantity, 'an integer of 32 bits');
    }
    if (typeof price !== 'number') throw misfit('price', price, 'a number');
    if (!isInt64(updatedAt)) throw misfit('updatedAt', updatedAt, 'an integer of 64 bits');
    if (!types.isUint8Array(payload)) throw misfit('payload', payload, 'a Uint8Array');
    const length = byteLengthOf(payload);
    if (length > PAYLOAD_BYTES) throw misfit('payload', payload, `of at most ${PAYLOAD_BYTES} bytes`);
    if (length === 0 && isGone(payload)) throw misfit('payload', payload, 'memory that is not detached');
    this.#view.setBigInt64(0, BigInt(key), true);
    this.#view.setInt32(QUANTITY, quantity, true);
    this.#view.setFloat64(PRICE, price, true);
    this.#view.setBigInt64(UPDATED_AT, BigInt(updatedAt), true);
    this.bytes.fill(0, PAYLOAD + length);
    this.bytes.set(payload, PAYLOAD);
    return this;
  }

  get key(): bigint {
    return this.#view.getBigInt64(0, true);
  }

  get quantity(): number {
    return this.#view.getInt32(QUANTITY, true);
  }

  get price(): number {
    return this.#view.getFloat64(PRICE, true);
  }

  /** Microseconds since 1970-01-01T00:00:00 UTC. */
  get updatedAt(): bigint {
    return this.#view.getBigInt64(UPDATED_AT, true);
  }

  /** A view of the row's payload. */
  get payload(): Uint8Array {
    return this.bytes.subarray(PAYLOAD, ROW_BYTES);
  }

  /** A copy of the row in memory of its own. */
  copy(): ShardRow {
    return new ShardRow(this.bytes.slice());
  }
}

function misfit(name: string, value: unknown, expected: string): BoundaryError {
  return new BoundaryError('BB_INVALID_VALUE', `${name} must be ${expected}, not ${describeValue(value)}`);
}
