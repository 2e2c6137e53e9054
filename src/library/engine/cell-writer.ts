import { types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { Misfit } from './column-stage.js';
import { type ParameterInput, toRaw } from './parameters.js';
import { isWellFormed } from '../crossing/well-formed.js';
import { byteLengthOf, isGone } from '../crossing/typed-memory.js';

/** Kinds of values, in the byte before each value. `native/clients/mysql/src/cells.rs` describes them. */
const NULL = 0;
const FALSE = 1;
const TRUE = 2;
const INT = 3;
const DOUBLE = 4;
const TEXT = 5;
const BYTES = 6;
const DECIMAL = 7;
const DATE = 8;
const TIMESTAMP = 9;

const TWO_TO_32 = 2 ** 32;

/** From here on an integral number can't be meant as a signed 64-bit integer: it is a double. */
const TWO_TO_63 = 2 ** 63;

/** Strings up to this length are written byte by byte: a call into the runtime takes longer. */
const SHORT_TEXT = 64;

/** A buffer larger than this many bytes is dropped by `clear`. */
const KEPT_BYTES = 1 << 20;
const FIRST_BYTES = 1 << 14;

/** The most bytes of a submission: their number is a 32-bit integer, of which the addon uses 31 bits. */
const MOST_BYTES = 2 ** 31 - 1;

/** A buffer that grows as values are appended to it. */
export class CellWriter {
  readonly #firstBytes: number;
  #bytes: Buffer;
  #view: DataView;
  #length = 0;

  /** `firstBytes` is the size of the first buffer, which a test makes so small that every value meets its end. */
  constructor(firstBytes = FIRST_BYTES) {
    this.#firstBytes = firstBytes;
    this.#bytes = Buffer.allocUnsafeSlow(firstBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** The memory, whose first `length` bytes are written. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Removes everything written. */
  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > KEPT_BYTES) this.#allocate(this.#firstBytes);
  }

  /** Appends a 32-bit word. */
  word(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  /** Overwrites the 32-bit word at `at`. */
  setWord(at: number, value: number): void {
    this.#view.setUint32(at, value, true);
  }

  /**
   * Appends a string as UTF-8, without its length. Returns the number of bytes, or -1 if the string is not well-formed Unicode.
   */
  text(text: string): number {
    // UTF-8 takes at most three bytes per UTF-16 unit of a string.
    this.#reserve(text.length * 3);
    const at = this.#length;
    const end = this.#put(at, text);
    if (end === -1) return -1;
    this.#length = end;
    return end - at;
  }

  /** Appends the first `count` values of a list. Throws `BB_INVALID_ARGUMENT` with the position of an unsupported value. */
  list(values: readonly ParameterInput[], count: number): void {
    for (let index = 0; index < count; index += 1) {
      const value = values[index]!;
      if (!this.#value(value)) this.#other(value, index);
    }
  }

  /** Appends a value of a common type. Returns false if it has none of these types. */
  #value(value: ParameterInput): boolean {
    switch (typeof value) {
      case 'number': {
        this.#reserve(9);
        const bytes = this.#bytes;
        const at = this.#length;
        if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
          bytes[at] = INT;
          this.#view.setInt32(at + 1, value | 0, true);
          this.#view.setInt32(at + 5, Math.floor(value / TWO_TO_32), true);
        } else {
          if (Number.isInteger(value) && value !== 0 && Math.abs(value) < TWO_TO_63) return false;
          bytes[at] = DOUBLE;
          this.#view.setFloat64(at + 1, value, true);
        }
        this.#length = at + 9;
        return true;
      }
      case 'string':
        return this.#sizedText(TEXT, value);
      case 'boolean':
        this.#kind(value ? TRUE : FALSE);
        return true;
      case 'bigint':
        if (BigInt.asIntN(64, value) === value) {
          this.#int64(INT, value);
          return true;
        }
        // A value of BIGINT UNSIGNED, exactly.
        return BigInt.asUintN(64, value) === value && this.#sizedText(DECIMAL, value.toString());
      default:
        if (value !== null) return false;
        this.#kind(NULL);
        return true;
    }
  }

  /** Appends a kind whose value takes no bytes. */
  #kind(kind: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = kind;
    this.#length += 1;
  }

  #double(value: number): void {
    this.#reserve(9);
    this.#bytes[this.#length] = DOUBLE;
    this.#view.setFloat64(this.#length + 1, value, true);
    this.#length += 9;
  }

  #int64(kind: number, value: bigint): void {
    this.#reserve(9);
    this.#bytes[this.#length] = kind;
    this.#view.setBigInt64(this.#length + 1, value, true);
    this.#length += 9;
  }

  #sizedText(kind: number, text: string): boolean {
    this.#reserve(5 + text.length * 3);
    const at = this.#length;
    const end = this.#put(at + 5, text);
    if (end === -1) return false;
    this.#bytes[at] = kind;
    this.#view.setUint32(at + 1, end - at - 5, true);
    this.#length = end;
    return true;
  }

  /** Writes a string at `at`. Returns the end, or -1 if the string is not well-formed Unicode. */
  #put(at: number, text: string): number {
    const bytes = this.#bytes;
    const { length } = text;
    if (length <= SHORT_TEXT) {
      let index = 0;
      for (; index < length; index += 1) {
        const code = text.charCodeAt(index);
        if (code > 127) break;
        bytes[at + index] = code;
      }
      if (index === length) return at + length;
    }
    if (!isWellFormed(text)) return -1;
    return at + bytes.write(text, at, 'utf8');
  }

  /** Appends a value of a less common type. */
  #other(value: unknown, index: number): void {
    if (types.isUint8Array(value)) {
      const length = byteLengthOf(value);
      if (length === 0 && isGone(value)) throw invalid(index, 'the memory of the Uint8Array is detached');
      this.#reserve(5 + length);
      const at = this.#length;
      this.#bytes[at] = BYTES;
      this.#view.setUint32(at + 1, length, true);
      this.#bytes.set(value, at + 5);
      this.#length = at + 5 + length;
      return;
    }
    if (typeof value === 'number') {
      throw invalid(index, `${value} is not a safe integer; give it as a bigint, or as a typed DOUBLE`);
    }
    const raw = toRaw(value);
    if (raw instanceof Misfit) throw invalid(index, raw.problem);
    if (raw instanceof Uint8Array) return this.#other(raw, index);
    if (typeof raw !== 'object' || raw === null) {
      // A typed double may be any number, also an unsafe integer.
      if (typeof raw === 'number') {
        this.#double(raw);
      } else if (!this.#value(raw as ParameterInput)) {
        throw invalid(index, `${describeValue(value)} is not a value of SQL`);
      }
      return;
    }
    const { kind, value: inner } = raw as { readonly kind: string; readonly value: unknown };
    if (inner === null) {
      this.#kind(NULL);
    } else if (kind === 'smallint' || kind === 'int') {
      this.#int64(INT, BigInt(inner as number | bigint));
    } else if (kind === 'real') {
      this.#double(Math.fround(inner as number));
    } else if (kind === 'timestamp') {
      this.#int64(TIMESTAMP, inner as bigint);
    } else if (kind === 'date') {
      this.#reserve(5);
      this.#bytes[this.#length] = DATE;
      this.#view.setInt32(this.#length + 1, inner as number, true);
      this.#length += 5;
    } else {
      this.#sizedText(DECIMAL, inner as string);
    }
  }

  /**
   * Makes room for `bytes` more bytes behind the first `#length`. It may replace the buffer and its view, so both are read after it.
   * It returns nothing, so that no expression can read the buffer, call this, and write to the old buffer.
   */
  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed > this.#bytes.length) {
      if (needed > MOST_BYTES) throw invalidArgument('more than 2 GiB at once; give less');
      const old = this.#bytes;
      this.#allocate(Math.min(Math.max(needed, old.length * 2), MOST_BYTES));
      old.copy(this.#bytes, 0, 0, this.#length);
    }
  }

  #allocate(bytes: number): void {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
    this.#view = new DataView(this.#bytes.buffer);
  }
}

function invalid(index: number, problem: string): BoundaryError {
  return invalidArgument(`parameter ${index + 1}: ${problem}`);
}
