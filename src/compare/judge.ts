import type { CompletedRecord, Run, Verdict } from '../records/record.js';
import { DEFAULT_MARGIN, type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { rateRatio } from './rate-ratio.js';

/** The ratio of two cells' rows per second, with the verdict on the first; `undefined` if one of them has no rate. */
export type Judge = (
  numerator: CompletedRecord,
  denominator: CompletedRecord,
) => (RatioInterval & { readonly verdict: Verdict }) | undefined;

/** Judges by the margin of a run. */
export function judgeOf({ context }: Pick<Run, 'context'>): Judge {
  const { margin } = context.config;
  return (numerator, denominator) => {
    const interval = rateRatio(numerator, denominator);
    return (
      interval && { ...interval, verdict: verdictOf(interval, typeof margin === 'number' ? margin : DEFAULT_MARGIN) }
    );
  };
}
