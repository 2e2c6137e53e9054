import {
  type Counted,
  type NoVerdict,
  type RatioInterval,
  type RunContext,
  type Sample,
  itemsOf,
} from '../records/record.js';
import { FORKS_FOR_INTERVAL, ratioOfForks } from '../stats/ratio-interval.js';
import { type Variance, priorVariance } from '../stats/prior-variance.js';
import { median } from '../stats/quantile.js';
import { ratioInTurns, varianceBetween } from '../stats/ratio-in-turns.js';
import { medianOf, processCpuOf } from '../stats/summary.js';
import { type Forks, RISK } from '../stats/resampling.js';
import { LOOKS } from '../stats/looks.js';
import { groupBy } from './cell-groups.js';

/** Samples, with the number of items that each of them worked on. */
export interface Timed extends Counted {
  readonly samples: readonly Sample[];
  readonly noVerdict?: NoVerdict;
  /**
   * The part of the processes in which one of several cells was chosen by cross-validation, if the choice was not the same in all
   * of them. Absent: 0.
   */
  readonly chosenPart?: number;
}

/**
 * The risk of each look of a run that looks several times at its comparisons, and stops when they are decided. With it, all looks
 * together err as seldom as one look of 0.05 (Pocock, "Group Sequential Methods in the Design and Analysis of Clinical Trials",
 * 1977). The constants are from Jennison and Turnbull, "Group Sequential Methods", 2000, table 2.1, by the number of looks.
 */
const RISKS = [RISK, 0.0294, 0.0221, 0.0182];

/** The risk of each look, by the number of looks, four at most. */
export function riskOfLooks(looks: number): number {
  return RISKS[looks - 1]!;
}

/**
 * The risk of the intervals of a run, by its configuration: of one that decides by itself how often cells are measured, a smaller
 * one.
 */
export function riskOf({ config }: Pick<RunContext, 'config'>): number {
  return config['forks'] === undefined ? riskOfLooks(LOOKS.length) : RISK;
}

/** How a ratio of two cells is made. */
export interface RatioOptions {
  /** Default: `RISK`. */
  readonly risk?: number | undefined;
  /** Whether the cells are of two runs, whose blocks have nothing in common. */
  readonly isApart?: boolean;
  /** The variances that moderate the variances of a comparison. Absent: its own variance alone counts. */
  readonly priors?: Priors | undefined;
}

/**
 * The variances that the comparisons of a run have in common, of elapsed time and of CPU time, by how many blocks their processes
 * shared.
 */
export interface Priors {
  readonly elapsed: PriorsByBlocks;
  readonly cpu: PriorsByBlocks;
}

type PriorsByBlocks = Readonly<Record<'few' | 'many', Variance | undefined>>;

/**
 * The number of blocks of a pair of processes from which on they are many. The noise of samples is then small compared with the
 * noise of processes.
 */
const MANY_BLOCKS = 4;

/** Two cells that a run compares. */
interface ComparedCells {
  readonly numerator: Timed;
  readonly denominator: Timed;
}

/** The priors by these comparisons, without the comparisons in which a cell got no verdict. */
export function priorsOf(compared: readonly ComparedCells[]): Priors {
  const judged = compared.filter((cells) => noVerdictOf(cells) === undefined);
  const of = (secondsOf: (sample: Sample) => number): PriorsByBlocks => {
    const pairs = judged
      .map(({ numerator, denominator }) => pairsOf(numerator, denominator, secondsOf))
      .filter((each) => each.length > 1 && each.flat().every((ratio) => ratio > 0 && Number.isFinite(ratio)));
    const prior = (isMeant: boolean): Variance | undefined =>
      priorVariance(pairs.filter((each) => hasManyBlocks(each) === isMeant).map(varianceBetween));
    return { few: prior(false), many: prior(true) };
  };
  return { elapsed: of(elapsedOf), cpu: of((sample) => processCpuOf(sample) ?? Number.NaN) };
}

/** Why two cells get no verdict, by one of them. `undefined` if they do. */
export function noVerdictOf({ numerator, denominator }: ComparedCells): NoVerdict | undefined {
  const isOfOne = Math.min(forkCount(numerator), forkCount(denominator)) <= 1;
  return numerator.noVerdict ?? denominator.noVerdict ?? (isOfOne ? 'one-process' : undefined);
}

function hasManyBlocks(pairs: readonly (readonly number[])[]): boolean {
  return median(pairs.map(({ length }) => length)) >= MANY_BLOCKS;
}

function elapsedOf({ seconds }: Sample): number {
  return seconds;
}

/**
 * The items per second of `numerator` divided by the items per second of `denominator`, with its interval. Above 1 the numerator is
 * faster. The numbers of items may differ. `undefined` if one worked on none and so has no rate.
 */
export function rateRatio(numerator: Timed, denominator: Timed, options: RatioOptions = {}): RatioInterval | undefined {
  return ratioOf(numerator, denominator, elapsedOf, options, options.priors?.elapsed);
}

/** The same for the items per second of CPU time. `undefined` also if a sample has none. */
export function cpuRatio(numerator: Timed, denominator: Timed, options: RatioOptions = {}): RatioInterval | undefined {
  const isKnown = ({ samples }: Timed): boolean => samples.every((sample) => (processCpuOf(sample) ?? 0) > 0);
  if (!isKnown(numerator) || !isKnown(denominator)) return undefined;
  return ratioOf(numerator, denominator, (sample) => processCpuOf(sample)!, options, options.priors?.cpu);
}

function ratioOf(
  numerator: Timed,
  denominator: Timed,
  secondsOf: (sample: Sample) => number,
  { risk = RISK, isApart = false }: RatioOptions,
  priors: PriorsByBlocks | undefined,
): RatioInterval | undefined {
  if (itemsOf(numerator) === 0 || itemsOf(denominator) === 0) return undefined;
  const chosenPart = Math.max(numerator.chosenPart ?? 0, denominator.chosenPart ?? 0);
  const pairs = isApart ? [] : pairsOf(numerator, denominator, secondsOf);
  if (pairs.length > 0) {
    return ratioInTurns(pairs, { risk, chosenPart, prior: priors?.[hasManyBlocks(pairs) ? 'many' : 'few'] });
  }
  // Time per item is the inverse of the rate, so the arguments are swapped.
  return ratioOfForks(perItem(denominator, secondsOf), perItem(numerator, secondsOf), { risk, chosenPart });
}

/** The ratios of the samples of one block each, a list for each pair of processes. There are none if the two took no turns. */
function pairsOf(numerator: Timed, denominator: Timed, secondsOf: (sample: Sample) => number): number[][] {
  const inBlock = new Map<number, number>();
  for (const sample of denominator.samples) {
    if (sample.block !== undefined) inBlock.set(sample.block, secondsOf(sample) / itemsOf(denominator));
  }
  const pairs = groupBy(numerator.samples, ({ fork }) => String(fork)).map((ofFork) =>
    ofFork.flatMap((sample) => {
      const other = sample.block === undefined ? undefined : inBlock.get(sample.block);
      return other === undefined ? [] : [other / (secondsOf(sample) / itemsOf(numerator))];
    }),
  );
  return pairs.filter((ratios) => ratios.length > 0);
}

/** The part of a process's CPU time from which on its main thread did the work. The rest is compiling and collecting garbage. */
const MOST_CPU = 0.9;

/**
 * Whether a cell is synchronous on one thread: its main thread did the work, and its event loop stood still for most of it. Whatever else
 * such a cell takes of the wall time is the time of other programs. `false` if its samples don't tell.
 */
export function isOnOneThread({ samples }: Timed): boolean {
  const thread = medianOf({ samples }, (sample) => {
    const cpu = processCpuOf(sample);
    if (sample.mainThreadCpuSeconds !== undefined && cpu !== undefined) return sample.mainThreadCpuSeconds / cpu;
    return sample.threads === undefined ? undefined : 1 / Math.max(1, sample.threads);
  });
  const stalled = medianOf({ samples }, ({ longestStallMs, seconds, executions = 1 }) =>
    longestStallMs === undefined ? undefined : longestStallMs / (1000 * seconds * executions),
  );
  return thread !== undefined && stalled !== undefined && thread >= MOST_CPU && stalled > 0.5;
}

/** Whether one of the two was measured in too few processes, so that the differences between them are hardly known. */
export function hasFewForks(a: Timed, b: Timed): boolean {
  return Math.min(forkCount(a), forkCount(b)) < FORKS_FOR_INTERVAL;
}

/** The number of processes that measured a cell, or 0 if it was measured in the process of the run. */
export function forkCount({ samples }: Timed): number {
  return new Set(samples.map(({ fork }) => fork ?? 0)).size - (samples.some(({ fork }) => fork === undefined) ? 1 : 0);
}

/** The seconds of each item of a cell, by the processes that measured it. */
export function secondsPerItem(cell: Timed): Forks {
  return perItem(cell, (sample) => sample.seconds);
}

function perItem(cell: Timed, secondsOf: (sample: Sample) => number): Forks {
  const items = itemsOf(cell);
  return groupBy(cell.samples, ({ fork }) => String(fork)).map((ofFork) =>
    ofFork.map((sample) => secondsOf(sample) / items),
  );
}
