import type { Verdict } from '../records/record.js';
import { medianInPlace } from './median-in-place.js';
import { median, quantileOfSorted } from './quantile.js';
import { type DrawIndex, seededDraws } from './random.js';
import { normalBelow, studentQuantile } from './student.js';

/** A ratio with the ends of its 95% interval. */
export interface RatioInterval {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** The values of one cell, an array for each process that measured it. */
export type Forks = readonly (readonly number[])[];

/**
 * The fewest forks of a cell whose interval holds what it says. Of fewer, the differences between processes are hardly known.
 * Reports mark such comparisons.
 */
export const FORKS_FOR_INTERVAL = 3;

/** The relative difference from 1 within which two cells count as equivalent, unless the user sets another. */
export const DEFAULT_MARGIN = 0.05;

const RESAMPLES = 4000;
const SEED = 0x5eed;
const OUTSIDE = 0.025;

/**
 * The ratio of two cells' positive values, with its 95% interval. The figure of a cell is the median of all its values.
 *
 * The interval is by the hierarchical bootstrap (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", 2013): forks
 * are resampled with replacement, then the values within each. Since percentiles of so few forks are too narrow, they are
 * expanded as by Hesterberg ("What Teachers Should Know About the Bootstrap", 2015, section 4.5): from 2.5% to the part of a
 * normal distribution beyond the quantile of Student's t, times the root of n / (n - 1).
 *
 * The values of a cell with one fork count as forks of one value each; the interval then knows nothing of the differences
 * between processes. Deterministic: the same values always give the same interval. Throws a `RangeError` if a cell has no value.
 */
export function ratioOfForks(numerators: Forks, denominators: Forks): RatioInterval {
  const over = unitsOf(numerators);
  const under = unitsOf(denominators);
  const draw = seededDraws(SEED);
  const ratios = new Float64Array(RESAMPLES);
  const overScratch = scratchOf(over);
  const underScratch = scratchOf(under);
  for (let i = 0; i < RESAMPLES; i++) {
    ratios[i] = resampled(over, overScratch, draw) / resampled(under, underScratch, draw);
  }
  ratios.sort();
  const outside = expandedTail(over.length, under.length);
  return {
    ratio: median(numerators.flat()) / median(denominators.flat()),
    low: quantileOfSorted(ratios, outside),
    high: quantileOfSorted(ratios, 1 - outside),
  };
}

/** The distance of a ratio from 1 that comes from the rounding of divisions, not from time. */
const ROUNDING = 1e-9;

/**
 * The verdict of an interval: `equivalent` if all of it is within the margin of 1, `inconclusive` if it contains 1 and goes
 * beyond the margin.
 */
export function verdictOf(
  interval: { readonly low: number; readonly high: number },
  margin: number = DEFAULT_MARGIN,
): Verdict {
  if (interval.low >= 1 - margin && interval.high <= 1 + margin) return 'equivalent';
  if (interval.low > 1 + ROUNDING) return 'faster';
  if (interval.high < 1 - ROUNDING) return 'slower';
  return 'inconclusive';
}

function unitsOf(forks: Forks): readonly Float64Array[] {
  const filled = forks.filter((values) => values.length > 0);
  if (filled.length === 0) throw new RangeError('a ratio needs at least one value of each cell');
  const units = filled.length === 1 ? filled[0]!.map((value) => [value]) : filled;
  return units.map((values) => Float64Array.from(values));
}

/** Room for as many values as can be drawn. */
function scratchOf(units: readonly Float64Array[]): Float64Array {
  return new Float64Array(units.length * Math.max(...units.map(({ length }) => length)));
}

function resampled(units: readonly Float64Array[], scratch: Float64Array, draw: DrawIndex): number {
  let count = 0;
  for (let unit = 0; unit < units.length; unit++) {
    const values = units[draw(units.length)]!;
    for (let i = 0; i < values.length; i++) scratch[count++] = values[draw(values.length)]!;
  }
  return medianInPlace(scratch.subarray(0, count));
}

/** The part of the resampled ratios to leave out at each end, for 95% between them. */
function expandedTail(over: number, under: number): number {
  if (over === 1 || under === 1) return 0;
  // The harmonic mean, since variances of means add up.
  const count = 2 / (1 / over + 1 / under);
  return normalBelow(-Math.sqrt(count / (count - 1)) * studentQuantile(1 - OUTSIDE, over + under - 2));
}
