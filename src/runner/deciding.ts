/** How many processes measure each cell: a number that is given, or as many as decide its comparisons. */
import { type ComparisonOptions, comparisonsOf } from '../compare/comparisons.js';
import type { PlannedCell } from '../families/workload.js';
import type { ForkRecord } from '../records/run-log.js';
import { LOOKS, nextLook } from '../stats/looks.js';
import { completedRecord } from './cell-record.js';
import { type ForkPolicy, forksOf, isSlow } from './sampling.js';

/** How a run decides it. */
export interface Deciding extends ForkPolicy {
  /** How its comparisons are made. */
  readonly comparing: ComparisonOptions;
  /** Whether there is time to measure inconclusive comparisons further. */
  readonly mayGoOn: () => boolean;
}

/** A cell with what was measured of it so far. */
export class Entry {
  readonly planned: PlannedCell;
  readonly forks: ForkRecord[];
  isOver = false;
  /** The number of processes up to the next look at its comparisons. */
  look = LOOKS[0]!;

  constructor(planned: PlannedCell, forks: ForkRecord[]) {
    this.planned = planned;
    this.forks = forks;
  }
}

/** The number of processes that a cell is to have, as far as it is known. */
function targetOf({ forks, look }: Entry, policy: Deciding): number {
  if (policy.forks === undefined) return look;
  return forksOf(policy.forks, policy.slowForks, forks[0]?.samples);
}

/** The number of processes that are to measure a cell yet, at least. */
export function processesLeft(entry: Entry, policy: Deciding): number {
  return Math.max(0, targetOf(entry, policy) - entry.forks.length);
}

/** The cells that get a process in the next round: of a resumed run first those that have fewer than the others. */
export function nextEntries(entries: readonly Entry[], policy: Deciding): Entry[] {
  const left = entries.filter((entry) => !entry.isOver && processesLeft(entry, policy) > 0);
  const fewest = Math.min(...left.map(({ forks }) => forks.length));
  return left.filter(({ forks }) => forks.length === fewest);
}

/**
 * The cells that have all that they need: of a number that is given, all of it. Else, once the cells of a group have the processes up to
 * their look, those of which no comparison is inconclusive, or all if the time is over; the others are to be measured up to the next look.
 */
export function finishedOf(entries: readonly Entry[], policy: Deciding): Entry[] {
  const open = entries.filter((entry) => !entry.isOver);
  const whole = open.filter((entry) => processesLeft(entry, policy) === 0);
  if (policy.forks !== undefined) return whole;
  if (whole.length < open.length) return [];
  const undecided = policy.mayGoOn() ? undecidedIn(entries, policy) : new Set<string>();
  return whole.filter((entry) => {
    const further = undecided.has(entry.planned.cell.id) ? furtherLook(entry) : undefined;
    if (further !== undefined) entry.look = further;
    return further === undefined;
  });
}

/** The next look at a cell; `undefined` if there is none. A slow cell has two at most. */
function furtherLook({ look, forks }: Entry): number | undefined {
  const next = nextLook(look);
  const isEnough = next !== undefined && next > LOOKS[1]! && isSlow(forks[0]?.samples);
  return isEnough ? undefined : next;
}

/** The ids of the cells with comparisons that more processes may decide. */
function undecidedIn(entries: readonly Entry[], { comparing }: Deciding): ReadonlySet<string> {
  const measured = entries.filter(({ forks }) => forks.length > 0);
  const records = measured.map(({ planned, forks }) => completedRecord(planned, forks));
  const open = comparisonsOf(records, comparing).filter(
    ({ kind, verdict, noVerdict }) =>
      (kind === 'lane' || kind === 'best') && verdict === 'inconclusive' && noVerdict === undefined,
  );
  return new Set(open.flatMap(({ numerator, denominator }) => [numerator, denominator]));
}
