import type { RatioInterval, Verdict } from '../records/record.js';
import { median, varianceOf } from './quantile.js';
import { type DrawIndex, seededDraws } from './random.js';
import { type Forks, Resampling, reachOf, reachOfChoice, unshrunk } from './resampling.js';

export type { RatioInterval };

/**
 * The fewest forks of a cell that say how much processes differ. Reports mark comparisons of fewer.
 */
export const FORKS_FOR_INTERVAL = 3;

/** The relative difference from 1 within which two cells count as equivalent, unless the user sets another. */
export const DEFAULT_MARGIN = 0.05;

/** The distance of a ratio from 1 that comes from the rounding of divisions, not from time. */
const ROUNDING = 1e-9;

const RESAMPLES = 1000;
const SEED = 0x5eed;

/**
 * The ratio of two cells' positive values that were not measured in turns, with its interval: 95% unless another risk is asked for.
 * The figure of a cell is the median of all its values.
 *
 * The interval is a Student's t interval over the logarithms, with the standard error of the hierarchical bootstrap (Kalibera and
 * Jones, "Rigorous Benchmarking in Reasonable Time", 2013). Forks are resampled with replacement, then the values within each.
 *
 * It reaches further if forks chose a side from several cells by cross-validation, and disagreed (`chosenPart`): they decided about
 * each other.
 *
 * The values of a cell with one fork count as forks of one value each. The interval then knows nothing of the differences between
 * processes. Deterministic: the same values always give the same interval. Throws a `RangeError` if a cell has no value.
 */
export function ratioOfForks(
  numerators: Forks,
  denominators: Forks,
  { risk, chosenPart = 0 }: { readonly risk?: number; readonly chosenPart?: number } = {},
): RatioInterval {
  const draw = seededDraws(SEED);
  const over = logarithmOf(new Resampling(numerators), draw);
  const under = logarithmOf(new Resampling(denominators), draw);
  const ratio = median(numerators.flat()) / median(denominators.flat());
  const error = Math.sqrt(over.variance + under.variance);
  const spread = reachOf(over.degrees + under.degrees, risk) * error * reachOfChoice(chosenPart);
  const reach = spread < ROUNDING ? 1 : Math.exp(spread);
  return { ratio, low: ratio / reach, high: ratio * reach };
}

/** The knowledge about the logarithm of a cell's figure. */
export interface Logarithm {
  readonly variance: number;
  readonly degrees: number;
}

/** How far the logarithm of a cell's median is known, by the hierarchical bootstrap. */
export function logarithmOf(cell: Resampling, draw: DrawIndex): Logarithm {
  const { degrees } = cell;
  const drawn = Float64Array.from({ length: RESAMPLES }, () => Math.log(cell.median(draw)));
  return { variance: unshrunk(varianceOf(drawn), degrees), degrees };
}

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
