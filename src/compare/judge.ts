import type { CompletedRecord, NoVerdict, Run, Verdict } from '../records/record.js';
import { DEFAULT_MARGIN, type RatioInterval } from '../stats/ratio-interval.js';
import { priorsOf, rateRatio, riskOf } from './rate-ratio.js';
import { isOnClients, recordsById } from './cell-groups.js';
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

/** A run, or its context alone. */
type Judging = Pick<Run, 'context'> & Partial<Pick<Run, 'records' | 'comparisons'>>;

/** The cells that a run compares with each other, where both got a verdict. */
function comparedIn({
  records = [],
  comparisons = [],
}: Judging): readonly { readonly numerator: CompletedRecord; readonly denominator: CompletedRecord }[] {
  const recordOf = recordsById(records);
  return comparisons.flatMap(({ kind, numerator, denominator, noVerdict }) => {
    const [over, under] = [recordOf(numerator), recordOf(denominator)];
    if (!isOnClients(kind) || noVerdict !== undefined || over === undefined || under === undefined) return [];
    return [{ numerator: over, denominator: under }];
  });
}

/** Judges by the margin of a run, and by what its comparisons know together. */
export function judgeOf(run: Judging): Judge {
  const limits = { margin: marginOf(run), cores: coresOf(run.context.host) };
  const risk = riskOf(run.context);
  const priors = priorsOf(comparedIn(run));
  return (numerator, denominator) => {
    const interval = rateRatio(numerator, denominator, { risk, priors });
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
