import type { OpenCell, OpenFamily, PlannedCell } from '../families/workload.js';
import type { Checksum, Sample } from '../records/record.js';
import { verifyChecksum } from '../families/verify-checksum.js';
import type { ForkResult, ForkStep } from './fork-message.js';
import type { GarbageBetween } from './garbage-collection.js';
import { meanSample } from './mean-sample.js';
import type { ResourceReader } from './resources.js';
import { SampleStopwatch } from './sample-stopwatch.js';
import { type Execution, type SamplingPolicy, executionsOf, isWarm, samplesOf } from './sampling.js';

/** The length of a sample in seconds from which on tens of milliseconds of compilation do not show. */
const SHORT_SECONDS = 1;

/** What measures the samples of a process. */
export interface Instruments {
  readonly resources: ResourceReader;
  /**
   * Collects garbage before each execution, untimed: an execution's own garbage counts only if it is collected during the timed
   * execution; garbage left over counts nowhere.
   */
  readonly garbage: GarbageBetween | undefined;
  readonly signal: AbortSignal;
  readonly onStep: (step: ForkStep) => void;
  /** Whether each row is checked by itself after the samples (`OpenCell.verify`). */
  readonly verify: boolean;
}

/**
 * Opens a cell, warms it up, takes its samples, and closes it. Throws what went wrong with it; of several errors the first, which is
 * the more useful one.
 */
export async function measureFork(
  family: OpenFamily,
  planned: PlannedCell,
  policy: SamplingPolicy,
  instruments: Instruments,
): Promise<ForkResult> {
  const open = await family.openCell(planned);
  let result: ForkResult;
  try {
    const measurement = new ForkMeasurement(open, planned, instruments);
    result = await measurement.take(policy);
    if (instruments.verify) await measurement.verify();
  } catch (error) {
    await Promise.allSettled([open.close()]);
    throw error;
  }
  await open.close();
  return result;
}

class ForkMeasurement {
  readonly #open: OpenCell;
  readonly #planned: PlannedCell;
  readonly #instruments: Instruments;
  #lastSeconds = Infinity;
  #checksum: Checksum;

  constructor(open: OpenCell, planned: PlannedCell, instruments: Instruments) {
    this.#open = open;
    this.#planned = planned;
    this.#instruments = instruments;
    this.#checksum = open.expected;
  }

  async take(policy: SamplingPolicy): Promise<ForkResult> {
    const { onStep, signal } = this.#instruments;
    const warmUps: Execution[] = [];
    while (!isWarm(warmUps, policy)) {
      signal.throwIfAborted();
      onStep({ type: 'warm-up', execution: warmUps.length + 1 });
      const startedAt = performance.now();
      const { seconds } = await this.#sample('warm-up');
      warmUps.push({ seconds, elapsedSeconds: (performance.now() - startedAt) / 1000 });
    }
    const samples: Sample[] = [];
    const last = warmUps.at(-1)!;
    const executions = this.#planned.cell.threads === undefined ? 1 : executionsOf(last);
    const asLong = { seconds: last.seconds * executions, elapsedSeconds: last.elapsedSeconds * executions };
    for (const count = samplesOf(policy, asLong); samples.length < count;) {
      const parts: Sample[] = [];
      while (parts.length < executions) {
        signal.throwIfAborted();
        parts.push(await (parts.length === 0 ? this.#sample('sample') : this.#execution()));
      }
      const sample = meanSample(parts);
      samples.push(sample);
      onStep({ type: 'sample', number: samples.length, sample });
    }
    return { samples, checksum: this.#checksum };
  }

  /** Executes the cell once, after the garbage was collected. */
  async #sample(phase: ForkStep['type']): Promise<Sample> {
    const isCold = await this.#instruments.garbage?.clear();
    // A full collection drops compiled code, which a long-running program would keep.
    if (isCold && phase === 'sample') await this.#rewarm();
    return this.#execution();
  }

  async #execution(): Promise<Sample> {
    const { resources, signal } = this.#instruments;
    const stopwatch = new SampleStopwatch(resources);
    stopwatch.begin();
    try {
      const checksum = await this.#open.sample(stopwatch, signal);
      const sample = await stopwatch.end();
      verifyChecksum(checksum, this.#open.expected);
      this.#checksum = checksum;
      this.#lastSeconds = sample.seconds;
      return sample;
    } catch (error) {
      await stopwatch.abandon();
      throw error;
    }
  }

  /** Executes the cell once, not measured, if the time of compilation would show. */
  async #rewarm(): Promise<void> {
    if (this.#planned.cell.side === 'rust' || this.#lastSeconds > SHORT_SECONDS) return;
    await this.#unmeasured((stopwatch, signal) => this.#open.sample(stopwatch, signal));
    await this.#instruments.garbage?.clear();
  }

  /** Checks each row of the cell by itself, if it can. */
  async verify(): Promise<void> {
    await this.#unmeasured(async (stopwatch, signal) => this.#open.verify?.(stopwatch, signal));
  }

  async #unmeasured(work: (stopwatch: SampleStopwatch, signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const { resources, signal } = this.#instruments;
    const stopwatch = new SampleStopwatch(resources);
    stopwatch.begin();
    try {
      await work(stopwatch, signal);
    } finally {
      await stopwatch.abandon();
    }
  }
}
