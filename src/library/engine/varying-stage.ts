/** Stages of columns whose values vary in width: text and bytes. */
import { Buffer } from 'node:buffer';
import { types } from 'node:util';

import { ColumnStage, type Problem } from './column-stage.js';
import { describeValue } from '../crossing/describe-value.js';
import { isWellFormed, LONE_SURROGATE } from '../crossing/well-formed.js';
import { byteLengthOf, isGone } from '../crossing/typed-memory.js';

/**
 * Bytes of a stage above which it is sent before it is full, so that batches stay of similar size. It is less for many such
 * columns.
 */
export const LARGE_BYTES = 4 << 20;

/** A buffer that one huge value made larger than this many bytes is dropped after its batch. */
const LARGEST_KEPT_BUFFER = 8 * LARGE_BYTES;

/** The most bytes of a stage, since offsets are signed 32-bit integers. */
const MOST_BYTES = 2 ** 31 - 1;

/** Strings up to this length are written by a loop over their characters, which is faster than a call into the runtime. */
const SHORT_TEXT = 24;

/** UTF-8 takes at most three bytes per UTF-16 unit of a string. */
const BYTES_PER_UNIT = 3;

/** A stage of values concatenated in a buffer that grows. */
abstract class VaryingStage extends ColumnStage {
  /** The offsets of the values in bytes: value i lies between the offsets i and i + 1. */
  readonly offsets: Int32Array;
  protected buffer: Buffer = Buffer.alloc(0);

  readonly #largeBytes: number;

  constructor(capacity: number, nullable: boolean, largeBytes: number) {
    super(capacity, nullable);
    this.#largeBytes = largeBytes;
    this.offsets = new Int32Array(capacity + 1);
  }

  override isLarge(rows: number): boolean {
    return this.offsets[rows]! > this.#largeBytes;
  }

  override reset(): void {
    super.reset();
    if (this.buffer.length > LARGEST_KEPT_BUFFER) this.buffer = Buffer.alloc(0);
  }

  /** Makes room for `length` bytes from `start` on. Returns false if offsets can't count that far. */
  protected reserve(start: number, length: number): boolean {
    const end = start + length;
    if (end <= this.buffer.length) return true;
    if (end > MOST_BYTES) return false;
    const grown = Buffer.allocUnsafeSlow(Math.min(MOST_BYTES, Math.max(2 * end, this.capacity * 16)));
    this.buffer.copy(grown, 0, 0, start);
    this.buffer = grown;
    return true;
  }

  protected override putBlank(row: number): void {
    this.offsets[row + 1] = this.offsets[row]!;
  }

  protected override offsetBytes(rows: number): Uint8Array {
    return new Uint8Array(this.offsets.buffer, 0, (rows + 1) * 4);
  }

  protected override valueBytes(rows: number): Uint8Array {
    return new Uint8Array(this.buffer.buffer, this.buffer.byteOffset, this.offsets[rows]!);
  }
}

export class TextStage extends VaryingStage {
  override putValue(row: number, value: {}): Problem {
    if (typeof value !== 'string') return `${describeValue(value)} is not a string`;
    const start = this.offsets[row]!;
    const length = value.length;
    if (!this.reserve(start, BYTES_PER_UNIT * length)) return `a string of ${length} characters is too long`;
    const buffer = this.buffer;
    if (length <= SHORT_TEXT) {
      let index = 0;
      for (; index < length; index++) {
        const unit = value.charCodeAt(index);
        if (unit >= 0x80) break;
        buffer[start + index] = unit;
      }
      if (index === length) {
        this.offsets[row + 1] = start + length;
        return undefined;
      }
    }
    if (!isWellFormed(value)) return `${describeValue(value)} ${LONE_SURROGATE}`;
    this.offsets[row + 1] = start + buffer.write(value, start, 'utf8');
    return undefined;
  }
}

export class BytesStage extends VaryingStage {
  override putValue(row: number, value: {}): Problem {
    if (!types.isUint8Array(value)) return `${describeValue(value)} is not a Uint8Array`;
    const length = byteLengthOf(value);
    if (length === 0 && isGone(value)) return 'the memory of the Uint8Array is detached';
    const start = this.offsets[row]!;
    if (!this.reserve(start, length)) return `${length} bytes are too long`;
    this.buffer.set(value, start);
    this.offsets[row + 1] = start + length;
    return undefined;
  }
}
