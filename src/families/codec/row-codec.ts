/**
 * Rows of a table as bytes, written from values and read into values one by one. `native/suite/src/codec/row_format.rs`
 * describes their layout, and has the same in Rust.
 *
 * Short texts are written and read character by character, since a call into `Buffer`'s own code takes as long as some
 * forty characters. The short texts of a batch are parts of one string, which is made of all its bytes, each as a
 * character. A text with a byte above 127 is not among them.
 */
import { BoundaryError } from '../../errors.js';

/** The type of a column. */
export type RowKind =
  | 'truth'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float32'
  | 'float64'
  | 'text'
  | 'bytes'
  | 'timestamp';

/** The bytes of a length. */
export const LENGTH = 4;

/** The most characters of a text that are written one by one. */
const SHORT = 40;

/** The size in bytes of the bitmap of `columns` columns. */
export function bitmapBytes(columns: number): number {
  return Math.ceil(columns / 8);
}

/** The error for bytes that are no batch. */
export function wrongBatch(row: number, problem: string): BoundaryError {
  return new BoundaryError('BB_INVALID_ARGUMENT', `rows, row ${row}: ${problem}`);
}

/** Writes the rows of a batch, of 24 columns at most, into memory that grows if it is too small. */
export class RowWriter {
  /** The batch, in the first `length` bytes. */
  bytes: Buffer;
  length = 0;
  readonly #bitmap: number;
  #view: DataView;
  #start = 0;

  constructor(columns: number, room = 1024) {
    this.#bitmap = bitmapBytes(columns);
    this.bytes = Buffer.from(new ArrayBuffer(room));
    this.#view = new DataView(this.bytes.buffer);
  }

  /** Begins a batch, which overwrites the previous batch. */
  clear(): void {
    this.length = 0;
  }

  /** Begins a row, whose values take `room` bytes at most, the lengths of texts included: of a text three bytes a character. */
  begin(room: number): void {
    this.#start = this.length;
    const head = LENGTH + this.#bitmap;
    if (this.length + head + room > this.bytes.length) this.#grow(head + room);
    this.length += head;
  }

  /** Ends the row, of which the values in these bits are null. */
  end(nulls: number): void {
    this.#view.setUint32(this.#start, this.length - this.#start - LENGTH, true);
    let bits = nulls;
    for (let byte = 0; byte < this.#bitmap; byte += 1) {
      this.bytes[this.#start + LENGTH + byte] = bits;
      bits >>>= 8;
    }
  }

  truth(value: boolean): void {
    this.bytes[this.length] = value ? 1 : 0;
    this.length += 1;
  }

  int8(value: number): void {
    this.bytes[this.length] = value;
    this.length += 1;
  }

  int16(value: number): void {
    this.#view.setInt16(this.length, value, true);
    this.length += 2;
  }

  int32(value: number): void {
    this.#view.setInt32(this.length, value, true);
    this.length += 4;
  }

  int64(value: bigint): void {
    this.#view.setBigInt64(this.length, value, true);
    this.length += 8;
  }

  float32(value: number): void {
    this.#view.setFloat32(this.length, value, true);
    this.length += 4;
  }

  float64(value: number): void {
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  /** Writes milliseconds since 1970. */
  timestamp(value: number): void {
    this.float64(value);
  }

  text(value: string): void {
    const start = this.length + LENGTH;
    const written = this.#writeShort(value, start);
    const size = written >= 0 ? written : this.bytes.write(value, start);
    this.#view.setUint32(this.length, size, true);
    this.length = start + size;
  }

  /** Writes a text of few characters, each of which takes a byte; -1 for another text. */
  #writeShort(value: string, start: number): number {
    if (value.length > SHORT) return -1;
    const { bytes } = this;
    for (let at = 0; at < value.length; at += 1) {
      const code = value.charCodeAt(at);
      if (code > 127) return -1;
      bytes[start + at] = code;
    }
    return value.length;
  }

  bytesOf(value: Uint8Array): void {
    const { length } = value;
    this.#view.setUint32(this.length, length, true);
    const start = this.length + LENGTH;
    if (length > SHORT) this.bytes.set(value, start);
    else for (let at = 0; at < length; at += 1) this.bytes[start + at] = value[at]!;
    this.length = start + length;
  }

  #grow(room: number): void {
    const bytes = Buffer.from(new ArrayBuffer(2 * this.bytes.length + room));
    bytes.set(this.bytes.subarray(0, this.length));
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/** The bytes of a text that are copied at once: copying this many takes as long as copying one byte. */
const WORD = 4;

/** The longest text that is copied by words: the function of a typed array takes as long for a longer one. */
const MOST_WORDS = 64;

/**
 * Copies bytes. Throws a `RangeError` if one of the views ends before. The bytes behind the copy may change too, up to the end of
 * `to`.
 */
export function copyBytes(from: DataView, place: number, to: DataView, into: number, length: number): void {
  const end = length + WORD - 1;
  if (length > MOST_WORDS || place + end > from.byteLength || into + end > to.byteLength) {
    if (place + length > from.byteLength || into + length > to.byteLength) {
      throw new RangeError(`${length} bytes have no room`);
    }
    const source = new Uint8Array(from.buffer, from.byteOffset + place, length);
    new Uint8Array(to.buffer, to.byteOffset + into, length).set(source);
    return;
  }
  for (let at = 0; at < length; at += WORD) to.setInt32(into + at, from.getInt32(place + at, true), true);
}

/**
 * Reads the rows of a batch, of 24 columns at most. Bytes that are no such row are refused with a `BoundaryError` of the code
 * `BB_INVALID_ARGUMENT`, some of them only at the next row. Some are refused by a `RangeError` at the end of the memory.
 */
export class RowReader {
  /** The bits of the columns that are null in the row. */
  nulls = 0;
  readonly #columns: number;
  readonly #bitmap: number;
  /** All of the memory that the batch lies in. Mostly, the next one lies there too. */
  #memory: Buffer = Buffer.from(new ArrayBuffer(0));
  #view = new DataView(this.#memory.buffer);
  /** All bytes of the batch, each as a character. */
  #characters = '';
  /** The place of the batch in the memory, as are those below. */
  #start = 0;
  #at = 0;
  /** The end of the row. */
  #end = 0;
  /** The end of the batch. */
  #last = 0;
  #row = -1;

  constructor(columns: number) {
    this.#columns = columns;
    this.#bitmap = bitmapBytes(columns);
  }

  /** Begins a batch. */
  open({ buffer, byteOffset, length }: Uint8Array): void {
    if (buffer !== this.#view.buffer) {
      this.#memory = Buffer.from(buffer as ArrayBuffer);
      this.#view = new DataView(buffer);
    }
    this.#characters = this.#memory.toString('latin1', byteOffset, byteOffset + length);
    this.#start = byteOffset;
    this.#at = byteOffset;
    this.#end = byteOffset;
    this.#last = byteOffset + length;
    this.#row = -1;
  }

  /** Begins the next row; false if there is none. */
  next(): boolean {
    if (this.#at !== this.#end) {
      throw this.#wrong(this.#at < this.#end ? 'the row goes on behind its last value' : 'the row ends too early');
    }
    if (this.#at === this.#last) return false;
    this.#row += 1;
    const start = this.#at + LENGTH;
    if (start > this.#last) throw this.#wrong('the row ends too early');
    this.#end = start + this.#view.getUint32(this.#at, true);
    this.#at = start + this.#bitmap;
    if (this.#at > this.#end || this.#end > this.#last) throw this.#wrong('the row ends too early');
    let nulls = 0;
    for (let byte = this.#bitmap - 1; byte >= 0; byte -= 1) nulls = (nulls << 8) | this.#memory[start + byte]!;
    if (nulls >>> this.#columns !== 0) throw this.#wrong('the bitmap names columns that there are not');
    this.nulls = nulls;
    return true;
  }

  /** Throws if the row has a null. */
  noNulls(): void {
    if (this.nulls !== 0) throw this.#wrong('a value is null in a column that has none');
  }

  truth(): boolean {
    const value = this.#view.getUint8(this.#at);
    this.#at += 1;
    if (value > 1) throw this.#wrong('a truth value is neither 0 nor 1');
    return value === 1;
  }

  int8(): number {
    this.#at += 1;
    return this.#view.getInt8(this.#at - 1);
  }

  int16(): number {
    this.#at += 2;
    return this.#view.getInt16(this.#at - 2, true);
  }

  int32(): number {
    this.#at += 4;
    return this.#view.getInt32(this.#at - 4, true);
  }

  int64(): bigint {
    this.#at += 8;
    return this.#view.getBigInt64(this.#at - 8, true);
  }

  float32(): number {
    this.#at += 4;
    return this.#view.getFloat32(this.#at - 4, true);
  }

  float64(): number {
    this.#at += 8;
    return this.#view.getFloat64(this.#at - 8, true);
  }

  /** Reads milliseconds since 1970. */
  timestamp(): number {
    return this.float64();
  }

  text(): string {
    const start = this.#pass();
    const end = this.#at;
    let at = start;
    let bits = 0;
    for (; at + 4 <= end; at += 4) bits |= this.#view.getInt32(at);
    for (; at < end; at += 1) bits |= this.#memory[at]!;
    // The highest bit of a byte is set in characters that are not ASCII alone.
    if ((bits & 0x80_80_80_80) !== 0) return this.#wideText(start, end);
    return this.#characters.substring(start - this.#start, end - this.#start);
  }

  #wideText(start: number, end: number): string {
    try {
      return UTF8.decode(this.#memory.subarray(start, end));
    } catch {
      throw this.#wrong('a text is not UTF-8');
    }
  }

  /** Reads bytes, where they lie. */
  bytes(): Uint8Array {
    const start = this.#pass();
    return new Uint8Array(this.#view.buffer, start, this.#at - start);
  }

  /** Passes a text with its length. Returns the place of the text. */
  #pass(): number {
    const start = this.#at + LENGTH;
    this.#at = start + this.#view.getUint32(this.#at, true);
    if (this.#at > this.#end) throw this.#wrong('the row ends too early');
    return start;
  }

  #wrong(problem: string): BoundaryError {
    return wrongBatch(this.#row, problem);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
