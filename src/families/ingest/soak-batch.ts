import type { ColumnBatch } from '../../clients/ingest-target.js';

const HALF = 2 ** 32;
const VALUE_DIVISOR = 1000;

/** A batch of points in memory that is used again: point `i` has the value `i` thousandths, `i` milliseconds after the first. */
export class SoakBatch implements ColumnBatch {
  readonly values: Float64Array;
  readonly timestamps: BigInt64Array;
  readonly #halves: Uint32Array;

  constructor(points: number) {
    this.values = new Float64Array(points);
    this.timestamps = new BigInt64Array(points);
    this.#halves = new Uint32Array(this.timestamps.buffer);
  }

  /** Fills it with the points from this one on. */
  fill(from: number, firstTime: number): void {
    const { values } = this;
    // By halves: a bigint for each point would take longer than sending it.
    const halves = this.#halves;
    for (let index = 0; index < values.length; index += 1) {
      const time = firstTime + from + index;
      values[index] = (from + index) / VALUE_DIVISOR;
      halves[2 * index] = time % HALF;
      halves[2 * index + 1] = time / HALF;
    }
  }
}
