import { BoundaryError } from '../../errors.js';
import type { ColumnKind } from './sql-type.js';
import type { Column } from './table-definition.js';
import type { NodeBuffer } from '../../platform-types.js';

/** The typed array of a column's values, by the column's type. */
export type FrameValues = Uint8Array | Int16Array | Int32Array | BigInt64Array | Float32Array | Float64Array;

/** Words of a frame's header before the words of the first column. */
export const HEADER_WORDS = 2;

/** Words of the header per column: the null count, the offsets of validity, offsets and values, and the length of the values. */
export const COLUMN_WORDS = 5;

type ValuesConstructor = new (buffer: ArrayBuffer, byteOffset: number, length: number) => FrameValues;

const CONSTRUCTORS: Readonly<Record<ColumnKind, ValuesConstructor & { readonly BYTES_PER_ELEMENT: number }>> = {
  bool: Uint8Array,
  smallint: Int16Array,
  int: Int32Array,
  bigint: BigInt64Array,
  real: Float32Array,
  double: Float64Array,
  decimal: BigInt64Array,
  text: Uint8Array,
  bytes: Uint8Array,
  date: Int32Array,
  timestamp: BigInt64Array,
};

/** The memory of frames, with typed arrays over it that are made once for all of them. */
export class FrameMemory {
  readonly buffer: ArrayBuffer;
  readonly words: Uint32Array;
  readonly bytes: NodeBuffer;
  #wide: WideViews | undefined;

  constructor(buffer: ArrayBuffer) {
    this.buffer = buffer;
    this.words = new Uint32Array(buffer, 0, buffer.byteLength >>> 2);
    this.bytes = Buffer.from(buffer);
  }

  /** The memory as values of columns. */
  get views(): WideViews {
    this.#wide ??= wideViews(this.buffer);
    return this.#wide;
  }
}

/** The whole memory of frames as elements of each type. */
export interface WideViews {
  readonly int16: Int16Array;
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly float32: Float32Array;
  readonly float64: Float64Array;
}

function wideViews(buffer: ArrayBuffer): WideViews {
  const { byteLength } = buffer;
  return {
    int16: new Int16Array(buffer, 0, byteLength >>> 1),
    int32: new Int32Array(buffer, 0, byteLength >>> 2),
    int64: new BigInt64Array(buffer, 0, byteLength >>> 3),
    float32: new Float32Array(buffer, 0, byteLength >>> 2),
    float64: new Float64Array(buffer, 0, byteLength >>> 3),
  };
}

/** One column of a frame, as views of the frame's memory. */
export interface FrameColumn {
  readonly nullCount: number;
  /** The validity bitmap: one bit per row, set if the row has a value, lowest bit first; null if the column has no nulls. */
  readonly validity: Uint8Array | null;
  /** The offsets of text and bytes: value i lies between the offsets i and i + 1; null for other types. */
  readonly offsets: Int32Array | null;
  /** The values. A decimal takes two words, the low one first. */
  readonly values: FrameValues;
}

/**
 * A batch of rows in one buffer, laid out as `native/engine/src/frame.rs` describes. The views of a column are made at each call
 * of `column`.
 */
export class Frame {
  readonly buffer: ArrayBuffer;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly #header: Uint32Array;
  readonly #start: number;

  /** Reads the header of the frame that begins at byte `start` of a buffer. */
  constructor(buffer: ArrayBuffer, columns: readonly Column[], start = 0) {
    this.buffer = buffer;
    this.columns = columns;
    this.#start = start;
    this.#header = new Uint32Array(buffer, start, HEADER_WORDS + COLUMN_WORDS * columns.length);
    this.rowCount = this.#header[0]!;
    if (this.#header[1] !== columns.length) {
      throw new BoundaryError('BB_INTERNAL', `a frame of ${this.#header[1]} columns for a result of ${columns.length}`);
    }
  }

  /** Makes the views of column `index`. */
  column(index: number): FrameColumn {
    const word = HEADER_WORDS + COLUMN_WORDS * index;
    const validityOffset = this.#header[word + 1]!;
    const offsetsOffset = this.#header[word + 2]!;
    const Values = CONSTRUCTORS[this.columns[index]!.type.kind];
    const { buffer, rowCount } = this;
    const start = this.#start;
    return {
      nullCount: this.#header[word]!,
      validity: validityOffset === 0 ? null : new Uint8Array(buffer, start + validityOffset, Math.ceil(rowCount / 8)),
      offsets: offsetsOffset === 0 ? null : new Int32Array(buffer, start + offsetsOffset, rowCount + 1),
      values: new Values(buffer, start + this.#header[word + 3]!, this.#header[word + 4]! / Values.BYTES_PER_ELEMENT),
    };
  }
}
