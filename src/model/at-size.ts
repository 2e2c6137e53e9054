/** The time of a user's own work at a size of its input that was not measured. */
import { groupBy } from '../compare/cell-groups.js';
import { NOOP, type CompletedRecord } from '../records/record.js';
import { seededDraws } from '../stats/random.js';
import { type Logarithm, logarithmOf } from '../stats/ratio-interval.js';
import { Resampling, reachOf } from '../stats/resampling.js';
import { rateOf } from '../stats/summary.js';

/** The time of one way at a size. Times are seconds of what the cell counts: calls, or the items that the workload counts. */
export interface TimeAtSize {
  /** A cell of the way. */
  readonly record: CompletedRecord;
  /** The measured sizes below and above, or twice the size if it was measured. */
  readonly between: readonly [number, number];
  /** The time with its 95% interval. Absent: the size is outside of the measured ones, or a cell next to it has no verdict. */
  readonly time?: { readonly seconds: number; readonly low: number; readonly high: number };
}

const SEED = 0x5eed;

/**
 * The times of all ways with several sizes at this size: a straight line through the logarithms of sizes and times of
 * the two measured sizes next to it.
 */
export function timesAtSize(records: readonly CompletedRecord[], size: number): TimeAtSize[] {
  const sized = records.filter((record) => record.size !== undefined && record.engine !== NOOP);
  const ways = groupBy(sized, ({ family, side, lane, runtime }) => JSON.stringify([family, side, lane, runtime]));
  return ways
    .filter((way) => way.length > 1)
    .map((way): TimeAtSize => {
      const ascending = way.toSorted((a, b) => a.size! - b.size!);
      const below = ascending.findLast((record) => record.size! <= size);
      const above = ascending.find((record) => record.size! >= size);
      if (below === undefined || above === undefined || (below.noVerdict ?? above.noVerdict) !== undefined) {
        return { record: ascending[0]!, between: [ascending[0]!.size!, ascending.at(-1)!.size!] };
      }
      return { record: below, between: [below.size!, above.size!], time: timeBetween(below, above, size) };
    });
}

function timeBetween(below: CompletedRecord, above: CompletedRecord, size: number): TimeAtSize['time'] {
  // Sizes may begin with 0.
  const [from, to, at] = [below.size!, above.size!, size].map((each) => Math.log(Math.max(each, 1))) as [
    number,
    number,
    number,
  ];
  const part = to === from ? 0 : (at - from) / (to - from);
  const [low, high] = [logTimeOf(below), logTimeOf(above)];
  const middle = (1 - part) * low.mean + part * high.mean;
  const deviation = Math.sqrt((1 - part) ** 2 * low.variance + part ** 2 * high.variance);
  const reach = reachOf(Math.min(low.degrees, high.degrees)) * deviation;
  return { seconds: Math.exp(middle), low: Math.exp(middle - reach), high: Math.exp(middle + reach) };
}

/** The logarithm of the time of one call or item of a cell, and how far it is known. */
function logTimeOf(record: CompletedRecord): Logarithm & { readonly mean: number } {
  const forks = groupBy(record.samples, ({ fork }) => String(fork)).map((samples) =>
    samples.map(({ seconds }) => seconds),
  );
  return { ...logarithmOf(new Resampling(forks), seededDraws(SEED)), mean: -Math.log(rateOf(record)) };
}
