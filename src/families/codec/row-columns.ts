/** Columns of rows in one block of memory, as `native/suite/src/codec/row_format/columns.rs` lays them out. */
import { type RowKind, bitmapBytes } from './row-codec.js';

/** The bytes of a value of each type of a fixed width. */
export const WIDTHS: Readonly<Partial<Record<RowKind, number>>> = {
  truth: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  float32: 4,
  float64: 8,
  timestamp: 8,
};

/** The texts or bytes of a column. */
export interface Texts {
  /** The place of the beginning of each text, and of the end of the last one. */
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
  /** The same memory as `bytes`. */
  readonly view: DataView;
}

/** The values of a column, in the memory of the block. */
export type Column =
  | { readonly kind: 'truth'; readonly values: Uint8Array }
  | { readonly kind: 'int8'; readonly values: Int8Array }
  | { readonly kind: 'int16'; readonly values: Int16Array }
  | { readonly kind: 'int32'; readonly values: Int32Array }
  /** Two numbers a value, the lower 32 bits first: no bigints are made of them. */
  | { readonly kind: 'int64'; readonly values: Int32Array }
  | { readonly kind: 'float32'; readonly values: Float32Array }
  | { readonly kind: 'float64' | 'timestamp'; readonly values: Float64Array }
  | { readonly kind: 'text' | 'bytes'; readonly values: Texts };

/** Columns with room for some rows. */
export class RowColumns {
  /** The memory of all columns. */
  readonly block: Uint8Array;
  /** The bitmaps of the rows' nulls. */
  readonly bitmaps: Uint8Array;
  readonly columns: readonly Column[];
  /** The room in rows. */
  readonly rows: number;
  /** The room of each column of texts or bytes, in bytes. */
  readonly textBytes: number;

  constructor(kinds: readonly RowKind[], rows: number, textBytes: number) {
    let end = rows * bitmapBytes(kinds.length);
    const place = (size: number): number => {
      const start = Math.ceil(end / 8) * 8;
      end = start + size;
      return start;
    };
    const places = kinds.map((kind) => {
      const width = WIDTHS[kind];
      return width === undefined
        ? { kind, start: place((rows + 1) * 4), texts: place(textBytes) }
        : { kind, start: place(rows * width), texts: 0 };
    });
    const buffer = new ArrayBuffer(end);
    this.block = new Uint8Array(buffer);
    this.bitmaps = this.block.subarray(0, rows * bitmapBytes(kinds.length));
    this.columns = places.map(({ kind, start, texts }) => columnAt(buffer, kind, start, texts, rows, textBytes));
    this.rows = rows;
    this.textBytes = textBytes;
  }
}

function columnAt(
  buffer: ArrayBuffer,
  kind: RowKind,
  start: number,
  texts: number,
  rows: number,
  textBytes: number,
): Column {
  switch (kind) {
    case 'truth':
      return { kind, values: new Uint8Array(buffer, start, rows) };
    case 'int8':
      return { kind, values: new Int8Array(buffer, start, rows) };
    case 'int16':
      return { kind, values: new Int16Array(buffer, start, rows) };
    case 'int32':
      return { kind, values: new Int32Array(buffer, start, rows) };
    case 'int64':
      return { kind, values: new Int32Array(buffer, start, 2 * rows) };
    case 'float32':
      return { kind, values: new Float32Array(buffer, start, rows) };
    case 'float64':
    case 'timestamp':
      return { kind, values: new Float64Array(buffer, start, rows) };
    case 'text':
    case 'bytes': {
      const offsets = new Uint32Array(buffer, start, rows + 1);
      const bytes = new Uint8Array(buffer, texts, textBytes);
      return { kind, values: { offsets, bytes, view: new DataView(buffer, texts, textBytes) } };
    }
  }
}
