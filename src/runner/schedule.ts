/**
 * The order and number of the executions of a group's cells. Nothing here reads a clock or touches a cell's work: the caller
 * reports the times of executions, so that the order and the stopping rules can be tested exactly.
 */
import { isSteady } from '../stats/summary.js';

/** The number of samples of a cell, and the conditions for taking more. */
export interface SamplingPolicy {
  /** The fewest samples of a cell, whatever the budget. */
  readonly minimumSamples: number;
  /** The most samples of a cell, whatever their spread. */
  readonly maximumSamples: number;
  /** The relative spread at which a cell with the minimum of samples is finished. */
  readonly steadySpread: number;
  /** The wall time of a cell in seconds, including warm-up and untimed work, after which it is finished with its minimum. */
  readonly budgetSeconds: number;
  readonly warmUp: WarmUpPolicy;
}

export interface WarmUpPolicy {
  readonly maximumExecutions: number;
  /** The relative difference of the last two executions, to the slower, up to which the JIT counts as steady. */
  readonly steadyDifference: number;
  /** The share of the cell's budget that its warm-up may spend. */
  readonly budgetShare: number;
}

const WARM_UP: WarmUpPolicy = { maximumExecutions: 5, steadyDifference: 0.1, budgetShare: 0.25 };
const DEFAULT_MINIMUM_SAMPLES = 5;
const DEFAULT_MAXIMUM_SAMPLES = 100;
const STEADY_SPREAD = 0.05;

/** The policy of a run: exactly `samples` samples if the user says so, else at least 5 until steady or out of time. */
export function samplingPolicy(samples: number | undefined, budgetSeconds: number): SamplingPolicy {
  return {
    minimumSamples: samples ?? DEFAULT_MINIMUM_SAMPLES,
    maximumSamples: samples ?? DEFAULT_MAXIMUM_SAMPLES,
    steadySpread: STEADY_SPREAD,
    budgetSeconds,
    warmUp: WARM_UP,
  };
}

/** The times of one execution. */
export interface Execution {
  /** The seconds that its stopwatch counted. */
  readonly seconds: number;
  /** The wall time in seconds, including untimed work. */
  readonly elapsedSeconds: number;
}

/**
 * The reason why a cell left the rotation: `interrupted` if the run was aborted and the cell had its minimum of samples,
 * `failed` if it could not be executed.
 */
export type Ending = 'steady' | 'enough' | 'budget' | 'interrupted' | 'failed';

/** A cell in the form that the schedule uses. */
export interface Contestant {
  /** Runs the cell once; resolves to `undefined` if it failed, which ends its measurement. */
  execute(phase: 'warm-up' | 'sample'): Promise<Execution | undefined>;
  /** Called once, as soon as the cell needs no more executions, while others of its group go on. */
  finish(ending: Ending): Promise<void>;
}

/**
 * Runs the cells of one group: warms each up, then takes samples in turn, A B C, C B A, A B C, ..., so that a drift of the
 * machine affects all alike. A cell leaves the rotation when it is finished. Once `signal` aborts nothing more is executed:
 * cells with their minimum of samples are finished, and `finish` is not called for the others.
 */
export async function measureInterleaved(
  contestants: readonly Contestant[],
  policy: SamplingPolicy,
  signal?: AbortSignal,
): Promise<void> {
  const entries = contestants.map((contestant) => ({ contestant, progress: newProgress() }));
  for (const entry of entries) {
    while (!isFinished(entry) && !isWarm(entry.progress, policy)) {
      if (signal?.aborted) return;
      await executeOnce(entry, 'warm-up', signal);
    }
  }
  for (const entry of rotation(entries, isFinished)) {
    if (signal?.aborted) return finishEarly(entries, policy);
    await executeOnce(entry, 'sample', signal);
    const ending = endingOf(entry.progress, policy);
    if (ending !== undefined && !isFinished(entry)) await finish(entry, ending);
  }
}

/** Finishes the cells that have enough samples when the run is interrupted. */
async function finishEarly(entries: readonly Entry[], { minimumSamples }: SamplingPolicy): Promise<void> {
  for (const entry of entries) {
    const isEnough = entry.progress.sampleSeconds.length >= minimumSamples;
    if (!isFinished(entry) && isEnough) await finish(entry, 'interrupted');
  }
}

/** Yields the items in turn, forwards, backwards, forwards, ..., skipping finished ones, until all are finished. */
export function* rotation<T>(items: readonly T[], isFinishedItem: (item: T) => boolean): Generator<T, void, undefined> {
  let order = items;
  for (;;) {
    order = order.filter((item) => !isFinishedItem(item));
    if (order.length === 0) return;
    for (const item of order) {
      if (!isFinishedItem(item)) yield item;
    }
    order = order.toReversed();
  }
}

/** The progress of a cell. */
export interface Progress {
  readonly warmUpSeconds: number[];
  readonly sampleSeconds: number[];
  /** The wall time of all its executions, in seconds. */
  spentSeconds: number;
  ending: Ending | undefined;
}

export function newProgress(): Progress {
  return { warmUpSeconds: [], sampleSeconds: [], spentSeconds: 0, ending: undefined };
}

/** Whether a cell has warmed up: at least once, then until two executions agree or its share of the budget is spent. */
export function isWarm({ warmUpSeconds, spentSeconds }: Progress, { warmUp, budgetSeconds }: SamplingPolicy): boolean {
  const [before, last] = warmUpSeconds.slice(-2);
  if (before === undefined) return false;
  if (warmUpSeconds.length >= warmUp.maximumExecutions || spentSeconds >= warmUp.budgetShare * budgetSeconds)
    return true;
  return last !== undefined && Math.abs(last - before) <= warmUp.steadyDifference * Math.max(last, before);
}

/** The reason why a cell needs no more samples; `undefined` if it needs more. */
export function endingOf({ sampleSeconds, spentSeconds }: Progress, policy: SamplingPolicy): Ending | undefined {
  if (sampleSeconds.length >= policy.maximumSamples) return 'enough';
  if (isSteady(sampleSeconds, policy.steadySpread, policy.minimumSamples)) return 'steady';
  if (sampleSeconds.length >= policy.minimumSamples && spentSeconds >= policy.budgetSeconds) return 'budget';
  return undefined;
}

interface Entry {
  readonly contestant: Contestant;
  readonly progress: Progress;
}

function isFinished({ progress }: Entry): boolean {
  return progress.ending !== undefined;
}

async function executeOnce(entry: Entry, phase: 'warm-up' | 'sample', signal: AbortSignal | undefined): Promise<void> {
  const execution = await entry.contestant.execute(phase);
  if (execution === undefined) {
    // An execution that an abort interrupted is not a failure of the cell.
    if (!signal?.aborted) await finish(entry, 'failed');
    return;
  }
  const { progress } = entry;
  progress.spentSeconds += execution.elapsedSeconds;
  (phase === 'warm-up' ? progress.warmUpSeconds : progress.sampleSeconds).push(execution.seconds);
}

async function finish(entry: Entry, ending: Ending): Promise<void> {
  entry.progress.ending = ending;
  await entry.contestant.finish(ending);
}
