/**
 * Sums that are exact and fast. Numbers hold integers exactly only below 2^53, so the loops over rows add numbers for
 * the length of one block, and carry the block's sum into a `bigint`.
 */
import type { Checksum } from '../../records/record.js';

/** The float columns of this family's tables and results. */
export const FLOAT_COLUMNS: ReadonlySet<string> = new Set(['value', 'avg', 'min', 'max']);

/** A row of `query.texts`. */
export interface TextRow {
  readonly sensor: string;
  readonly measurement: string;
}

/** Whether the columns of a workload are texts. */
export function hasTexts(columns: readonly string[]): boolean {
  return columns.includes('measurement');
}

/** The part of a text in a checksum: its length and the code of its last character, which can't be told without reading it. */
export function sumOfText(text: string): number {
  return text.length + text.charCodeAt(text.length - 1);
}

/** The sum of the parts of texts. */
export function sumTexts(texts: readonly string[]): number {
  let sum = 0;
  for (const text of texts) sum += sumOfText(text);
  return sum;
}

/**
 * The rows that a loop may add as numbers before it carries: this many values below 2^42 sum to less than 2^53, and ids
 * are below 2^31.
 */
export const BLOCK_ROWS = 2048;

/** The checksum of rows of measurements, summed block by block. */
export class MeasurementSums {
  #rows = 0;
  #id = 0n;
  #sensorId = 0n;
  #value = 0;
  #timestamp = 0n;

  /** Adds the sums of a block of rows. The block must be small enough for each number to be exact. */
  add(rows: number, id: number, sensorId: number, value: number, timestamp: bigint): void {
    this.#rows += rows;
    this.#id += BigInt(id);
    this.#sensorId += BigInt(sensorId);
    this.#value += value;
    this.#timestamp += timestamp;
  }

  get checksum(): Checksum {
    return {
      rows: this.#rows,
      sums: {
        id: `${this.#id}`,
        sensor_id: `${this.#sensorId}`,
        value: this.#value,
        timestamp: `${this.#timestamp}`,
      },
    };
  }
}

/** The values of one column of a batch without nulls. */
export type ColumnValues = Int32Array | Float64Array | BigInt64Array;

/** The checksum of rows that are read column by column. */
export class ColumnSums {
  #rows = 0;
  readonly #names: readonly string[];
  readonly #integers: bigint[];
  readonly #floats: number[];
  readonly #isFloat: readonly boolean[];

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#integers = names.map(() => 0n);
    this.#floats = names.map(() => 0);
    this.#isFloat = names.map((name) => FLOAT_COLUMNS.has(name));
  }

  /** Counts the rows of a batch. */
  addRows(rows: number): void {
    this.#rows += rows;
  }

  /** Adds the values of a batch to the column at `position`. A batch has at most 2 Mi rows. */
  addColumn(position: number, values: ColumnValues): void {
    if (values instanceof Float64Array) this.addSum(position, sumFloat64(values));
    else this.addSum(position, values instanceof Int32Array ? sumInt32(values) : sumInt64(values));
  }

  /** Adds the sum of some values to the column at `position`. A sum of integers must be exact. */
  addSum(position: number, sum: number | bigint): void {
    if (this.#isFloat[position] === true) this.#floats[position]! += Number(sum);
    else this.#integers[position]! += BigInt(sum);
  }

  get checksum(): Checksum {
    const sums = this.#names.map((name, position): [string, string | number] => [
      name,
      this.#isFloat[position] === true ? (this.#floats[position] ?? 0) : `${this.#integers[position] ?? 0n}`,
    ]);
    return { rows: this.#rows, sums: Object.fromEntries(sums) };
  }
}

// The sums of columns, with several accumulators, since each addition would otherwise wait for the previous one. The
// loops look alike but stay separate, so that each is compiled for one kind of array.

/** The sum of 32-bit integers. It is exact while the absolute values sum to less than 2^53, as any 4 Mi values do. */
export function sumInt32(values: Int32Array): number {
  const whole = values.length - (values.length % 8);
  let a = 0;
  let b = 0;
  for (let at = 0; at < whole; at += 8) {
    a +=
      (values[at] as number) + (values[at + 1] as number) + ((values[at + 2] as number) + (values[at + 3] as number));
    b +=
      (values[at + 4] as number) +
      (values[at + 5] as number) +
      ((values[at + 6] as number) + (values[at + 7] as number));
  }
  for (let at = whole; at < values.length; at += 1) a += values[at] as number;
  return a + b;
}

/** The sum of floats, to within rounding. */
export function sumFloat64(values: Float64Array): number {
  const whole = values.length - (values.length % 4);
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let at = 0; at < whole; at += 4) {
    a += values[at] as number;
    b += values[at + 1] as number;
    c += values[at + 2] as number;
    d += values[at + 3] as number;
  }
  for (let at = whole; at < values.length; at += 1) a += values[at] as number;
  return a + b + (c + d);
}

/**
 * The sum of 64-bit integers, exact for up to 2 Mi values of any size. The 32-bit halves are added as numbers, which
 * takes a fraction of the time of adding `bigint`s.
 */
export function sumInt64(values: BigInt64Array): bigint {
  const words = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  const whole = words.length - (words.length % 8);
  let lowA = 0;
  let lowB = 0;
  let lowC = 0;
  let lowD = 0;
  let highA = 0;
  let highB = 0;
  let highC = 0;
  let highD = 0;
  for (let at = 0; at < whole; at += 8) {
    lowA += words[at] as number;
    highA += (words[at + 1] as number) | 0;
    lowB += words[at + 2] as number;
    highB += (words[at + 3] as number) | 0;
    lowC += words[at + 4] as number;
    highC += (words[at + 5] as number) | 0;
    lowD += words[at + 6] as number;
    highD += (words[at + 7] as number) | 0;
  }
  for (let at = whole; at < words.length; at += 2) {
    lowA += words[at] as number;
    highA += (words[at + 1] as number) | 0;
  }
  return BigInt(highA + highB + (highC + highD)) * 4_294_967_296n + BigInt(lowA + lowB + (lowC + lowD));
}

/** The checksum of all parts together, over the columns with these names. */
export function mergeChecksums(parts: readonly Checksum[], columns: readonly string[]): Checksum {
  const sums = columns.map((name): [string, string | number] => [
    name,
    mergeSums(parts.map((part) => part.sums[name])),
  ]);
  return { rows: parts.reduce((rows, part) => rows + part.rows, 0), sums: Object.fromEntries(sums) };
}

function mergeSums(sums: readonly (string | number | undefined)[]): string | number {
  if (sums.some((sum) => typeof sum === 'number')) return sums.reduce<number>((all, sum) => all + Number(sum ?? 0), 0);
  return `${sums.reduce<bigint>((all, sum) => all + BigInt(sum ?? 0), 0n)}`;
}
