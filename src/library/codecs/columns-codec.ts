/** Columns of one series and one field, as HyperbyteDB's columnar MessagePack: encoded and decoded in Rust. */
import { addon, type RawColumnsReader } from '../../addon.js';
import { toBoundaryError } from '../../errors.js';
import { lengthOf } from '../crossing/typed-memory.js';

/** What the points of a batch share. */
export interface SeriesNames {
  readonly measurement: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly field: string;
}

/** Columns that were decoded. */
export interface DecodedColumns extends Required<SeriesNames> {
  /** The number of points. */
  readonly length: number;
  readonly values: Float64Array;
  /** In the sender's unit; absent where it sent none. */
  readonly timestamps?: BigInt64Array;
}

/** The bytes of a value and of a timestamp. */
const BYTES_PER_POINT = 18;

/** The `Content-Type` of a body of columns. */
export const COLUMNS_CONTENT_TYPE = 'application/vnd.hyperbytedb.columnar-msgpack.v1';

/** Encodes batches of one series and field. Its names cross once; a batch is one call of about a microsecond. */
export class ColumnsEncoder {
  readonly #encode: ReturnType<typeof addon.columnsEncoder>;
  readonly #emptyBytes: number;

  /** Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for an empty measurement or field. */
  constructor({ measurement, tags, field }: SeriesNames) {
    const names = [measurement, flatTags(tags), field] as const;
    this.#encode = explained(() => addon.columnsEncoder(...names));
    this.#emptyBytes = addon.columnsMostBytes(...names);
  }

  /** The room that `encodeInto` needs for so many points. */
  mostBytes(points: number): number {
    return this.#emptyBytes + BYTES_PER_POINT * points;
  }

  /** Encodes into memory of the caller's, and returns how many of its bytes that took. */
  encodeInto(into: Uint8Array, values: Float64Array, timestamps?: BigInt64Array): number {
    try {
      return this.#encode(values, timestamps, into);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** Encodes into new memory. */
  encode(values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
    const into = Buffer.allocUnsafeSlow(this.mostBytes(lengthOf(values)));
    return into.subarray(0, this.encodeInto(into, values, timestamps));
  }
}

/** Decodes batches into memory that it uses again: what it returns holds until the next call. */
export class ColumnsDecoder {
  readonly #raw: RawColumnsReader = new addon.RawColumnsReader();
  readonly #decodeInto = this.#raw.decoder();
  #values = new Float64Array(0);
  #timestamps = new BigInt64Array(0);
  #names: Required<SeriesNames> = { measurement: '', tags: {}, field: '' };
  #last: DecodedColumns | undefined;
  #lastCode = Number.NaN;

  /** Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT`, which says the byte, for what is no batch of columns. */
  decode(bytes: Uint8Array): DecodedColumns {
    let code = this.#decode(bytes);
    if (code < 0) {
      this.#values = new Float64Array(-code);
      this.#timestamps = new BigInt64Array(-code);
      this.#lastCode = Number.NaN;
      code = this.#decode(bytes);
    }
    if (code === this.#lastCode && this.#last !== undefined) return this.#last;
    if ((code & NEW_NAMES) !== 0) this.#names = namesOf(this.#raw.head);
    // The next batch of as many points is described by the same views.
    this.#last = this.#describe(code >>> 2, (code & HAS_TIMESTAMPS) !== 0);
    this.#lastCode = code & ~NEW_NAMES;
    return this.#last;
  }

  #describe(length: number, hasTimestamps: boolean): DecodedColumns {
    const values = this.#values.subarray(0, length);
    if (!hasTimestamps) return { ...this.#names, length, values };
    return { ...this.#names, length, values, timestamps: this.#timestamps.subarray(0, length) };
  }

  #decode(bytes: Uint8Array): number {
    try {
      return this.#decodeInto(bytes, this.#values, this.#timestamps);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }
}

/** What the addon returns beside four times the number of points. */
const HAS_TIMESTAMPS = 1;
const NEW_NAMES = 2;

/** Encodes one batch. For many of one series, a `ColumnsEncoder` is faster. */
export function encodeColumns(names: SeriesNames, values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
  return new ColumnsEncoder(names).encode(values, timestamps);
}

/** Decodes one batch into memory of its own. For many, a `ColumnsDecoder` is faster. */
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

/** Names and values in turn, as the addon takes tags. */
export function flatTags(tags: SeriesNames['tags'] = {}): string[] {
  return Object.entries(tags).flatMap((tag) => tag);
}

function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}
