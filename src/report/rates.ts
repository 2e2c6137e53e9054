/** The rates that reports show next to a ratio. */
import type { CompletedRecord } from '../records/record.js';
import { rateOf } from '../stats/summary.js';

/**
 * A record with the rate that a comparison gives it: the ratio times the rate of the other. A ratio rests on the blocks that both have, and
 * of several cells on the samples that did not choose one. The record's own rate rests on all of its samples.
 */
export function atRatio<R extends CompletedRecord>(record: R, ratio: number, other: CompletedRecord): R {
  const factor = (ratio * rateOf(other)) / rateOf(record);
  if (!(factor > 0 && Number.isFinite(factor))) return record;
  const { summary } = record;
  const rates = Object.entries(summary).filter(([name]) => name.endsWith('PerSecond'));
  return {
    ...record,
    summary: {
      ...summary,
      ...Object.fromEntries(rates.map(([name, rate]) => [name, rate * factor])),
      medianSeconds: summary.medianSeconds / factor,
    },
  };
}
