/** Stages of columns whose values have a fixed width. */
import { types } from 'node:util';

import { ColumnStage, Misfit, type Problem } from './column-stage.js';
import { parseDecimal } from './decimal-text.js';
import { MILLISECONDS_PER_DAY } from './calendar.js';
import { describeValue } from '../crossing/describe-value.js';

const TWO_TO_32 = 2 ** 32;
export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

// The original method, since a value's own `getTime` could run any code.
export const getTime = Date.prototype.getTime;

/** The stage of a column whose values all take `width` bytes. */
abstract class FixedStage extends ColumnStage {
  readonly #bytes: Uint8Array;
  readonly #width: number;

  constructor(capacity: number, nullable: boolean, buffer: ArrayBuffer) {
    super(capacity, nullable);
    this.#bytes = new Uint8Array(buffer);
    this.#width = buffer.byteLength / capacity;
  }

  protected override putBlank(row: number): void {
    this.#bytes.fill(0, row * this.#width, (row + 1) * this.#width);
  }

  protected override valueBytes(rows: number): Uint8Array {
    return this.#bytes.subarray(0, rows * this.#width);
  }
}

export class BoolStage extends FixedStage {
  readonly values: Uint8Array;

  constructor(capacity: number, nullable: boolean) {
    const buffer = new ArrayBuffer(capacity);
    super(capacity, nullable, buffer);
    this.values = new Uint8Array(buffer);
  }

  override putValue(row: number, value: {}): Problem {
    if (typeof value !== 'boolean') return `${describeValue(value)} is not a boolean`;
    this.values[row] = value ? 1 : 0;
    return undefined;
  }
}

/** The stage of integers of 16 or 32 bits. Dates are 32-bit days. */
export class IntStage extends FixedStage {
  readonly values: Int16Array | Int32Array;
  readonly #kind: 'smallint' | 'int' | 'date';

  constructor(capacity: number, nullable: boolean, kind: 'smallint' | 'int' | 'date') {
    const buffer = new ArrayBuffer(capacity * (kind === 'smallint' ? 2 : 4));
    super(capacity, nullable, buffer);
    this.values = kind === 'smallint' ? new Int16Array(buffer) : new Int32Array(buffer);
    this.#kind = kind;
  }

  override putValue(row: number, value: {}): Problem {
    if (this.#kind === 'date' && types.isDate(value)) {
      const days = getTime.call(value) / MILLISECONDS_PER_DAY;
      if (!Number.isInteger(days)) return `${describeValue(value)} is not midnight UTC of a day`;
      this.values[row] = days;
      return undefined;
    }
    if (typeof value !== 'number') {
      return `${describeValue(value)} is not a number${this.#kind === 'date' ? ' of days or a Date' : ''}`;
    }
    if (!Number.isInteger(value)) return `${value} is not an integer`;
    this.values[row] = value;
    // `===` of numbers, by which -0 equals 0.
    return this.values[row] === value ? undefined : `${value} does not fit into ${this.#bits} bits`;
  }

  get #bits(): number {
    return this.values.BYTES_PER_ELEMENT * 8;
  }
}

/** The stage of 64-bit integers. Timestamps are microseconds. */
export class Int64Stage extends FixedStage {
  /** Low and high halves, alternating, so that a safe integer needs no `BigInt()`, which costs several times the rest. */
  readonly halves: Int32Array;
  readonly values: BigInt64Array;
  readonly #isTimestamp: boolean;

  constructor(capacity: number, nullable: boolean, isTimestamp: boolean) {
    const buffer = new ArrayBuffer(capacity * 8);
    super(capacity, nullable, buffer);
    this.halves = new Int32Array(buffer);
    this.values = new BigInt64Array(buffer);
    this.#isTimestamp = isTimestamp;
  }

  override putValue(row: number, value: {}): Problem {
    if (typeof value === 'bigint') {
      if (value < INT64_MIN || value > INT64_MAX) return `${describeValue(value)} does not fit into 64 bits`;
      this.values[row] = value;
      return undefined;
    }
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) return `${value} is not an integer`;
      if (!Number.isSafeInteger(value)) return `${value} is not a safe integer; give it as a bigint`;
      this.halves[2 * row] = value | 0;
      this.halves[2 * row + 1] = Math.floor(value / TWO_TO_32);
      return undefined;
    }
    if (this.#isTimestamp && types.isDate(value)) {
      const milliseconds = getTime.call(value);
      if (Number.isNaN(milliseconds)) return 'the Date is invalid';
      this.values[row] = BigInt(milliseconds) * 1000n;
      return undefined;
    }
    return `${describeValue(value)} is not a bigint or a number${this.#isTimestamp ? ' of microseconds or a Date' : ''}`;
  }
}

/** The stage of floats of 32 or 64 bits. */
export class FloatStage extends FixedStage {
  readonly values: Float32Array | Float64Array;

  constructor(capacity: number, nullable: boolean, kind: 'real' | 'double') {
    const buffer = new ArrayBuffer(capacity * (kind === 'real' ? 4 : 8));
    super(capacity, nullable, buffer);
    this.values = kind === 'real' ? new Float32Array(buffer) : new Float64Array(buffer);
  }

  override putValue(row: number, value: {}): Problem {
    if (typeof value !== 'number') return `${describeValue(value)} is not a number`;
    this.values[row] = value;
    const hasOverflown = Math.abs(this.values[row]!) === Infinity && Math.abs(value) !== Infinity;
    return hasOverflown ? `${value} does not fit into a 32-bit float` : undefined;
  }
}

/** The stage of decimals: 128-bit integers, counting units of 10^-scale. */
export class DecimalStage extends FixedStage {
  readonly #words: BigInt64Array;
  readonly #quarters: Int32Array;
  readonly #precision: number;
  readonly #scale: number;

  constructor(capacity: number, nullable: boolean, precision: number, scale: number) {
    const buffer = new ArrayBuffer(capacity * 16);
    super(capacity, nullable, buffer);
    this.#words = new BigInt64Array(buffer);
    this.#quarters = new Int32Array(buffer);
    this.#precision = precision;
    this.#scale = scale;
  }

  override putValue(row: number, value: {}): Problem {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') {
      return `${describeValue(value)} is not a string, a bigint or a number`;
    }
    if (typeof value === 'bigint' && BigInt.asIntN(128, value) !== value) {
      return `${describeValue(value)} has more digits than DECIMAL(${this.#precision}, ${this.#scale})`;
    }
    const units = parseDecimal(String(value), this.#precision, this.#scale);
    if (units instanceof Misfit) return `${describeValue(value)} ${units.problem}`;
    if (typeof units === 'number') {
      const sign = units < 0 ? -1 : 0;
      this.#quarters[4 * row] = units | 0;
      this.#quarters[4 * row + 1] = Math.floor(units / TWO_TO_32);
      this.#quarters[4 * row + 2] = sign;
      this.#quarters[4 * row + 3] = sign;
    } else {
      // An element of a `BigInt64Array` keeps the lowest 64 bits of the value stored.
      this.#words[2 * row] = units;
      this.#words[2 * row + 1] = units >> 64n;
    }
    return undefined;
  }
}
