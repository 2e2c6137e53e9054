/** How often a cell is executed, and in which order its forks go. Nothing here reads a clock: the caller reports times. */

import type { Sample } from '../records/record.js';

/** How one fork of a cell is sampled. */
export interface SamplingPolicy {
  /** The number of samples of a fork; absent: as many as the budget has room for, within the bounds. */
  readonly samples?: number | undefined;
  /** The wall time of a fork's samples in seconds, for a number of samples that is not given. */
  readonly budgetSeconds: number;
}

/** How many processes measure a cell. */
export interface ForkPolicy {
  readonly forks: number;
  /** The most processes of a slow cell. */
  readonly slowForks: number;
}

/** The seconds of a sample from which on a cell is slow. */
export const SLOW_SECONDS = 2;

/**
 * The number of processes of a cell, by the samples of the first of them: it depends on how long they take, and not on their spread,
 * which would make intervals too narrow.
 */
export function forksOf({ forks, slowForks }: ForkPolicy, first: readonly Pick<Sample, 'seconds'>[] = []): number {
  const isSlow = first.length > 0 && first.every(({ seconds }) => seconds >= SLOW_SECONDS);
  return isSlow ? Math.min(forks, slowForks) : forks;
}

/** The bounds of the number of samples of a fork, where the user gives none. */
const FEWEST_SAMPLES = 1;
const MOST_SAMPLES = 10;

/** The seconds of a sample up to which one of them says little: a pause of the garbage collector is large beside it. */
const SHORT_SAMPLE_SECONDS = 0.1;
/** The fewest samples where they are short, though making their input may take longer than the budget. */
const FEWEST_SHORT_SAMPLES = 3;

/** The most executions of one sample. */
const MOST_EXECUTIONS = 100;

const MOST_WARM_UPS = 6;
const FEWEST_WARM_UPS = 2;
/**
 * The budgets that a first execution takes which is not repeated. The first one of a process also touches its memory for the first time,
 * which on some machines takes longer than the work.
 */
const COLD_BUDGETS = 5;
/** The relative difference of the last two executions, to the slower, up to which compilation counts as done. */
const STEADY_DIFFERENCE = 0.1;

/** The times of one execution. */
export interface Execution {
  /** The seconds that its stopwatch counted. */
  readonly seconds: number;
  /** The wall time in seconds, including untimed work. */
  readonly elapsedSeconds: number;
}

/**
 * Whether a fork has warmed up, by the times of its executions: at least two, until the last two agree. Slow ones are cut short:
 * once two have taken the budget, or one several times as much, what the JIT still saves is small beside them.
 */
export function isWarm(executions: readonly Execution[], { budgetSeconds }: SamplingPolicy): boolean {
  const spent = executions.reduce((sum, { elapsedSeconds }) => sum + elapsedSeconds, 0);
  if (executions.length < FEWEST_WARM_UPS) return executions.length > 0 && spent >= COLD_BUDGETS * budgetSeconds;
  if (executions.length >= MOST_WARM_UPS || spent >= budgetSeconds) return true;
  const [before, last] = executions.slice(-2).map(({ seconds }) => seconds) as [number, number];
  return Math.abs(last - before) <= STEADY_DIFFERENCE * Math.max(last, before);
}

/**
 * The number of samples of a fork, fixed before the first of them: a number that depended on their spread would make intervals
 * too narrow. `last` is the last warm-up.
 */
export function samplesOf({ samples, budgetSeconds }: SamplingPolicy, last: Execution): number {
  if (samples !== undefined) return samples;
  const room = Math.floor(budgetSeconds / Math.max(last.elapsedSeconds, Number.EPSILON));
  const fewest = last.seconds <= SHORT_SAMPLE_SECONDS ? FEWEST_SHORT_SAMPLES : FEWEST_SAMPLES;
  return Math.min(Math.max(room, fewest), MOST_SAMPLES);
}

/** The shortest sample of request work in seconds: a pause of a server or of the scheduler is large beside shorter ones. */
const SHORTEST_REQUESTS_SECONDS = 0.5;

/** The wall time in seconds up to which a sample may be made longer, with the untimed work of its executions. */
const LONGEST_REQUESTS_SECONDS = 2;

/** How often the work of requests is executed in one sample, by the last warm-up. */
export function executionsOf({ seconds, elapsedSeconds }: Execution): number {
  const wanted = Math.ceil(SHORTEST_REQUESTS_SECONDS / Math.max(seconds, Number.EPSILON));
  const room = Math.floor(LONGEST_REQUESTS_SECONDS / Math.max(elapsedSeconds, Number.EPSILON));
  return Math.max(1, Math.min(wanted, room, MOST_EXECUTIONS));
}

/** The seconds in which a process starts and opens its cell, typically, and how often its warm-up and samples take the budget. */
const TYPICAL_OPENING_SECONDS = 1;
const TYPICAL_BUDGETS = 2;
/** The seconds in which a process loads, moves and checks a row, typically. */
const TYPICAL_ROW_SECONDS = 2e-7;

/** The seconds that one fork of a cell with so many rows takes, typically. */
export function typicalSeconds({ budgetSeconds }: SamplingPolicy, rows: number): number {
  return TYPICAL_OPENING_SECONDS + TYPICAL_BUDGETS * budgetSeconds + rows * TYPICAL_ROW_SECONDS;
}

/**
 * The items in the order of a round, from 0: each round begins one item later, and every other one goes backwards, so that neither
 * a drift of the machine nor a neighbour favours one of them.
 */
export function orderOf<T>(items: readonly T[], round: number): T[] {
  const step = round % 2 === 0 ? 1 : items.length - 1;
  return items.map((_, place) => items[(round + place * step) % items.length]!);
}
