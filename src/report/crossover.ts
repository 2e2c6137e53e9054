/** From which size of the input on which way is the fastest, of workloads that were measured at several sizes. */
import { fastestOf, groupBy } from '../compare/cell-groups.js';
import type { Judge, Judged } from '../compare/judge.js';
import { NOOP, type CompletedRecord } from '../records/record.js';
import { byCpuTime } from './factor.js';
import { formatCount, formatFactor, formatFactorInterval } from './format.js';
import { variantOf } from './labels.js';

/** Whether a cell was measured at other sizes, too: the sentences about sizes are then the advice. */
export function hasSizes({ family, runtime, size }: CompletedRecord, records: readonly CompletedRecord[]): boolean {
  const isOther = (other: CompletedRecord): boolean => other.size !== undefined && other.size !== size;
  return (
    size !== undefined &&
    records.some((other) => other.family === family && other.runtime === runtime && isOther(other))
  );
}

/** A workload that was measured at several sizes. */
export interface SizedWork {
  readonly family: string;
  readonly runtime: string | undefined;
  /** Its cells, of all sizes. */
  readonly records: readonly CompletedRecord[];
  /** The sizes at which ways were compared, ascending: at least two. */
  readonly steps: readonly Step[];
  /** The only change of the winner. Absent if there is none or there are several. */
  readonly crossing: SizeCrossing | undefined;
}

/** The size at which one way overtakes another, between two neighbouring sizes that were measured. */
export interface SizeCrossing {
  readonly size: number;
  readonly below: Step;
  readonly above: Step;
}

/** A size with its fastest way, and the ratios of that way's rate to the others' rates, the closest first. */
export interface Step {
  readonly size: number;
  readonly best: CompletedRecord;
  readonly rivals: readonly { readonly record: CompletedRecord; readonly judged: Judged }[];
  /** The rivals that are not shown to be slower. */
  readonly close: Step['rivals'];
}

/** The sentences of all workloads with sizes. `margin`: of the run. */
export function crossoverTexts(records: readonly CompletedRecord[], judge: Judge, margin?: number): string[] {
  return sizedWorkOf(records, judge).map((work) => `${work.family}: ${answerOf(work, margin)}.`);
}

/** The workloads with several sizes. All ways of all sides are rivals. */
export function sizedWorkOf(records: readonly CompletedRecord[], judge: Judge): SizedWork[] {
  const sized = records.filter(({ size, engine }) => size !== undefined && engine !== NOOP);
  return groupBy(sized, ({ family, runtime }) => JSON.stringify([family, runtime])).flatMap((ofFamily) => {
    const steps = groupBy(ofFamily, ({ size }) => String(size))
      .flatMap((cells) => stepOf(cells, judge) ?? [])
      .toSorted((a, b) => a.size - b.size);
    if (steps.length < 2) return [];
    const { family, runtime } = ofFamily[0]!;
    return { family, runtime, records: ofFamily, steps, crossing: crossingIn(segmentsOf(wonOf(steps))) };
  });
}

function stepOf(cells: readonly CompletedRecord[], judge: Judge): Step | undefined {
  const fastest = fastestOf(cells)!;
  // The fastest by its rate may be shown to be slower by the turns.
  const best = cells.reduce((won, other) => (judge(other, won)?.verdict === 'faster' ? other : won), fastest);
  const rivals = cells
    .flatMap((record) => {
      const judged = record === best ? undefined : judge(best, record);
      return judged === undefined ? [] : [{ record, judged }];
    })
    .toSorted((a, b) => a.judged.ratio - b.judged.ratio);
  if (rivals.length === 0) return undefined;
  return { size: best.size!, best, rivals, close: rivals.filter(({ judged }) => judged.verdict !== 'faster') };
}

/** The sizes with a winner. */
function wonOf(steps: readonly Step[]): Step[] {
  return steps.filter(({ close }) => close.length === 0);
}

function answerOf({ steps, crossing }: SizedWork, margin: number | undefined): string {
  const won = wonOf(steps);
  const segments = segmentsOf(won);
  const largest = steps.at(-1)!;
  if (segments.length === 1 && won.length === steps.length) return alwaysText(steps);
  const parts = segments.map((segment) => {
    const isFirst = segment[0] === steps[0];
    return `${nameOf(segment)} ${rangeText(segment, isFirst, segment.at(-1) === largest)}`;
  });
  const end = largest.rivals[0]!;
  const last = `at ${formatCount(largest.size)}, ${variantOf(largest.best)} has ${formatFactorInterval(end.judged)} the rate of ${variantOf(end.record)}`;
  return [
    ...(segments.length === 0 ? [] : [crossing === undefined ? parts.join(', ') : crossingText(crossing)]),
    ...closeTexts(steps, margin),
    ...(largest.close.length === 0 ? [last] : []),
  ].join('; ');
}

/** Whether all ways that are not slower than the fastest are equivalent to it. */
function isLevel({ close }: Step): boolean {
  return close.length > 0 && close.every(({ judged }) => judged.verdict === 'equivalent');
}

/** One way wins at each size. */
function alwaysText(steps: readonly Step[]): string {
  const { size, best, rivals } = steps[0]!;
  const range = `at all sizes (${formatCount(size)} to ${formatCount(steps.at(-1)!.size)})`;
  const ratios = steps.map((step) => step.rivals[0]!.judged.ratio);
  const by = `${formatFactor(Math.min(...ratios))} to ${formatFactor(Math.max(...ratios))}`;
  return rivals.length === 1
    ? `${variantOf(best)} is faster than ${variantOf(rivals[0]!.record)} ${range}, by ${by}`
    : `${variantOf(best)} is the fastest ${range}, ${by} the next one`;
}

/** The sizes without a winner, with the ways that are not shown to differ. */
function closeTexts(steps: readonly Step[], margin: number | undefined): string[] {
  const level = steps.filter(isLevel);
  const open = steps.filter((step) => step.close.length > 0 && !isLevel(step));
  const texts = (some: readonly Step[], word: string): string =>
    some
      .map(({ size, best, close }) => {
        const { judged } = close[0]!;
        const names = [best, ...close.map(({ record }) => record)].map(variantOf).join(` ${word} `);
        return `${formatCount(size)} (${names}, ${formatFactorInterval(judged)}${byCpuTime(judged.cpu, margin)})`;
      })
      .join(', ');
  return [
    ...(level.length === 0 ? [] : [`equivalent at ${texts(level, 'and')}`]),
    ...(open.length === 0 ? [] : [`no difference shown at ${texts(open, 'or')}`]),
  ];
}

/** The neighbouring sizes that have a winner in common. */
function segmentsOf(won: readonly Step[]): Step[][] {
  const segments: Step[][] = [];
  for (const step of won) {
    const last = segments.at(-1);
    if (last !== undefined && nameOf(last) === nameOf([step])) last.push(step);
    else segments.push([step]);
  }
  return segments;
}

function nameOf(segment: readonly Step[]): string {
  return variantOf(segment[0]!.best);
}

function rangeText(segment: readonly Step[], isFirst: boolean, isLast: boolean): string {
  const [low, high] = [segment[0]!, segment.at(-1)!].map(({ size }) => formatCount(size));
  if (isFirst) return `up to ${high}`;
  if (isLast) return `from ${low} on`;
  return low === high ? `at ${low}` : `from ${low} to ${high}`;
}

/** The size at which one way overtakes another, by a line through the logarithms of its neighbours. */
function crossingIn(segments: readonly Step[][]): SizeCrossing | undefined {
  const [below, above] = [segments[0]?.at(-1), segments[1]?.[0]];
  if (segments.length !== 2 || below === undefined || above === undefined) return undefined;
  const ratioAt = (step: Step, other: Step): number | undefined => {
    const name = variantOf(other.best);
    return step.rivals.find(({ record }) => variantOf(record) === name)?.judged.ratio;
  };
  const [a, b] = [ratioAt(below, above), ratioAt(above, below)].map((ratio) => ratio && Math.log(ratio));
  if (a === undefined || b === undefined) return undefined;
  // Sizes may begin with 0.
  const [low, high] = [Math.max(below.size, 1), Math.max(above.size, 1)];
  return { size: Math.round(low * (high / low) ** (a / (a + b))), below, above };
}

function crossingText({ size, below, above }: SizeCrossing): string {
  return (
    `${variantOf(below.best)} up to about ${formatCount(size)}, ${variantOf(above.best)} from there on ` +
    `(${formatCount(below.size)}–${formatCount(above.size)})`
  );
}
