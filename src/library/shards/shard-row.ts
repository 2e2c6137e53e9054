import { BoundaryError } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { byteLengthOf, isGone } from '../crossing/typed-memory.js';

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
  /** The payload, at most 172 bytes; the rest is filled with zeros. */
  readonly payload: Uint8Array;
}

/**
 * A row of a sharded store: 200 packed bytes, of which a value is decoded when it is read. It can be reused for one row after
 * the other; its values, and the payload's memory, are then those of the last row.
 */
export class ShardRow {
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array = new Uint8Array(ROW_BYTES)) {
    if (bytes.byteLength !== ROW_BYTES) throw new RangeError(`a packed row has ${ROW_BYTES} bytes`);
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, ROW_BYTES);
  }

  /** Makes a row of these values. */
  static of(values: ShardValues): ShardRow {
    return new ShardRow().set(values);
  }

  /** Replaces all values. Throws `BB_INVALID_VALUE` for a value that its place in the row can't hold. */
  set({ key, quantity, price, updatedAt, payload }: ShardValues): this {
    // Converts all values before the first byte is written: a conversion may throw, or run code of an object.
    const wholeKey = BigInt(key);
    const amount = +quantity;
    const cost = +price;
    const time = BigInt(updatedAt);
    if (BigInt.asIntN(64, wholeKey) !== wholeKey) throw misfit('key', key, 'an integer of 64 bits');
    if ((amount | 0) !== amount) throw misfit('quantity', quantity, 'an integer of 32 bits');
    if (cost !== cost && typeof price !== 'number') throw misfit('price', price, 'a number');
    if (BigInt.asIntN(64, time) !== time) throw misfit('updatedAt', updatedAt, 'an integer of 64 bits');
    const length = byteLengthOf(payload);
    if (length > PAYLOAD_BYTES) throw new RangeError(`a payload has at most ${PAYLOAD_BYTES} bytes`);
    if (length === 0 && isGone(payload)) throw new TypeError('the memory of the payload is detached');
    this.#view.setBigInt64(0, wholeKey, true);
    this.#view.setInt32(QUANTITY, amount, true);
    this.#view.setFloat64(PRICE, cost, true);
    this.#view.setBigInt64(UPDATED_AT, time, true);
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
