/**
 * Columns of rows in one block of memory, as `native/codecs/src/rows/columns.rs` lays them out, and in JavaScript what it does there in Rust:
 * rows written from the columns, and read into them.
 *
 * Work goes column by column: a loop over the values of one type is compiled to a few instructions, whereas a loop over the columns of a row
 * would choose a type for each value. The place of each row in the batch is kept meanwhile.
 */
import { isAscii, isUtf8 } from 'node:buffer';

import { LENGTH, type RowKind, bitmapBytes, copyBytes, wrongBatch } from './row-codec.js';

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
      return { kind, values: { offsets, bytes: new Uint8Array(buffer, texts, textBytes) } };
    }
  }
}

/** Writes columns as rows, and reads rows into columns, in memory of its own that each batch uses again. */
export class ColumnCodec {
  readonly #kinds: readonly RowKind[];
  readonly #bitmap: number;
  /** The room in rows. */
  readonly #rows: number;
  /** The place of the next value of each row. */
  readonly #places: Uint32Array;
  /** The end of each row. */
  readonly #ends: Uint32Array;
  /** All rows. */
  readonly #all: Uint32Array;
  /** The rows of each column that are not null. */
  readonly #present: Uint32Array[];
  readonly #counts: number[];
  /** All of the memory that the batch lies in. Mostly, the next one lies there too. */
  #bytes: Uint8Array = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);

  constructor(kinds: readonly RowKind[], rows: number) {
    this.#kinds = kinds;
    this.#bitmap = bitmapBytes(kinds.length);
    this.#rows = rows;
    this.#places = new Uint32Array(rows);
    this.#ends = new Uint32Array(rows);
    this.#all = Uint32Array.from({ length: rows }, (_, row) => row);
    this.#present = kinds.map(() => this.#all);
    this.#counts = kinds.map(() => 0);
  }

  #use(bytes: Uint8Array): void {
    if (this.#view.buffer === bytes.buffer) return;
    this.#bytes = new Uint8Array(bytes.buffer);
    this.#view = new DataView(bytes.buffer);
  }

  /** Finds the rows of each column that are not null. */
  #find(bitmaps: Uint8Array, rows: number): void {
    const bitmap = this.#bitmap;
    const end = rows * bitmap;
    for (let byte = 0; byte < bitmap; byte += 1) {
      let any = 0;
      for (let at = byte; at < end; at += bitmap) any |= bitmaps[at]!;
      for (let column = 8 * byte; column < Math.min(8 * byte + 8, this.#kinds.length); column += 1) {
        const bit = 1 << (column & 7);
        if ((any & bit) === 0) {
          this.#present[column] = this.#all;
          this.#counts[column] = rows;
          continue;
        }
        if (this.#present[column] === this.#all) this.#present[column] = new Uint32Array(this.#rows);
        const present = this.#present[column]!;
        let count = 0;
        for (let at = byte, row = 0; at < end; at += bitmap, row += 1) {
          // Written in any case, and kept if the value is not null: that needs no jump, which could not be foretold.
          present[count] = row;
          count += (bitmaps[at]! & bit) === 0 ? 1 : 0;
        }
        this.#counts[column] = count;
      }
    }
  }

  /**
   * Writes the first rows as a batch over the beginning of `out`; returns the size of the batch. Throws a `RangeError` if there is too little
   * room.
   */
  encode({ bitmaps, columns }: RowColumns, rows: number, out: Uint8Array): number {
    this.#use(out);
    this.#find(bitmaps, rows);
    const size = this.#layOut(columns, rows, out.byteOffset);
    if (size > out.length) throw new RangeError(`a batch of ${size} bytes has no room in ${out.length}`);
    this.#writeHeads(bitmaps, rows);
    for (let column = 0; column < columns.length; column += 1) {
      this.#encodeColumn(columns[column]!, this.#present[column]!, this.#counts[column]!);
    }
    return size;
  }

  /** Finds the place and the end of each row in a batch that begins at `start`; returns the size of the batch. */
  #layOut(columns: readonly Column[], rows: number, start: number): number {
    const [lengths, ends] = [this.#places, this.#ends];
    let fixed = this.#bitmap;
    for (let column = 0; column < columns.length; column += 1) {
      if (this.#counts[column] === rows) fixed += WIDTHS[this.#kinds[column]!] ?? LENGTH;
    }
    lengths.fill(fixed, 0, rows);
    for (let column = 0; column < columns.length; column += 1) {
      const { kind, values } = columns[column]!;
      const [present, count] = [this.#present[column]!, this.#counts[column]!];
      if (count !== rows) addWidth(lengths, WIDTHS[kind] ?? LENGTH, present, count);
      if (kind === 'text' || kind === 'bytes') addTexts(lengths, values.offsets, present, count);
    }
    let at = start;
    for (let row = 0; row < rows; row += 1) {
      const length = lengths[row]!;
      lengths[row] = at;
      at += LENGTH + length;
      ends[row] = at;
    }
    return at - start;
  }

  /** Writes the length and the bitmap of each row. */
  #writeHeads(bitmaps: Uint8Array, rows: number): void {
    const [bytes, view, places, ends, bitmap] = [this.#bytes, this.#view, this.#places, this.#ends, this.#bitmap];
    let from = 0;
    for (let row = 0; row < rows; row += 1) {
      const start = places[row]! + LENGTH;
      view.setUint32(start - LENGTH, ends[row]! - start, true);
      for (let byte = 0; byte < bitmap; byte += 1) bytes[start + byte] = bitmaps[from + byte]!;
      from += bitmap;
      places[row] = start + bitmap;
    }
  }

  #encodeColumn({ kind, values }: Column, present: Uint32Array, count: number): void {
    const [bytes, view, places] = [this.#bytes, this.#view, this.#places];
    switch (kind) {
      case 'truth':
        return writeTruths(values, present, count, bytes, places);
      case 'int8':
        return writeInt8(values, present, count, bytes, places);
      case 'int16':
        return writeInt16(values, present, count, view, places);
      case 'int32':
        return writeInt32(values, present, count, view, places);
      case 'int64':
        return writeInt64(values, present, count, view, places);
      case 'float32':
        return writeFloat32(values, present, count, view, places);
      case 'float64':
      case 'timestamp':
        return writeFloat64(values, present, count, view, places);
      case 'text':
      case 'bytes':
        return writeTexts(values, present, count, bytes, view, places);
    }
  }

  /**
   * Reads a batch into columns, and returns the number of rows. Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT`, or a `RangeError`
   * where the memory ends, for bytes that are no batch of such rows or do not fit; the columns hold rows of no use then.
   */
  decode(batch: Uint8Array, { bitmaps, columns }: RowColumns): number {
    this.#use(batch);
    const rows = this.#split(batch.byteOffset, batch.byteOffset + batch.length, bitmaps);
    this.#find(bitmaps, rows);
    for (let column = 0; column < columns.length; column += 1) this.#decodeColumn(columns[column]!, column, rows);
    const [places, ends] = [this.#places, this.#ends];
    for (let row = 0; row < rows; row += 1) {
      if (places[row] === ends[row]) continue;
      throw wrongBatch(
        row,
        places[row]! < ends[row]! ? 'the row goes on behind its last value' : 'the row ends too early',
      );
    }
    return rows;
  }

  /** Finds the places and ends of the rows of a batch, and reads their bitmaps; returns the number of rows. */
  #split(start: number, last: number, bitmaps: Uint8Array): number {
    const [bytes, view, places, ends, bitmap] = [this.#bytes, this.#view, this.#places, this.#ends, this.#bitmap];
    // The bits of the last byte that are of no column; none where the columns fill it.
    const beyond = (0xff << (((this.#kinds.length - 1) & 7) + 1)) & 0xff;
    let [at, row, into] = [start, 0, 0];
    while (at < last) {
      if (row === this.#rows) throw wrongBatch(row, 'the columns have no more room');
      const from = at + LENGTH;
      const end = from <= last ? from + view.getUint32(at, true) : from;
      if (end > last || from + bitmap > end) throw wrongBatch(row, 'the row ends too early');
      for (let byte = 0; byte < bitmap; byte += 1) bitmaps[into + byte] = bytes[from + byte]!;
      into += bitmap;
      if ((bitmaps[into - 1]! & beyond) !== 0) throw wrongBatch(row, 'the bitmap names columns that there are not');
      places[row] = from + bitmap;
      ends[row] = end;
      row += 1;
      at = end;
    }
    return row;
  }

  #decodeColumn({ kind, values }: Column, column: number, rows: number): void {
    const [bytes, view, places] = [this.#bytes, this.#view, this.#places];
    const [present, count] = [this.#present[column]!, this.#counts[column]!];
    if (kind === 'text' || kind === 'bytes') {
      readTexts(values, present, count, rows, bytes, view, places, this.#ends);
      if (kind === 'text') checkTexts(values, rows);
      return;
    }
    if (count !== rows && !('offsets' in values)) values.fill(0);
    switch (kind) {
      case 'truth':
        return readTruths(values, present, count, bytes, places);
      case 'int8':
        return readInt8(values, present, count, bytes, places);
      case 'int16':
        return readInt16(values, present, count, view, places);
      case 'int32':
        return readInt32(values, present, count, view, places);
      case 'int64':
        return readInt64(values, present, count, view, places);
      case 'float32':
        return readFloat32(values, present, count, view, places);
      case 'float64':
      case 'timestamp':
        return readFloat64(values, present, count, view, places);
    }
  }
}

// A loop for each type, since a loop over arrays of several types would ask each value for its type. Each goes over the rows `present`, and
// moves their places on.

function addWidth(lengths: Uint32Array, width: number, present: Uint32Array, count: number): void {
  for (let index = 0; index < count; index += 1) lengths[present[index]!]! += width;
}

function addTexts(lengths: Uint32Array, offsets: Uint32Array, present: Uint32Array, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    lengths[row]! += offsets[row + 1]! - offsets[row]!;
  }
}

type Rows = Uint32Array;

function writeTruths(values: Uint8Array, present: Rows, count: number, bytes: Uint8Array, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    bytes[at] = values[row]!;
    places[row] = at + 1;
  }
}

function writeInt8(values: Int8Array, present: Rows, count: number, bytes: Uint8Array, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    bytes[at] = values[row]!;
    places[row] = at + 1;
  }
}

function writeInt16(values: Int16Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    view.setInt16(at, values[row]!, true);
    places[row] = at + 2;
  }
}

function writeInt32(values: Int32Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    view.setInt32(at, values[row]!, true);
    places[row] = at + 4;
  }
}

function writeInt64(halves: Int32Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    view.setInt32(at, halves[2 * row]!, true);
    view.setInt32(at + 4, halves[2 * row + 1]!, true);
    places[row] = at + 8;
  }
}

function writeFloat32(values: Float32Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    view.setFloat32(at, values[row]!, true);
    places[row] = at + 4;
  }
}

function writeFloat64(values: Float64Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    view.setFloat64(at, values[row]!, true);
    places[row] = at + 8;
  }
}

function writeTexts(
  { offsets, bytes: texts }: Texts,
  present: Rows,
  count: number,
  bytes: Uint8Array,
  view: DataView,
  places: Rows,
): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const from = offsets[row]!;
    const length = offsets[row + 1]! - from;
    const at = places[row]! + LENGTH;
    view.setUint32(at - LENGTH, length, true);
    copyBytes(texts, from, bytes, at, length);
    places[row] = at + length;
  }
}

function readTruths(values: Uint8Array, present: Rows, count: number, bytes: Uint8Array, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    const value = bytes[at]!;
    if (value > 1) throw wrongBatch(row, 'a truth value is neither 0 nor 1');
    values[row] = value;
    places[row] = at + 1;
  }
}

function readInt8(values: Int8Array, present: Rows, count: number, bytes: Uint8Array, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    values[row] = bytes[at]!;
    places[row] = at + 1;
  }
}

function readInt16(values: Int16Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    values[row] = view.getInt16(at, true);
    places[row] = at + 2;
  }
}

function readInt32(values: Int32Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    values[row] = view.getInt32(at, true);
    places[row] = at + 4;
  }
}

function readInt64(halves: Int32Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    halves[2 * row] = view.getInt32(at, true);
    halves[2 * row + 1] = view.getInt32(at + 4, true);
    places[row] = at + 8;
  }
}

function readFloat32(values: Float32Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    values[row] = view.getFloat32(at, true);
    places[row] = at + 4;
  }
}

function readFloat64(values: Float64Array, present: Rows, count: number, view: DataView, places: Rows): void {
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    const at = places[row]!;
    values[row] = view.getFloat64(at, true);
    places[row] = at + 8;
  }
}

function readTexts(
  { offsets, bytes: texts }: Texts,
  present: Rows,
  count: number,
  rows: number,
  bytes: Uint8Array,
  view: DataView,
  places: Rows,
  ends: Rows,
): void {
  const room = texts.length;
  let into = 0;
  let next = 0;
  for (let index = 0; index < count; index += 1) {
    const row = present[index]!;
    // Those before it that are null are empty.
    while (next <= row) {
      offsets[next] = into;
      next += 1;
    }
    const at = places[row]! + LENGTH;
    const length = view.getUint32(at - LENGTH, true);
    if (at + length > ends[row]!) throw wrongBatch(row, 'the row ends too early');
    if (into + length > room) throw wrongBatch(row, 'the columns have no more room');
    copyBytes(bytes, at, texts, into, length);
    into += length;
    places[row] = at + length;
  }
  offsets.fill(into, next, rows + 1);
}

/** The most bytes of texts that are looked at one by one: a call into Node's own code takes as long. */
const FEW_BYTES = 256;

/** Throws unless the first texts are UTF-8, each by itself. */
function checkTexts({ offsets, bytes }: Texts, rows: number): void {
  const end = offsets[rows]!;
  if (end <= FEW_BYTES) {
    let any = 0;
    for (let at = 0; at < end; at += 1) any |= bytes[at]!;
    if (any < 128) return;
  } else if (isAscii(bytes.subarray(0, end))) return;
  for (let row = 0; row < rows; row += 1) {
    if (!isUtf8(bytes.subarray(offsets[row]!, offsets[row + 1]!))) throw wrongBatch(row, 'a text is not UTF-8');
  }
}
