import { medianInPlace } from './median-in-place.js';
import type { DrawIndex } from './random.js';
import { studentQuantile } from './student.js';

/** The values of one cell, an array for each process that measured it. */
export type Forks = readonly (readonly number[])[];

/** The part of cases in which an interval may miss the truth, unless another is asked for. */
export const RISK = 0.05;

/** The draws of the median of a cell's values by the hierarchical bootstrap: forks with replacement, then the values within each. */
export class Resampling {
  /** The number of forks. For a cell with one fork, it is the number of its values: each counts as a fork of one value. */
  readonly count: number;
  readonly #units: readonly Float64Array[];
  readonly #scratch: Float64Array;

  /** Throws a `RangeError` if there is no value. */
  constructor(forks: Forks) {
    const filled = forks.filter((values) => values.length > 0);
    if (filled.length === 0) throw new RangeError('a ratio needs at least one value of each cell');
    const units = filled.length === 1 ? filled[0]!.map((value) => [value]) : filled;
    this.#units = units.map((values) => Float64Array.from(values));
    this.count = units.length;
    // Room for as many values as can be drawn.
    this.#scratch = new Float64Array(units.length * Math.max(...units.map(({ length }) => length)));
  }

  /** The degrees of freedom of what the forks say of their differences: one less than the forks, and at least one. */
  get degrees(): number {
    return Math.max(1, this.count - 1);
  }

  /** The median of newly drawn values. */
  median(draw: DrawIndex): number {
    const units = this.#units;
    const scratch = this.#scratch;
    let count = 0;
    for (let unit = 0; unit < units.length; unit++) {
      const values = units[draw(units.length)]!;
      for (let i = 0; i < values.length; i++) scratch[count++] = values[draw(values.length)]!;
    }
    return medianInPlace(scratch.subarray(0, count));
  }
}

/**
 * The standard errors by which an interval with this `risk` reaches beyond its estimate: the quantile of Student's t with `degrees`
 * of freedom. Percentiles of resampled values would never reach beyond the extremes of a few forks, however far these may be from
 * the truth.
 */
export function reachOf(degrees: number, risk = RISK): number {
  return studentQuantile(1 - risk / 2, degrees);
}

const REACH_OF_CHOICE = 0.35;

/**
 * How much further an interval reaches if a part of the processes chose, by cross-validation, among cells that are about as fast.
 * Their results are then not independent. By simulation (repeated by __test__/stats/ratio-in-turns.test.ts), the intervals of two
 * to four equal cells then miss the truth less than 1.8 times as often as the intervals of one.
 */
export function reachOfChoice(part: number): number {
  return 1 + REACH_OF_CHOICE * part;
}

/**
 * The variance of a figure, from the variance of its resampled values. These vary less, by the part that `degrees` lacks to the
 * number of forks (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015, section 4.5).
 */
export function unshrunk(variance: number, degrees: number): number {
  return (variance * (degrees + 1)) / degrees;
}
