/** Codec of HyperbyteDB's columnar MessagePack: columns of one series and one field, encoded and decoded in Rust. */
import { types } from 'node:util';

import { addon, type RawColumnsReader } from '../../addon.js';
import { explained, invalidArgument, toBoundaryError } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { namedValues } from '../crossing/named-values.js';
import { checkInteger } from '../crossing/options.js';
import { checkMemory, lengthOf } from '../crossing/typed-memory.js';
import { checkText } from '../crossing/well-formed.js';

/** The names that all points of a batch share. */
export interface SeriesNames {
  readonly measurement: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly field: string;
}

/** A decoded batch of columns. */
export interface DecodedColumns extends Required<SeriesNames> {
  /** The number of points. */
  readonly length: number;
  readonly values: Float64Array;
  /** Timestamps in the sender's unit; absent if the sender sent none. */
  readonly timestamps?: BigInt64Array;
}

/** Encoded bytes of one value and one timestamp together. */
const BYTES_PER_POINT = 18;

/** The `Content-Type` of a body of columns. */
export const COLUMNS_CONTENT_TYPE = 'application/vnd.hyperbytedb.columnar-msgpack.v1';

/**
 * Encodes batches of one series and field. The names cross once. A batch is one call of about a microsecond.
 *
 * @example
 * ```js
 * import { ColumnsEncoder, decodeColumns } from 'boundary-bench';
 *
 * const encoder = new ColumnsEncoder({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' });
 * const values = Float64Array.of(0.5, 0.7);
 * const memory = new Uint8Array(encoder.mostBytes(values.length)); // reused for each batch
 * const length = encoder.encodeInto(memory, values);
 * console.log(decodeColumns(memory.subarray(0, length)).length); // 2
 * ```
 */
export class ColumnsEncoder {
  readonly #encode: ReturnType<typeof addon.columnsEncoder>;
  readonly #emptyBytes: number;

  /** Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for an empty measurement or field. */
  constructor(series: SeriesNames) {
    const names = rawNames(series);
    this.#encode = explained(() => addon.columnsEncoder(...names));
    this.#emptyBytes = addon.columnsMostBytes(...names);
  }

  /** The most bytes that `encodeInto` needs for `points` points. */
  mostBytes(points: number): number {
    checkInteger('the number of points', points, 0, Number.MAX_SAFE_INTEGER / BYTES_PER_POINT);
    return this.#emptyBytes + BYTES_PER_POINT * points;
  }

  /** Encodes into the caller's memory. Returns the number of bytes written. */
  encodeInto(into: Uint8Array, values: Float64Array, timestamps?: BigInt64Array): number {
    try {
      const length = this.#encode(values, timestamps, into);
      // Only a batch without points may be one whose memory is gone.
      if (length <= this.#emptyBytes) checkMemory(values, timestamps);
      return length;
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** Encodes into newly allocated memory. */
  encode(values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
    const into = Buffer.allocUnsafeSlow(this.mostBytes(pointsOf(values)));
    return into.subarray(0, this.encodeInto(into, values, timestamps));
  }
}

/**
 * Decodes batches into memory that it reuses: a decoded batch is valid until the next call.
 *
 * @example
 * ```js
 * import { ColumnsDecoder, encodeColumns } from 'boundary-bench';
 *
 * const decoder = new ColumnsDecoder();
 * const bytes = encodeColumns({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' }, Float64Array.of(0.5, 0.7));
 * console.log(decoder.decode(bytes).length); // 2
 * ```
 */
export class ColumnsDecoder {
  readonly #raw: RawColumnsReader = new addon.RawColumnsReader();
  readonly #decodeInto = this.#raw.decoder();
  #values = new Float64Array(0);
  #timestamps = new BigInt64Array(0);
  #names: Required<SeriesNames> = { measurement: '', tags: {}, field: '' };
  #last: DecodedColumns | undefined;
  #lastCode = Number.NaN;

  /**
   * Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT`, which names the byte, if `bytes` is not a batch of columns.
   */
  decode(bytes: Uint8Array): DecodedColumns {
    let code = this.#decode(bytes);
    if (code < 0) {
      this.#values = new Float64Array(-code);
      this.#timestamps = new BigInt64Array(-code);
      this.#lastCode = Number.NaN;
      code = this.#decode(bytes);
    }
    const length = code >>> 2;
    // A batch without points fits into memory that a caller has transferred away, of which there are no views.
    if (code === this.#lastCode && this.#last !== undefined && length > 0) return this.#last;
    if ((code & NEW_NAMES) !== 0) this.#names = namesOf(this.#raw.head);
    // The same views describe the next batch with the same number of points.
    this.#last = this.#describe(length, (code & HAS_TIMESTAMPS) !== 0);
    this.#lastCode = code & ~NEW_NAMES;
    return this.#last;
  }

  #describe(length: number, hasTimestamps: boolean): DecodedColumns {
    const values = length === 0 ? new Float64Array(0) : this.#values.subarray(0, length);
    if (!hasTimestamps) return { ...this.#names, length, values };
    const timestamps = length === 0 ? new BigInt64Array(0) : this.#timestamps.subarray(0, length);
    return { ...this.#names, length, values, timestamps };
  }

  #decode(bytes: Uint8Array): number {
    try {
      return this.#decodeInto(bytes, this.#values, this.#timestamps);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }
}

/** Flags in the lowest two bits of the addon's return value. The bits above are the number of points. */
const HAS_TIMESTAMPS = 1;
const NEW_NAMES = 2;

/**
 * Encodes one batch. For many batches of one series, a `ColumnsEncoder` is faster.
 *
 * @example
 * ```js
 * import { COLUMNS_CONTENT_TYPE, decodeColumns, encodeColumns } from 'boundary-bench';
 *
 * const series = { measurement: 'cpu', tags: { host: 'a' }, field: 'load' };
 * const bytes = encodeColumns(series, Float64Array.of(0.5, 0.7), BigInt64Array.of(1n, 2n));
 * console.log(decodeColumns(bytes).values); // Float64Array(2) [0.5, 0.7]
 * const headers = { 'content-type': COLUMNS_CONTENT_TYPE }; // for the request that sends them
 * ```
 */
export function encodeColumns(names: SeriesNames, values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
  return new ColumnsEncoder(names).encode(values, timestamps);
}

/**
 * Decodes one batch into memory of its own. For many batches, a `ColumnsDecoder` is faster.
 *
 * @example
 * ```js
 * import { decodeColumns, encodeColumns } from 'boundary-bench';
 *
 * const bytes = encodeColumns({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' }, Float64Array.of(0.5));
 * const { measurement, tags, values } = decodeColumns(bytes);
 * console.log(measurement, tags, values.length); // cpu { host: 'a' } 1
 * ```
 */
export function decodeColumns(bytes: Uint8Array): DecodedColumns {
  return new ColumnsDecoder().decode(bytes);
}

function namesOf(head: string): Required<SeriesNames> {
  const { measurement, tags, field } = JSON.parse(head) as {
    measurement: string;
    tags: [string, string][];
    field: string;
  };
  return { measurement, tags: Object.fromEntries(tags), field };
}

/** The number of values of a batch. */
export function pointsOf(values: unknown): number {
  if (types.isFloat64Array(values)) return lengthOf(values);
  throw invalidArgument(`values must be a Float64Array, not ${describeValue(values)}`);
}

/** The names as the addon takes them. Throws `BB_INVALID_ARGUMENT` for what are no names, and for names that UTF-8 can't hold. */
export function rawNames(series: SeriesNames): readonly [measurement: string, tags: string[], field: string] {
  if (typeof series !== 'object' || series === null) {
    throw invalidArgument(`the names of a series must be an object, not ${describeValue(series)}`);
  }
  const { measurement, tags = {}, field } = series;
  const flat = flatTags(tags);
  for (const text of flat) checkText('the name or the value of a tag', text);
  checkText('measurement', measurement);
  checkText('field', field);
  return [measurement, flat, field];
}

/** Tag names and values, alternating, as the addon takes them. */
function flatTags(tags: SeriesNames['tags'] & object): string[] {
  return namedValues('the tags', tags).flat() as string[];
}
