import type { Verdict } from '../records/record.js';
import { median, quantileOfSorted } from './quantile.js';
import { seededDraws } from './random.js';
import { type Forks, Resampling, expandedTail } from './resampling.js';

/** A ratio with the ends of its 95% interval. */
export interface RatioInterval {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The fewest forks of a cell whose interval holds what it says. Of fewer, the differences between processes are hardly known.
 * Reports mark such comparisons.
 */
export const FORKS_FOR_INTERVAL = 3;

/** The relative difference from 1 within which two cells count as equivalent, unless the user sets another. */
export const DEFAULT_MARGIN = 0.05;

const RESAMPLES = 4000;
const SEED = 0x5eed;

/**
 * The ratio of two cells' positive values, with its 95% interval. The figure of a cell is the median of all its values.
 *
 * The interval is by the hierarchical bootstrap (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", 2013): forks
 * are resampled with replacement, then the values within each. The percentiles of so few forks are expanded (`expandedTail`).
 *
 * A side that is `chosen` from several cells by cross-validation counts one fork less: its forks decided about each other. With that,
 * the best of several equal cells looks as seldom faster or slower than another as one cell does.
 *
 * The values of a cell with one fork count as forks of one value each; the interval then knows nothing of the differences
 * between processes. Deterministic: the same values always give the same interval. Throws a `RangeError` if a cell has no value.
 */
export function ratioOfForks(
  numerators: Forks,
  denominators: Forks,
  { chosen = [false, false] }: { readonly chosen?: readonly [numerator: boolean, denominator: boolean] } = {},
): RatioInterval {
  const over = new Resampling(numerators);
  const under = new Resampling(denominators);
  const draw = seededDraws(SEED);
  const ratios = new Float64Array(RESAMPLES);
  for (let i = 0; i < RESAMPLES; i++) ratios[i] = over.median(draw) / under.median(draw);
  ratios.sort();
  const outside = tailOf(over.count - Number(chosen[0]), under.count - Number(chosen[1]));
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

/** The part of the resampled ratios to leave out at each end, by the numbers of forks. */
function tailOf(over: number, under: number): number {
  if (over === 1 || under === 1) return 0;
  // The harmonic mean, since variances of means add up.
  return expandedTail(2 / (1 / over + 1 / under), over + under - 2);
}
