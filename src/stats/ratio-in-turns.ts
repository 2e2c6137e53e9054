import type { RatioInterval } from '../records/record.js';
import { pseudoMedian, varianceOf } from './quantile.js';
import { type Variance, moderated } from './prior-variance.js';
import { reachOf, reachOfChoice } from './resampling.js';
import { sumOf } from './sum.js';

/** Options of an interval, in addition to the values. */
export interface IntervalOptions {
  /** The part of cases in which an interval may miss the truth. Default: 0.05. */
  readonly risk?: number;
  /**
   * The part of these pairs of processes that chose a side from several cells, if they disagreed: the interval then reaches
   * further. Default: 0.
   */
  readonly chosenPart?: number;
  /** Prior knowledge of the variance between pairs of processes, from other pairs than these. */
  readonly prior?: Variance | undefined;
}

/** The variance between pairs of processes, of the logarithms of their figures. It has no degrees for a single pair. */
export function varianceBetween(pairs: readonly (readonly number[])[]): Variance {
  return varianceOfUnits(pairs.map(figureOf));
}

function figureOf(ratios: readonly number[]): number {
  return pseudoMedian(ratios.map(Math.log));
}

function varianceOfUnits(units: readonly number[]): Variance {
  const degrees = units.length - 1;
  // By all but one of them, since their mean is made of them.
  return { variance: degrees === 0 ? 0 : (varianceOf(Float64Array.from(units)) * units.length) / degrees, degrees };
}

/**
 * The ratio of two cells whose processes took turns, with its interval: `pairs` are the ratios within blocks, a list for each pair
 * of processes. All ratios must be positive.
 *
 * A block is short, so that a drift of the machine changes both of its samples and not their ratio (randomized complete blocks, as
 * in Bulej et al., "Duet Benchmarking", 2020). The figure of a pair of processes is the pseudo-median of its blocks. A burst of
 * other load does not move it. Processes differ by more than their samples do, so that the pairs of them count (Kalibera and Jones,
 * "Rigorous Benchmarking in Reasonable Time", 2013). The interval is a Student's t interval over the logarithms of the pairs'
 * figures. Few pairs know their variance badly, so that it is moderated by a prior variance, if there is one. For a single pair,
 * the blocks count. They say nothing of the differences between processes.
 *
 * Throws a `RangeError` if there is no ratio.
 */
export function ratioInTurns(
  pairs: readonly (readonly number[])[],
  { risk, chosenPart = 0, prior }: IntervalOptions = {},
): RatioInterval {
  const filled = pairs.filter((ratios) => ratios.length > 0);
  if (filled.length === 0) throw new RangeError('a ratio in turns needs at least one block');
  const units = filled.length === 1 ? filled[0]!.map(Math.log) : filled.map(figureOf);
  const mean = sumOf(units) / units.length;
  const ratio = Math.exp(mean);
  if (units.length === 1) return { ratio, low: ratio, high: ratio };
  const own = varianceOfUnits(units);
  // The blocks of a single pair do not vary as pairs do.
  const { variance, degrees } = filled.length === 1 ? own : moderated(own, prior);
  const error = Math.sqrt(variance / units.length);
  const reach = Math.exp(reachOf(Math.floor(degrees), risk) * error * reachOfChoice(chosenPart));
  return { ratio, low: ratio / reach, high: ratio * reach };
}
