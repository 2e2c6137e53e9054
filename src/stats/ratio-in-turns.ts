import type { RatioInterval } from '../records/record.js';
import { pseudoMedian, varianceOf } from './quantile.js';
import { reachOf, reachOfChoice } from './resampling.js';
import { sumOf } from './sum.js';

/** What an interval is made by, beside the values. */
export interface IntervalOptions {
  /** The part of cases in which an interval may miss the truth. Default: 0.05. */
  readonly risk?: number;
  /** The part of these pairs of processes that chose a side from several cells, if they disagreed: the interval then reaches further. Default: 0. */
  readonly chosenPart?: number;
}

/**
 * The ratio of two cells whose processes took turns, with its interval: `pairs` are the ratios within blocks, a list for each pair of
 * processes. All ratios must be positive.
 *
 * A block is short, so that a drift of the machine changes both of its samples and not their ratio (randomized complete blocks; Bulej et
 * al., "Duet Benchmarking", 2020). The figure of a pair of processes is the pseudo-median of its blocks, which a burst of other load does not
 * move. Processes differ by more than their samples do, so that the pairs of them are what counts (Kalibera and Jones, "Rigorous
 * Benchmarking in Reasonable Time", 2013): the interval is that of Student's t over the logarithms of the pairs' figures. Of a single pair,
 * the blocks count, which say nothing of the differences between processes.
 *
 * Throws a `RangeError` if there is no ratio.
 */
export function ratioInTurns(
  pairs: readonly (readonly number[])[],
  { risk, chosenPart = 0 }: IntervalOptions = {},
): RatioInterval {
  const filled = pairs.filter((ratios) => ratios.length > 0);
  if (filled.length === 0) throw new RangeError('a ratio in turns needs at least one block');
  const units =
    filled.length === 1 ? filled[0]!.map(Math.log) : filled.map((ratios) => pseudoMedian(ratios.map(Math.log)));
  const mean = sumOf(units) / units.length;
  const ratio = Math.exp(mean);
  if (units.length === 1) return { ratio, low: ratio, high: ratio };
  const error = Math.sqrt(varianceOf(Float64Array.from(units)) / (units.length - 1));
  const reach = Math.exp(reachOf(units.length - 1, risk) * error * reachOfChoice(chosenPart));
  return { ratio, low: ratio / reach, high: ratio * reach };
}
