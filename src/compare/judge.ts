import type { CompletedRecord, NoVerdict, Run, Verdict } from '../records/record.js';
import { DEFAULT_MARGIN, type RatioInterval } from '../stats/ratio-interval.js';
import { cpuRatio, isOnOneThread, noVerdictOf, priorsOf, rateRatio, riskOf } from './rate-ratio.js';
import { isOnClients, recordsById } from './cell-groups.js';
import { coresOf, verdictOn } from './server-bound.js';

/** The ratio of two cells' rows per second, with the verdict on the first. `undefined` if one of them has no rate. */
export type Judge = (numerator: CompletedRecord, denominator: CompletedRecord) => Judged | undefined;

/** A ratio with its verdict, and with the reason why there is none. */
export interface Judged extends RatioInterval {
  readonly verdict: Verdict;
  readonly noVerdict?: NoVerdict;
  /** The same ratio of CPU times, if the wall times can't tell and both are synchronous on one thread. */
  readonly cpu?: RatioInterval;
}

/** The margin of a run: the relative difference that is too small to count. */
export function marginOf({ context }: Pick<Run, 'context'>): number {
  const { margin } = context.config;
  return typeof margin === 'number' ? margin : DEFAULT_MARGIN;
}

/** A run, or its context alone. */
type Judging = Pick<Run, 'context'> & Partial<Pick<Run, 'records' | 'comparisons'>>;

/** The judges of runs: their priors take all comparisons of a run, and a report asks for its judge again and again. */
const judges = new WeakMap<Judging, Judge>();

/** Judges by the margin of a run, and by the variances that its comparisons have in common. */
export function judgeOf(run: Judging): Judge {
  const judge = judges.get(run) ?? newJudge(run);
  judges.set(run, judge);
  return judge;
}

function newJudge(run: Judging): Judge {
  const limits = { margin: marginOf(run), cores: coresOf(run.context.host) };
  const risk = riskOf(run.context);
  const priors = priorsOf(comparedIn(run));
  return (numerator, denominator) => {
    const interval = rateRatio(numerator, denominator, { risk, priors });
    if (interval === undefined) return undefined;
    const noVerdict = noVerdictOf({ numerator, denominator });
    const verdict = noVerdict === undefined ? verdictOn(numerator, denominator, interval, limits) : 'inconclusive';
    const mayTell = verdict === 'inconclusive' && noVerdict === undefined;
    const isSynchronous = mayTell && isOnOneThread(numerator) && isOnOneThread(denominator);
    const cpu = isSynchronous ? cpuRatio(numerator, denominator, { risk, priors }) : undefined;
    return {
      ...interval,
      verdict,
      ...(noVerdict === undefined ? {} : { noVerdict }),
      ...(cpu === undefined ? {} : { cpu }),
    };
  };
}

/** The cells that a run compares with each other. */
function comparedIn({ records = [], comparisons = [] }: Judging): Parameters<typeof priorsOf>[0] {
  const recordOf = recordsById(records);
  return comparisons.flatMap(({ kind, ...ids }) => {
    const [numerator, denominator] = [recordOf(ids.numerator), recordOf(ids.denominator)];
    return isOnClients(kind) && numerator && denominator ? [{ numerator, denominator }] : [];
  });
}
