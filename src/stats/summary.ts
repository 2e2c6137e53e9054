import type { Sample, Summary } from '../records/record.js';
import { interquartileRange, median } from './quantile.js';

const BYTES_PER_MEBIBYTE = 1024 * 1024;

/** The resolution of the clocks: a time read as 0 was shorter than this, and counts as this, so that rates stay finite. */
export const CLOCK_TICK_SECONDS = 1e-9;

/** The relative spread: the interquartile range divided by the median; 0 if the median is 0. */
export function relativeSpread(values: ArrayLike<number>): number {
  const middle = median(values);
  return middle === 0 ? 0 : interquartileRange(values) / middle;
}

/**
 * The summary of a cell's samples. Rates are those of the median sample: `rows / medianSeconds`. MiB per second is absent if the
 * cell has no size. Throws a `RangeError` if there is no sample.
 */
export function summarize(
  samples: readonly Sample[],
  cell: { readonly rows: number; readonly bytes?: number | undefined },
): Summary {
  const seconds = samples.map((sample) => Math.max(sample.seconds, CLOCK_TICK_SECONDS));
  const medianSeconds = median(seconds);
  return {
    medianSeconds,
    minSeconds: Math.min(...seconds),
    maxSeconds: Math.max(...seconds),
    spread: relativeSpread(seconds),
    rowsPerSecond: cell.rows / medianSeconds,
    ...(cell.bytes === undefined ? {} : { mebibytesPerSecond: cell.bytes / BYTES_PER_MEBIBYTE / medianSeconds }),
  };
}
