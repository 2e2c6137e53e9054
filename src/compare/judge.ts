import type { CompletedRecord, NoVerdict, Run, Verdict } from '../records/record.js';
import { DEFAULT_MARGIN, type RatioInterval } from '../stats/ratio-interval.js';
import { rateRatio, riskOf } from './rate-ratio.js';
import { coresOf, verdictOn } from './server-bound.js';

/** The ratio of two cells' rows per second, with the verdict on the first; `undefined` if one of them has no rate. */
export type Judge = (numerator: CompletedRecord, denominator: CompletedRecord) => Judged | undefined;

/** A ratio with its verdict, and with the reason why there is none. */
export interface Judged extends RatioInterval {
  readonly verdict: Verdict;
  readonly noVerdict?: NoVerdict;
}

/** The margin of a run: the relative difference that is too small to count. */
export function marginOf({ context }: Pick<Run, 'context'>): number {
  const { margin } = context.config;
  return typeof margin === 'number' ? margin : DEFAULT_MARGIN;
}

/** Judges by the margin of a run. */
export function judgeOf(run: Pick<Run, 'context'>): Judge {
  const limits = { margin: marginOf(run), cores: coresOf(run.context.host) };
  const risk = riskOf(run.context);
  return (numerator, denominator) => {
    const interval = rateRatio(numerator, denominator, { risk });
    const noVerdict = numerator.noVerdict ?? denominator.noVerdict;
    return (
      interval && {
        ...interval,
        verdict: verdictOn(numerator, denominator, interval, limits),
        ...(noVerdict === undefined ? {} : { noVerdict }),
      }
    );
  };
}
