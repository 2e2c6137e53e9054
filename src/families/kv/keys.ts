/**
 * The keys and values of the family, as `native/suite/src/kv.rs` has them: key `i` is `prefix:i`, its value the digits
 * of `i`, padded with leading zeros.
 */
import { checksumMismatch } from '../../errors.js';
import type { Checksum } from '../../records/record.js';
import { familyMatrix } from '../matrix.js';
import type { RequestMatrix } from '../requests/grid.js';

interface KvMatrix extends RequestMatrix {
  /** The bytes of a value. */
  readonly valueBytes: number;
  /** The keys of one pipeline that loads, reads back or deletes. */
  readonly keysAtOnce: number;
}

export const KV_MATRIX = familyMatrix<KvMatrix>('kv');

const { valueBytes: VALUE_BYTES } = KV_MATRIX;

/** The value written before a sample of writes. It adds nothing to the sum. */
export const BLANK = valueOf(0);

const ZERO = 0x30;

export function keyOf(prefix: string, index: number): string {
  return `${prefix}:${index}`;
}

export function valueOf(index: number): string {
  return String(index).padStart(VALUE_BYTES, '0');
}

/** A copy of a text as one flat string: a concatenated string is taken apart again at each use. */
export function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Takes the values that requests read, each with the index of the key that it was read for. */
export interface KvReader {
  addText(value: string | null, key: number): void;
  /** Adds the value between the offsets `start` and `end` of `data`. */
  addBytes(data: Uint8Array, start: number, end: number, key: number): void;
}

/** Checks that each key's value is its own: sums do not show that two answers were exchanged. */
export class KvCheck implements KvReader {
  readonly #values: readonly string[];
  #read = 0;

  /** `values` are the values of the keys. */
  constructor(values: readonly string[]) {
    this.#values = values;
  }

  addText(value: string | null, key: number): void {
    const expected = this.#values[key];
    if (value !== expected)
      throw checksumMismatch(`the key ${key} has the value ${value}, and should have ${expected}`);
    this.#read += 1;
  }

  addBytes(data: Uint8Array, start: number, end: number, key: number): void {
    this.addText(Buffer.from(data.buffer, data.byteOffset + start, end - start).toString('latin1'), key);
  }

  /** Ends the check: every key must have been read. */
  finish(): void {
    if (this.#read !== this.#values.length)
      throw checksumMismatch(`${this.#read} of ${this.#values.length} keys were read`);
  }
}

/** The sums of the values read so far: the numbers in them, and their bytes. */
export class KvSums implements KvReader {
  rows = 0;
  #value = 0;
  #bytes = 0;

  addText(value: string | null): void {
    if (value === null) return;
    this.rows += 1;
    this.#value += Number(value);
    this.#bytes += value.length;
  }

  addBytes(data: Uint8Array, start: number, end: number): void {
    let number = 0;
    for (let index = start; index < end; index += 1) number = number * 10 + data[index]! - ZERO;
    this.rows += 1;
    this.#value += number;
    this.#bytes += end - start;
  }

  checksum(): Checksum {
    return { rows: this.rows, sums: { value: String(this.#value), bytes: String(this.#bytes) } };
  }
}

/** The checksum of the keys below `operations`. */
export function expectedOf(operations: number): Checksum {
  const count = BigInt(operations);
  return {
    rows: operations,
    sums: { value: String((count * (count - 1n)) / 2n), bytes: String(operations * VALUE_BYTES) },
  };
}
