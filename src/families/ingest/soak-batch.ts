import type { ColumnBatch } from '../../clients/ingest-target.js';
import { matrix } from './matrix.js';

const HALF = 2 ** 32;
const { valueDivisor: VALUE_DIVISOR } = matrix;

/** A batch of points in reused memory: point `i` has the value `i / 1000`, and its time is `i` milliseconds after the first. */
export class SoakBatch implements ColumnBatch {
  readonly values: Float64Array;
  readonly timestamps: BigInt64Array;
  readonly #halves: Uint32Array;

  constructor(points: number) {
    this.values = new Float64Array(points);
    this.timestamps = new BigInt64Array(points);
    this.#halves = new Uint32Array(this.timestamps.buffer);
  }

  /** Fills the batch with the points from number `from` on. */
  fill(from: number, firstTime: number): void {
    const { values } = this;
    // Written by halves, since a bigint per point would take longer than sending the batch.
    const halves = this.#halves;
    for (let index = 0; index < values.length; index += 1) {
      const time = firstTime + from + index;
      values[index] = (from + index) / VALUE_DIVISOR;
      halves[2 * index] = time % HALF;
      halves[2 * index + 1] = time / HALF;
    }
  }
}
