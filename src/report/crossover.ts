/** From which size of the input on which way is the fastest, of workloads that were measured at several sizes. */
import { groupBy } from '../compare/cell-groups.js';
import type { Judge, Judged } from '../compare/judge.js';
import { NOOP } from '../records/noop.js';
import type { CompletedRecord } from '../records/record.js';
import { formatCount, formatFactor, formatFactorInterval } from './format.js';

/** A size at which two ways were measured, with the ratio of the second way's rate to the first's. */
interface Step {
  readonly size: number;
  readonly judged: Judged;
}

/** The sentences of all workloads with sizes: each way compared with the first in JavaScript, or with the first of all. */
export function crossoverTexts(records: readonly CompletedRecord[], judge: Judge): string[] {
  const sized = records.filter(({ size, engine }) => size !== undefined && engine !== NOOP);
  return groupBy(sized, ({ family, runtime }) => JSON.stringify([family, runtime])).flatMap((ofFamily) => {
    const ways = groupBy(ofFamily, ({ side, lane }) => `${side} ${lane}`);
    const reference = ways.find(([first]) => first!.side === 'js') ?? ways[0]!;
    const others = ways.filter((way) => way !== reference);
    return others.flatMap((other) => textOf(reference, other, judge) ?? []);
  });
}

function textOf(
  reference: readonly CompletedRecord[],
  other: readonly CompletedRecord[],
  judge: Judge,
): string | undefined {
  const steps = other
    .flatMap((record): Step[] => {
      const beside = reference.find(({ size }) => size === record.size);
      const judged = beside && judge(record, beside);
      return judged === undefined || judged.noVerdict !== undefined ? [] : [{ size: record.size!, judged }];
    })
    .toSorted((a, b) => a.size - b.size);
  if (steps.length < 2) return undefined;
  const [first, second] = [reference[0]!, other[0]!];
  return `${first.family}: ${answerOf(first.variant, second.variant, steps)}.`;
}

function answerOf(first: string, second: string, steps: readonly Step[]): string {
  const [smallest, largest] = [steps[0]!, steps.at(-1)!];
  const range = `${formatCount(smallest.size)} to ${formatCount(largest.size)}`;
  const isAll = (...verdicts: string[]): boolean => steps.every(({ judged }) => verdicts.includes(judged.verdict));
  const ratios = steps.map(({ judged }) => judged.ratio);
  const between = (values: readonly number[]): string =>
    `${formatFactor(Math.min(...values))} to ${formatFactor(Math.max(...values))}`;
  if (isAll('faster')) return `${second} is faster than ${first} at all sizes (${range}), by ${between(ratios)}`;
  if (isAll('slower'))
    return `${first} is faster than ${second} at all sizes (${range}), by ${between(ratios.map((ratio) => 1 / ratio))}`;
  if (isAll('equivalent')) return `${second} and ${first} are equivalent at all sizes (${range})`;
  const crossing = crossingOf(steps);
  if (crossing !== undefined) {
    const [small, large] = crossing.rises ? [first, second] : [second, first];
    return (
      `${small} up to about ${formatCount(crossing.size)}, ${large} from there on ` +
      `(${formatCount(crossing.low)}–${formatCount(crossing.high)}); ` +
      `at ${formatCount(largest.size)}, ${second} has ${formatFactorInterval(largest.judged)} the rate of ${first}`
    );
  }
  const decided = steps.filter(({ judged }) => judged.verdict !== 'inconclusive');
  const open = steps.length - decided.length;
  return `${second} compared with ${first}: ${[...segmentsOf(decided), ...(open === 0 ? [] : [`${open} inconclusive`])].join(', ')}`;
}

/** The verdicts that neighbouring sizes have in common: `slower up to 4, faster from 64 on`. */
function segmentsOf(steps: readonly Step[]): string[] {
  const segments: Step[][] = [];
  for (const step of steps) {
    const last = segments.at(-1);
    if (last?.[0]!.judged.verdict === step.judged.verdict) last.push(step);
    else segments.push([step]);
  }
  return segments.map((segment, index) => {
    const [low, high] = [segment[0]!, segment.at(-1)!].map(({ size }) => formatCount(size));
    const { verdict } = segment[0]!.judged;
    if (index === segments.length - 1) return `${verdict} from ${low} on`;
    if (index === 0) return `${verdict} up to ${high}`;
    return low === high ? `${verdict} at ${low}` : `${verdict} at ${low} to ${high}`;
  });
}

/** The size at which one way overtakes the other. */
interface Crossing {
  /** Whether the second way is the faster one at larger sizes. */
  readonly rises: boolean;
  /** The size at which both take as long, by a line through the logarithms of its neighbours. */
  readonly size: number;
  /** The largest size below, and the smallest above, at which the one and the other were faster. */
  readonly low: number;
  readonly high: number;
}

/** The one crossing of sizes whose verdicts change sides once. `undefined` if they don't. */
function crossingOf(steps: readonly Step[]): Crossing | undefined {
  const sides = steps.filter(({ judged }) => judged.verdict === 'faster' || judged.verdict === 'slower');
  const changes = sides.slice(1).filter(({ judged }, index) => judged.verdict !== sides[index]!.judged.verdict);
  if (changes.length !== 1) return undefined;
  const above = changes[0]!;
  const below = sides[sides.indexOf(above) - 1]!;
  const [a, b] = [Math.log(below.judged.ratio), Math.log(above.judged.ratio)];
  const part = a / (a - b);
  // Sizes may begin with 0.
  const [low, high] = [Math.max(below.size, 1), Math.max(above.size, 1)];
  const size = Math.exp(Math.log(low) + part * (Math.log(high) - Math.log(low)));
  return { rises: above.judged.verdict === 'faster', size: Math.round(size), low: below.size, high: above.size };
}
