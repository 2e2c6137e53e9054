/**
 * How often a cell is executed: until it has warmed up, for one sample, and in how many samples and processes. Nothing here reads a
 * clock: the caller reports times.
 */

import { isRequestWork } from '../compare/cell-groups.js';
import { type Cell, type Counted, type Sample, itemsOf } from '../records/record.js';
import { median } from '../stats/quantile.js';

/** How one process of a cell is sampled. */
export interface SamplingPolicy {
  /** The number of samples of a process. Absent: as many as the budget has room for, within the bounds. */
  readonly samples?: number | undefined;
  /** The wall time of a process's samples in seconds, for a number of samples that is not given. */
  readonly budgetSeconds: number;
}

/** How many processes measure a cell. */
export interface ForkPolicy {
  /** Their number. Absent: as many as decide, by the looks of `stats/looks.ts`. */
  readonly forks?: number | undefined;
  /** The most processes of a slow cell whose number is given. */
  readonly slowForks: number;
}

/** The seconds of a sample from which on a cell is slow. */
export const SLOW_SECONDS = 2;

/**
 * The number of processes of a cell, by the samples of the first of them. It depends on how long they take, and not on their
 * spread: a number that depends on the spread would make intervals too narrow.
 */
export function forksOf(forks: number, slowForks: number, first: readonly Pick<Sample, 'seconds'>[] = []): number {
  return isSlow(first) ? Math.min(forks, slowForks) : forks;
}

/** Whether a cell is slow, by the samples of its first process. */
export function isSlow(first: readonly Pick<Sample, 'seconds'>[] = []): boolean {
  return first.length > 0 && first.every(({ seconds }) => seconds >= SLOW_SECONDS);
}

/** The shortest sample in seconds: shorter ones show the clock and the scheduler as well as the work. */
const SHORTEST_SECONDS = 0.02;
/** The same of request work: a pause of a server or of the scheduler is large compared with shorter ones. */
const SHORTEST_REQUESTS_SECONDS = 0.5;
/** The wall time in seconds up to which a sample may be made longer, with the untimed work of its executions. */
const LONGEST_SECONDS = 2;
/** The most executions of one sample, each of which has untimed work around it. */
const MOST_EXECUTIONS = 1000;
/** The most repeats within the timed span: an execution of no work at all takes a nanosecond. */
const MOST_REPEATS = 2 ** 26;
/** How much shorter than the shortest sample one may turn out, since the number of its executions was fixed before. */
const TOLERANCE = 0.5;

/** The times of one execution. */
export interface Execution {
  /** The seconds that its stopwatch counted. */
  readonly seconds: number;
  /** The wall time in seconds, including untimed work. */
  readonly elapsedSeconds: number;
}

/** The properties of a cell that the length of a sample, and of a warm-up, depends on. */
export interface Kind {
  /** Whether the cell is request work. */
  readonly isRequests: boolean;
  /** Whether the work is repeated within the timed span. */
  readonly repeats: boolean;
  /** Whether the work is compiled while it runs. Absent: it is. */
  readonly isCompiledBefore?: boolean;
}

/**
 * How often the work is executed in one sample, by a former execution. Once if there is no time for samples: such a run only shows that
 * the cells do their work.
 */
export function executionsOf(
  { seconds, elapsedSeconds }: Execution,
  { isRequests, repeats }: Pick<Kind, 'isRequests' | 'repeats'>,
  { budgetSeconds }: Pick<SamplingPolicy, 'budgetSeconds'>,
): number {
  if (budgetSeconds === 0) return 1;
  const shortest = isRequests ? SHORTEST_REQUESTS_SECONDS : SHORTEST_SECONDS;
  const wanted = Math.ceil(shortest / Math.max(seconds, Number.EPSILON));
  if (repeats) return Math.min(wanted, MOST_REPEATS);
  const room = Math.floor(LONGEST_SECONDS / Math.max(elapsedSeconds, Number.EPSILON));
  return Math.max(1, Math.min(wanted, room, MOST_EXECUTIONS));
}

/** Whether samples of this length are too short to tell anything. */
export function isTooShort(seconds: number): boolean {
  return seconds < SHORTEST_SECONDS * TOLERANCE;
}

/**
 * The bounds of the number of samples of a process, if the user gives no number. Three have a median that one which is still warming up,
 * or paused, does not move.
 */
const FEWEST_SAMPLES = 3;
const MOST_SAMPLES = 10;

/**
 * The number of samples of a process, fixed before the first of them: a number that depended on their spread would make intervals
 * too narrow. `last` is the last warm-up.
 */
export function samplesOf({ samples, budgetSeconds }: SamplingPolicy, last: Execution): number {
  if (samples !== undefined) return samples;
  // Such a run only shows that the cells do their work.
  if (budgetSeconds === 0) return 1;
  const room = Math.floor(budgetSeconds / Math.max(last.elapsedSeconds, Number.EPSILON));
  return Math.min(Math.max(room, FEWEST_SAMPLES), MOST_SAMPLES);
}

/** The executions of work that was compiled before: memory is touched, and caches are full. */
const FEWEST_COMPILED = 3;
/** The executions of which the last show whether a trend goes on. */
const TREND_LENGTH = 5;
/** The pairs of them, of ten, of which the later one is faster, from which on there is a trend: chance has as many in 1 of 24 cases. */
const TREND_PAIRS = 9;
/** The part by which executions got faster from which on a trend matters. */
const TREND_GAIN = 0.03;
/** The fewest executions of a warm-up at its cap that show whether the cell still gets faster. */
const FEWEST_AT_CAP = 15;

/** The shortest time of a warm-up in seconds, as a part of the budget: compilers work behind. */
const LEAST_BUDGETS = 1;
/** The longest time, after which a cell that still gets faster is marked. */
const MOST_BUDGETS = 10;
const MOST_WARM_UPS = 50;
/** The length of an execution in seconds from which on tens of milliseconds of compilation do not show. */
export const LONG_SECONDS = 0.5;
/**
 * The number of budgets that a first execution must take for it not to be repeated. The first execution of a process also touches
 * its memory for the first time. On some machines, that takes longer than the work.
 */
const COLD_BUDGETS = 5;

/** The state of a warm-up. */
export type Warmth = 'warming-up' | 'warm' | 'still-warming-up';

/**
 * Whether a process has warmed up, by the times of executions of the length of a sample. It has when the last ones show no trend
 * and it took its least time. Long executions are few: when two have taken the budget, or one several times as much, the savings of
 * compilers are small compared with them. Work that was compiled before needs three.
 */
export function warmthOf(
  executions: readonly Execution[],
  { budgetSeconds }: Pick<SamplingPolicy, 'budgetSeconds'>,
  { isCompiledBefore = false }: Pick<Kind, 'isCompiledBefore'> = {},
): Warmth {
  const spent = executions.reduce((sum, { elapsedSeconds }) => sum + elapsedSeconds, 0);
  const last = executions.at(-1);
  if (last === undefined) return 'warming-up';
  if (last.seconds >= LONG_SECONDS || last.elapsedSeconds >= LONG_SECONDS) {
    const isDone = executions.length > 1 ? spent >= budgetSeconds : spent >= COLD_BUDGETS * budgetSeconds;
    return isDone ? 'warm' : 'warming-up';
  }
  const times = executions.map(({ seconds }) => seconds);
  const fewest = isCompiledBefore ? FEWEST_COMPILED : TREND_LENGTH;
  const isEnough = times.length >= fewest && spent >= LEAST_BUDGETS * budgetSeconds;
  if (isEnough && !getsFaster(times)) return 'warm';
  const isOver = times.length >= MOST_WARM_UPS || spent >= MOST_BUDGETS * budgetSeconds;
  if (!isOver || times.length < 2) return 'warming-up';
  return gotFasterToTheEnd(times) ? 'still-warming-up' : 'warm';
}

/**
 * Whether the last times get shorter, by more than is negligible. Either one after the other, by the number of pairs in falling
 * order (Mann, "Nonparametric Tests Against Trend", 1945), or their median against the median of as many times before. For fewer
 * than five times, whether the last is the shortest.
 */
function getsFaster(times: readonly number[]): boolean {
  if (times.length < TREND_LENGTH) return times.at(-1)! < (1 - TREND_GAIN) * Math.min(...times.slice(1, -1));
  const last = times.slice(-TREND_LENGTH);
  let falling = 0;
  last.forEach((time, index) => {
    falling += last.slice(index + 1).filter((later) => later < time).length;
  });
  if (falling >= TREND_PAIRS && last.at(-1)! < (1 - TREND_GAIN) * last[0]!) return true;
  const before = times.slice(-2 * TREND_LENGTH, -TREND_LENGTH);
  return before.length === TREND_LENGTH && isFaster(last, before);
}

/** Whether the last third of many times is shorter than the third before, so that noise alone shows none. */
function gotFasterToTheEnd(times: readonly number[]): boolean {
  if (times.length < FEWEST_AT_CAP) return false;
  const third = Math.floor(times.length / 3);
  return isFaster(times.slice(-third), times.slice(-2 * third, -third));
}

function isFaster(times: readonly number[], before: readonly number[]): boolean {
  return median(times) < (1 - TREND_GAIN) * median(before);
}

/** The seconds in which a process starts and opens its cell, typically, and how often its warm-up and samples take the budget. */
const TYPICAL_OPENING_SECONDS = 1;
const TYPICAL_BUDGETS = 2.5;
/** The samples of request work, also for its warm-up and if cells are close, that last as long as they must, typically. */
const TYPICAL_REQUEST_SAMPLES = 6;
/** The seconds in which a process loads, moves and checks a row, typically. */
const TYPICAL_ROW_SECONDS = 2e-7;

/** The seconds that one process of a cell takes, typically. */
export function typicalSeconds({ budgetSeconds }: SamplingPolicy, cell: Counted & Pick<Cell, 'connections'>): number {
  const sampleSeconds = isRequestWork(cell) ? TYPICAL_REQUEST_SAMPLES * SHORTEST_REQUESTS_SECONDS : 0;
  return (
    TYPICAL_OPENING_SECONDS + TYPICAL_BUDGETS * budgetSeconds + sampleSeconds + itemsOf(cell) * TYPICAL_ROW_SECONDS
  );
}

/**
 * The items in the order of a round, from 0. Each round begins one item later, and every other one goes backwards. So neither a
 * drift of the machine nor a neighbour favours one of them.
 */
export function orderOf<T>(items: readonly T[], round: number): T[] {
  const step = round % 2 === 0 ? 1 : items.length - 1;
  return items.map((_, place) => items[(round + place * step) % items.length]!);
}
