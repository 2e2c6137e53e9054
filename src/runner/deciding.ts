/** How many processes measure each cell: a number that is given, or as many as decide its comparisons. */
import { type ComparisonOptions, comparisonsOf, isNodeSide } from '../compare/comparisons.js';
import { contestOf, groupBy, identityOf } from '../compare/cell-groups.js';
import type { Cell, Comparison, Sample } from '../records/record.js';
import type { PlannedCell } from '../families/workload.js';
import type { ForkRecord } from '../records/run-log.js';
import { LOOKS, nextLook } from '../stats/looks.js';
import { typicalSeconds } from '../stats/median-polish.js';
import { median } from '../stats/quantile.js';
import { rateOf, ratesOf } from '../stats/summary.js';
import { completedRecord } from './cell-record.js';
import { type ForkPolicy, forksOf, isSlow } from './sampling.js';

/** How a run decides it. */
export interface Deciding extends ForkPolicy {
  /** How its comparisons are made. */
  readonly comparing: ComparisonOptions;
  /** Whether there is time to measure inconclusive comparisons further. */
  readonly mayGoOn: () => boolean;
}

/**
 * The comparisons that a run decides, in this order: the best of both sides of all its work, cells and their rivals, and then the
 * lanes.
 */
export const DECIDED = ['best', 'rival', 'lane'] as const;

type Decided = (typeof DECIDED)[number];

type DecidedComparison = Comparison & { readonly kind: Decided };

/** A cell with what was measured of it so far. */
export class Entry {
  readonly planned: PlannedCell;
  readonly forks: ForkRecord[];
  isOver = false;
  /** The number of processes that it is to have before the next look at its comparisons. */
  target = LOOKS[0]!;
  /** The number of processes at the last look at its comparisons, by their kind. */
  readonly looks = { best: LOOKS[0]!, rival: LOOKS[0]!, lane: LOOKS[0]! };

  constructor(planned: PlannedCell, forks: ForkRecord[]) {
    this.planned = planned;
    this.forks = forks;
  }

  get samples(): Sample[] {
    return this.forks.flatMap(({ samples }) => samples);
  }
}

/** The number of processes that are to measure a cell yet, at least. */
export function processesLeft({ forks, target }: Entry, policy: Deciding): number {
  const wanted = policy.forks === undefined ? target : forksOf(policy.forks, policy.slowForks, forks[0]?.samples);
  return Math.max(0, wanted - forks.length);
}

/** The cells that get a process in the next round, together: those that lack the most, of a resumed run first those that lack more. */
export function nextEntries(entries: readonly Entry[], policy: Deciding): Entry[] {
  const left = entries.filter((entry) => !entry.isOver && processesLeft(entry, policy) > 0);
  const most = Math.max(...left.map((entry) => processesLeft(entry, policy)));
  return left.filter((entry) => processesLeft(entry, policy) === most);
}

/**
 * The cells that have all the processes that they need. If a number is given, all of that number. Otherwise, once the cells of a
 * group have their processes: the cells of which no comparison is inconclusive, or all cells if the time is over. Of the others,
 * the cells whose comparison is of the kind that is decided now are to be measured up to its next look. The lanes wait for the
 * best.
 */
export function finishedOf(entries: readonly Entry[], policy: Deciding, now: Decided): Entry[] {
  const open = entries.filter((entry) => !entry.isOver);
  const whole = open.filter((entry) => processesLeft(entry, policy) === 0);
  if (policy.forks !== undefined) return whole;
  if (whole.length < open.length) return [];
  if (!policy.mayGoOn()) return whole;
  const later = DECIDED.slice(DECIDED.indexOf(now));
  const undecided = undecidedIn(entries, policy).flatMap((comparison): Undecided[] => {
    const { kind } = comparison;
    const cells = later.includes(kind) ? cellsOf(comparison, open) : [];
    const looks = looksOf(cells, kind);
    return looks === undefined ? [] : [{ kind, cells, ...looks }];
  });
  const needed = new Set(undecided.flatMap(({ cells }) => cells));
  addProcesses(undecided.filter(({ kind }) => kind === now));
  return whole.filter((entry) => !needed.has(entry));
}

/** A comparison that more processes may decide. */
interface Undecided {
  readonly kind: Decided;
  /** The cells that get these processes. */
  readonly cells: readonly Entry[];
  /** The numbers of processes at the last look and at the next one. */
  readonly last: number;
  readonly next: number;
}

function addProcesses(undecided: readonly Undecided[]): void {
  const most = new Map<Entry, number>();
  for (const { kind, cells, last, next } of undecided) {
    for (const entry of cells) {
      most.set(entry, Math.max(next - last, most.get(entry) ?? 0));
      entry.looks[kind] = Math.max(next, entry.looks[kind]);
    }
  }
  for (const [entry, added] of most) entry.target = entry.forks.length + added;
}

/** The part of the rate of a side's fastest cell from which on another one may turn out to be the fastest. */
const CONTENDS = 0.85;
/** The most contenders: of equal ones, any will do. */
const MOST_CONTENDERS = 2;

/** A cell with samples of it. */
interface Sampled {
  readonly planned: PlannedCell;
  readonly samples: readonly Sample[];
}

/** How much faster one side may look than the other if both are close. */
const CLOSE = 1.5;

/**
 * The cells whose noise decides the verdict on the best of both sides. If the sides are close, these are the fastest few of each
 * side. Any of them may turn out to be the best.
 */
export function closestOf<T extends Sampled>(cells: readonly T[]): ReadonlySet<T> {
  const close = sidesOf(cells).filter(({ rust: [rust], node: [node] }) => {
    return rust !== undefined && node !== undefined && Math.max(rust.rate / node.rate, node.rate / rust.rate) < CLOSE;
  });
  return new Set(close.flatMap(({ rust, node }) => [...rust, ...node].map(({ cell }) => cell)));
}

/** A contender, with its rate. */
interface Rated<T> {
  readonly cell: T;
  readonly rate: number;
}

/** The contenders of both sides of each contest, the fastest first. */
function sidesOf<T extends Sampled>(cells: readonly T[]): { readonly rust: Rated<T>[]; readonly node: Rated<T>[] }[] {
  const measured = cells.filter(({ samples }) => samples.length > 0);
  return groupBy(measured, ({ planned: { cell } }) => contestOf(cell)).map((contest) => {
    const seconds = typicalSeconds(contest.map(({ samples }) => samples));
    const rated = contest.map((cell, index): Rated<T> => {
      return { cell, rate: rateOf({ summary: ratesOf(cell.planned.cell, seconds[index]!) }) };
    });
    const ofSide = (isNode: boolean): Rated<T>[] =>
      fastestFew(rated.filter(({ cell }) => isNodeSide(cell.planned.cell.side) === isNode));
    return { rust: ofSide(false), node: ofSide(true) };
  });
}

function fastestFew<T>(cells: readonly Rated<T>[]): Rated<T>[] {
  const sorted = cells.toSorted((a, b) => b.rate - a.rate);
  return sorted.slice(0, MOST_CONTENDERS).filter(({ rate }) => rate >= CONTENDS * sorted[0]!.rate);
}

/** The cells of a comparison. None if one of the two gets no more processes. */
function cellsOf({ numerator, denominator }: Comparison, open: readonly Entry[]): readonly Entry[] {
  const pair = open.filter(({ planned }) => [numerator, denominator].includes(planned.cell.id));
  return pair.length < 2 ? [] : pair;
}

/** The last and the next look at a comparison of cells. `undefined` if there is no next one. Slow cells have two looks. */
function looksOf(cells: readonly Entry[], kind: Decided): Pick<Undecided, 'last' | 'next'> | undefined {
  if (cells.length === 0) return undefined;
  const last = Math.max(...cells.map(({ looks }) => looks[kind]));
  const next = nextLook(last);
  if (next === undefined) return undefined;
  const isEnough = next > LOOKS[1]! && cells.some(({ forks }) => isSlow(forks[0]?.samples));
  return isEnough ? undefined : { last, next };
}

/** The comparisons that more processes may decide. */
function undecidedIn(entries: readonly Entry[], { comparing }: Deciding): DecidedComparison[] {
  const measured = entries.filter(({ forks }) => forks.length > 0);
  const records = measured.map(({ planned, forks }) => completedRecord(planned, forks));
  return comparisonsOf(records, comparing).filter(
    (comparison): comparison is DecidedComparison =>
      DECIDED.some((kind) => kind === comparison.kind) &&
      comparison.verdict === 'inconclusive' &&
      comparison.noVerdict === undefined,
  );
}

/** The fewest blocks that show which of two flavors is faster. */
const FEWEST_BLOCKS = 2;

/**
 * The cells of Rust that were slower in their first process than another flavor of their lane, by the median of the ratios of their
 * blocks. Node's lanes are compared with the fastest flavor, and of equal ones any will do. Only for a run that decides by itself how
 * often cells are measured.
 */
export function losersOf(entries: readonly Entry[], policy: Pick<Deciding, 'forks'>): Entry[] {
  if (policy.forks !== undefined) return [];
  const rust = entries.filter(({ planned, forks }) => planned.cell.side === 'rust' && forks.length > 0);
  const lanes = groupBy(rust, ({ planned: { cell } }) => identityOf({ ...cell, flavor: undefined } as unknown as Cell));
  return lanes.flatMap((flavors) =>
    flavors.filter(
      (entry) =>
        !entry.isOver &&
        entry.forks.length === 1 &&
        flavors.some((other) => isBeatenBy(entry.forks[0]!, other.forks[0]!)),
    ),
  );
}

function isBeatenBy({ samples }: ForkRecord, other: ForkRecord): boolean {
  const inBlock = new Map(other.samples.map(({ block, seconds }) => [block, seconds]));
  const ratios = samples.flatMap(({ block, seconds }) => {
    const others = block === undefined ? undefined : inBlock.get(block);
    return others === undefined ? [] : [seconds / others];
  });
  return ratios.length >= FEWEST_BLOCKS && median(ratios) > 1;
}
