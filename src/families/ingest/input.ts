/** The points of the family, as `native/suite/src/ingest.rs` has them, and their sums. */
import { checksumMismatch } from '../../errors.js';
import { ColumnsEncoder, type SeriesNames } from '../../library/codecs/columns-codec.js';
import { LineEncoder } from '../../library/codecs/line-codec.js';
import type { Checksum } from '../../records/record.js';
import type { ColumnBatch } from '../../clients/js-codec.js';
import { sumFloat64, sumInt64 } from '../measurements/checksum.js';
import { matrix, type StageInput } from './matrix.js';

const NANOSECONDS = 1_000_000n;

/** The distinct batches that a sample uses in turn. */
export function inputBatches(): ColumnBatch[] {
  const { batchRows, inputBatches: batches, timestampStart, valueDivisor } = matrix;
  return Array.from({ length: batches }, (_, batch) => {
    const first = batch * batchRows;
    return {
      values: Float64Array.from({ length: batchRows }, (_, index) => (first + index) / valueDivisor),
      timestamps: BigInt64Array.from({ length: batchRows }, (_, index) => BigInt(timestampStart + first + index)),
    };
  });
}

/** A batch as the body of a request. */
export function bodyOf(input: Exclude<StageInput, 'columns'>, { values, timestamps }: ColumnBatch): Uint8Array {
  const encoder = input === 'lines' ? new LineEncoder(matrix) : new ColumnsEncoder(matrix);
  return encoder.encode(values, timestamps);
}

function sumNumbers(numbers: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < numbers.length; index += 1) sum += numbers[index]!;
  return sum;
}

/** A reader that takes the points of each batch of a sample. */
export interface PointReader {
  /** Takes a batch whose times are milliseconds. */
  add(values: ArrayLike<number>, milliseconds: ArrayLike<number | bigint>): void;
  /** Takes a batch whose times are nanoseconds. */
  addNanoseconds(values: ArrayLike<number>, nanoseconds: BigInt64Array): void;
  /** Takes the names of the series of a batch, if the reader checks them. */
  addNames?(names: readonly SeriesNames[]): void;
}

/** Checks that the batches come in their order, each with its points in their order: sums do not show that two were exchanged. */
export class PointCheck implements PointReader {
  readonly #inputs: readonly ColumnBatch[];
  #batches = 0;

  constructor(inputs: readonly ColumnBatch[]) {
    this.#inputs = inputs;
  }

  add(values: ArrayLike<number>, milliseconds: ArrayLike<number | bigint>): void {
    this.#check(values, milliseconds, 1n);
  }

  addNanoseconds(values: ArrayLike<number>, nanoseconds: BigInt64Array): void {
    this.#check(values, nanoseconds, NANOSECONDS);
  }

  addNames(names: readonly SeriesNames[]): void {
    const [found, expected] = [names, [matrix]].map((some) =>
      JSON.stringify(some.map(({ measurement, tags = {}, field }) => [measurement, Object.entries(tags), field])),
    );
    if (found !== expected) throw checksumMismatch(`the points are of ${found}, and should be of ${expected}`);
  }

  /** Ends the check: `batches` batches must have come. */
  finish(batches: number): void {
    if (this.#batches !== batches) throw checksumMismatch(`${this.#batches} batches came instead of ${batches}`);
  }

  /** `unit` is the number of time units in a millisecond. */
  #check(values: ArrayLike<number>, times: ArrayLike<number | bigint>, unit: bigint): void {
    const batch = this.#batches++;
    const expected = this.#inputs[batch % this.#inputs.length]!;
    const points = expected.values.length;
    if (values.length !== points || times.length !== points) {
      throw checksumMismatch(
        `batch ${batch} has ${values.length} values and ${times.length} times, not ${points} of each`,
      );
    }
    for (let index = 0; index < points; index += 1) {
      const [value, time] = [expected.values[index]!, expected.timestamps[index]! * unit];
      if (!Object.is(values[index], value) || BigInt(times[index]!) !== time) {
        const found = `the value ${values[index]} at ${times[index]}`;
        throw checksumMismatch(`batch ${batch}: point ${index} has ${found}, and should have ${value} at ${time}`);
      }
    }
  }
}

/** The sums of the values, and of the times in nanoseconds, of a sample's batches. */
export class StageSums implements PointReader {
  #rows = 0;
  #values = 0;
  #times = 0n;

  add(values: ArrayLike<number>, milliseconds: ArrayLike<number | bigint>): void {
    this.#add(values, milliseconds, NANOSECONDS);
  }

  addNanoseconds(values: ArrayLike<number>, nanoseconds: BigInt64Array): void {
    this.#add(values, nanoseconds, 1n);
  }

  #add(values: ArrayLike<number>, times: ArrayLike<number | bigint>, unit: bigint): void {
    if (values.length !== times.length) throw new RangeError(`${values.length} values and ${times.length} times`);
    this.#rows += values.length;
    this.#values += values instanceof Float64Array ? sumFloat64(values) : sumNumbers(values);
    // The milliseconds of a batch sum to less than 2^53.
    const sum = times instanceof BigInt64Array ? sumInt64(times) : BigInt(sumNumbers(times as ArrayLike<number>));
    this.#times += sum * unit;
  }

  get checksum(): Checksum {
    return { rows: this.#rows, sums: { value: this.#values, time: `${this.#times}` } };
  }
}

/** The checksum of `batches` batches, in closed form. */
export function expectedOf(batches: number): Checksum {
  const { batchRows, inputBatches: inputs, timestampStart, valueDivisor } = matrix;
  const sumBelow = (count: bigint): bigint => (count * (count - 1n)) / 2n;
  const rowsOf = (some: number): bigint => BigInt(some) * BigInt(batchRows);
  const cycles = BigInt(Math.floor(batches / inputs));
  const indexes = cycles * sumBelow(rowsOf(inputs)) + sumBelow(rowsOf(batches % inputs));
  const time = (rowsOf(batches) * BigInt(timestampStart) + indexes) * NANOSECONDS;
  return {
    rows: batches * batchRows,
    sums: { value: Number(indexes) / valueDivisor, time: `${time}` },
  };
}
