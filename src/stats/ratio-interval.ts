import type { Verdict } from '../records/record.js';
import { medianInPlace } from './median-in-place.js';
import { median, quantileOfSorted } from './quantile.js';
import { type DrawIndex, seededDraws } from './random.js';

/** A ratio with the ends of its 95% interval. */
export interface RatioInterval {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The number of samples below which, on either side, no interval between order statistics covers the median 95% of the time
 * (five reach 94%), so that the interval is narrower than stated. Reports mark such comparisons.
 */
export const SAMPLES_FOR_INTERVAL = 5;

const RESAMPLES = 2000;
const SEED = 0x5eed;

/**
 * The ratio of the medians of two sets of positive values, with its 95% interval by the percentile bootstrap (Efron and
 * Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13): both sets are resampled with replacement 2000
 * times, each by itself, and the interval runs from the 2.5% to the 97.5% quantile of the ratios of the medians.
 * Deterministic: the same values always give the same interval. Throws a `RangeError` if a set is empty.
 */
export function ratioOfMedians(numerators: readonly number[], denominators: readonly number[]): RatioInterval {
  const ratio = median(numerators) / median(denominators);
  const draw = seededDraws(SEED);
  const over = Float64Array.from(numerators);
  const under = Float64Array.from(denominators);
  const overScratch = new Float64Array(over.length);
  const underScratch = new Float64Array(under.length);
  const ratios = new Float64Array(RESAMPLES);
  for (let i = 0; i < RESAMPLES; i++) {
    ratios[i] = resampledMedian(over, overScratch, draw) / resampledMedian(under, underScratch, draw);
  }
  ratios.sort();
  return { ratio, low: quantileOfSorted(ratios, 0.025), high: quantileOfSorted(ratios, 0.975) };
}

/** The distance of a ratio from 1 that comes from the rounding of divisions, not from time. */
const ROUNDING = 1e-9;

/** The verdict of an interval: `no difference` if it contains 1, its ends included. */
export function verdictOf(interval: { readonly low: number; readonly high: number }): Verdict {
  if (interval.low > 1 + ROUNDING) return 'faster';
  if (interval.high < 1 - ROUNDING) return 'slower';
  return 'no difference';
}

function resampledMedian(values: Float64Array, scratch: Float64Array, draw: DrawIndex): number {
  for (let i = 0; i < scratch.length; i++) scratch[i] = values[draw(values.length)]!;
  return medianInPlace(scratch);
}
