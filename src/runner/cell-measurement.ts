import type { Checksum, Latency, RunRecord, Sample } from '../records/record.js';
import { LatencyHistogram } from '../stats/latency-histogram.js';
import { CLOCK_TICK_SECONDS, summarize } from '../stats/summary.js';
import type { OpenCell, PlannedCell } from '../families/workload.js';
import { toBoundaryError } from '../errors.js';
import { verifyChecksum } from './checksum.js';
import type { RunListener } from './events.js';
import type { GarbageBetween } from './garbage-collection.js';
import type { ResourceReader } from './resources.js';
import { SampleStopwatch } from './sample-stopwatch.js';
import type { Contestant, Ending, Execution } from './schedule.js';

type Phase = 'warm-up' | 'sample';

/** The length of a sample in seconds from which on tens of milliseconds of compilation do not show. */
const SHORT_SECONDS = 1;

/** The instruments that all measurements of a run share. */
export interface Instruments {
  readonly resources: ResourceReader;
  /**
   * Collects garbage before each execution, untimed: an execution's own garbage counts only if it is collected during the timed
   * execution; garbage left over counts nowhere.
   */
  readonly garbage: GarbageBetween | undefined;
  readonly signal: AbortSignal;
  readonly emit: RunListener;
}

/** One open cell in the rotation of its group, from its first warm-up to its record. */
export class CellMeasurement implements Contestant {
  readonly #planned: PlannedCell;
  readonly #open: OpenCell;
  readonly #instruments: Instruments;
  readonly #deliver: (record: RunRecord) => Promise<void>;
  readonly #samples: Sample[] = [];
  #warmUps = 0;
  #lastSeconds = Infinity;
  #checksum: Checksum | undefined;
  #failure: unknown;
  #closed = false;

  /** `deliver` is called with the cell's record once it is complete. */
  constructor(
    planned: PlannedCell,
    open: OpenCell,
    instruments: Instruments,
    deliver: (record: RunRecord) => Promise<void>,
  ) {
    this.#planned = planned;
    this.#open = open;
    this.#instruments = instruments;
    this.#deliver = deliver;
  }

  async execute(phase: Phase): Promise<Execution | undefined> {
    const { cell } = this.#planned;
    const { emit } = this.#instruments;
    if (phase === 'warm-up') emit({ type: 'warm-up', cell, execution: ++this.#warmUps });
    const startedAt = performance.now();
    const sample = await this.#sample(phase);
    if (sample === undefined) return undefined;
    this.#lastSeconds = sample.seconds;
    if (phase === 'sample') {
      this.#samples.push(sample);
      const rowsPerSecond = cell.rows / Math.max(sample.seconds, CLOCK_TICK_SECONDS);
      emit({ type: 'sample', cell, number: this.#samples.length, sample, rowsPerSecond });
    }
    return { seconds: sample.seconds, elapsedSeconds: (performance.now() - startedAt) / 1000 };
  }

  async finish(ending: Ending): Promise<void> {
    try {
      await this.close();
    } catch (error) {
      // The first error is the more useful one.
      if (ending !== 'failed') this.#failure = error;
      ending = 'failed';
    }
    await this.#deliver(ending === 'failed' ? failedRecord(this.#planned, this.#failure) : this.#completedRecord());
  }

  /** Closes the cell; does nothing the second time. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#open.close();
  }

  async #sample(phase: Phase): Promise<Sample | undefined> {
    const { resources, garbage, signal } = this.#instruments;
    const stopwatch = new SampleStopwatch(resources);
    try {
      const isCold = await garbage?.clear();
      // A full collection drops compiled code, which a long-running program would keep.
      if (isCold && phase === 'sample') await this.#rewarm();
      stopwatch.begin();
      const checksum = await this.#open.sample(stopwatch, signal);
      const sample = await stopwatch.end();
      verifyChecksum(checksum, this.#open.expected);
      this.#checksum = checksum;
      return sample;
    } catch (error) {
      this.#failure = error;
      await stopwatch.abandon();
      return undefined;
    }
  }

  /** Executes the cell once, not measured, if the time of compilation would show. */
  async #rewarm(): Promise<void> {
    if (this.#planned.cell.side === 'rust' || this.#lastSeconds > SHORT_SECONDS) return;
    const { resources, garbage, signal } = this.#instruments;
    const stopwatch = new SampleStopwatch(resources);
    stopwatch.begin();
    try {
      await this.#open.sample(stopwatch, signal);
    } finally {
      await stopwatch.abandon();
    }
    await garbage?.clear();
  }

  #completedRecord(): RunRecord {
    const { cell } = this.#planned;
    const samples = this.#samples;
    const checksum = this.#checksum ?? this.#open.expected;
    const latency = mergedLatency(samples.map((sample) => sample.latency));
    const behind = mergedLatency(samples.map((sample) => sample.behind));
    return {
      ...cell,
      outcome: 'completed',
      samples,
      summary: summarize(samples, cell),
      ...(latency === undefined ? {} : { latency }),
      ...(behind === undefined ? {} : { behind }),
      checksum,
    };
  }
}

function mergedLatency(histograms: readonly (string | undefined)[]): Latency | undefined {
  return LatencyHistogram.merged(histograms.filter((text) => text !== undefined))?.summary();
}

/** The record of a cell that could not be measured. */
export function failedRecord({ cell }: PlannedCell, thrown: unknown): RunRecord {
  const { code, message } = toBoundaryError(thrown);
  return { ...cell, outcome: 'failed', error: { code, message } };
}
