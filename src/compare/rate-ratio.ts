import type { Sample } from '../records/record.js';
import { FORKS_FOR_INTERVAL, type RatioInterval, ratioOfForks } from '../stats/ratio-interval.js';
import type { Forks } from '../stats/resampling.js';
import { groupBy } from './cell-groups.js';

/** Samples, with the number of rows that each of them moved. */
export interface Timed {
  readonly rows: number;
  readonly samples: readonly Sample[];
  /** Whether the samples are of the fastest of several cells, chosen by cross-validation. */
  readonly isChosen?: boolean;
}

/**
 * The ratio of the rows per second of `numerator` to those of `denominator`, with its interval; above 1 the numerator is faster.
 * The numbers of rows may differ. `undefined` if one moved no rows and so has no rate.
 */
export function rateRatio(numerator: Timed, denominator: Timed): RatioInterval | undefined {
  if (numerator.rows === 0 || denominator.rows === 0) return undefined;
  // Time per row is the inverse of the rate, so the arguments are swapped.
  return ratioOfForks(secondsPerRow(denominator), secondsPerRow(numerator), {
    chosen: [denominator.isChosen === true, numerator.isChosen === true],
  });
}

/** The number of processes of a cell, less one for a choice: what one shows was partly decided by the others. */
export function independentForks(cell: Timed): number {
  return forkCount(cell) - (cell.isChosen === true ? 1 : 0);
}

/** Whether one of the two was measured in so few processes that the differences between them are hardly known. */
export function hasFewForks(a: Timed, b: Timed): boolean {
  return Math.min(forkCount(a), forkCount(b)) < FORKS_FOR_INTERVAL;
}

/** The number of processes that measured a cell; 0 if it was measured in the process of the run. */
export function forkCount({ samples }: Timed): number {
  return new Set(samples.map(({ fork }) => fork ?? 0)).size - (samples.some(({ fork }) => fork === undefined) ? 1 : 0);
}

/** The seconds of each row of a cell, by the processes that measured it. */
export function secondsPerRow({ rows, samples }: Timed): Forks {
  return groupBy(samples, ({ fork }) => String(fork)).map((ofFork) => ofFork.map((sample) => sample.seconds / rows));
}
