import type { CompletedRecord, Sample } from '../records/record.js';
import { type RatioInterval, SAMPLES_FOR_INTERVAL, ratioOfMedians } from '../stats/ratio-interval.js';
import { CLOCK_TICK_SECONDS } from '../stats/summary.js';

/** Samples, with the number of rows that each of them moved. */
export interface Timed {
  readonly rows: number;
  readonly samples: readonly Sample[];
}

/**
 * The ratio of the rows per second of `numerator` to those of `denominator`, with its interval; above 1 the numerator is faster.
 * The numbers of rows may differ. `undefined` if one moved no rows and so has no rate.
 */
export function rateRatio(numerator: Timed, denominator: Timed): RatioInterval | undefined {
  if (numerator.rows === 0 || denominator.rows === 0) return undefined;
  // Time per row is the inverse of the rate, so the arguments are swapped.
  return ratioOfMedians(secondsPerRow(denominator), secondsPerRow(numerator));
}

/** Whether the interval of this pair is narrower than 95%, because there are too few samples. */
export function hasFewSamples(a: CompletedRecord, b: CompletedRecord): boolean {
  return Math.min(a.samples.length, b.samples.length) < SAMPLES_FOR_INTERVAL;
}

function secondsPerRow({ rows, samples }: Timed): number[] {
  return samples.map((sample) => Math.max(sample.seconds, CLOCK_TICK_SECONDS) / rows);
}
