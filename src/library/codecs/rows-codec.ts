/** Codec of HyperbyteDB's row MessagePack: points of one series and one field, each with all its names. */
import { addon } from '../../addon.js';
import { explained, toBoundaryError } from '../../errors.js';
import { checkMemory } from '../crossing/typed-memory.js';
import { rawNames, type SeriesNames } from './columns-codec.js';

/** Bytes of a batch without points: an empty array. */
const EMPTY_BYTES = 1;

/** The `Content-Type` of a body of rows. */
export const ROWS_CONTENT_TYPE = 'application/msgpack';

/**
 * Encodes batches of one series and field, in Rust. The names cross once.
 *
 * @example
 * ```js
 * import { RowsEncoder } from 'boundary-bench';
 *
 * const encoder = new RowsEncoder({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' });
 * const memory = new Uint8Array(1024); // reused for each batch
 * const length = encoder.encodeInto(memory, Float64Array.of(0.5, 0.7), BigInt64Array.of(1n, 2n));
 * console.log(length > 0); // true
 * ```
 */
export class RowsEncoder {
  readonly #encode: ReturnType<typeof addon.rowsEncoder>;

  /** Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for an empty measurement or field. */
  constructor(series: SeriesNames) {
    const names = rawNames(series);
    this.#encode = explained(() => addon.rowsEncoder(...names));
  }

  /**
   * Encodes into the caller's memory. Returns the number of bytes written, or minus the number of bytes needed if they do not fit.
   */
  encodeInto(into: Uint8Array, values: Float64Array, timestamps?: BigInt64Array): number {
    try {
      const length = this.#encode(values, timestamps, into);
      // Only a batch without points, or memory that is too short, may be memory that is gone.
      if (length <= EMPTY_BYTES) checkMemory(values, timestamps, into);
      return length;
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** Encodes into newly allocated memory. */
  encode(values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
    let into = Buffer.alloc(0);
    let length = this.encodeInto(into, values, timestamps);
    // A loop, since values in shared memory that grows may need more than before.
    while (length < 0) {
      into = Buffer.allocUnsafeSlow(-length);
      length = this.encodeInto(into, values, timestamps);
    }
    return into.subarray(0, length);
  }
}

/**
 * Encodes one batch. For many batches of one series, a `RowsEncoder` is faster.
 *
 * @example
 * ```js
 * import { encodeRows, ROWS_CONTENT_TYPE } from 'boundary-bench';
 *
 * const bytes = encodeRows({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' }, Float64Array.of(0.5), BigInt64Array.of(7n));
 * console.log(bytes.length > 0, ROWS_CONTENT_TYPE); // true application/msgpack
 * ```
 */
export function encodeRows(names: SeriesNames, values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
  return new RowsEncoder(names).encode(values, timestamps);
}
