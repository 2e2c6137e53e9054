import type { OpenCell, OpenFamily, PlannedCell } from '../families/workload.js';
import type { Checksum, NoVerdict, Sample } from '../records/record.js';
import { verifyChecksum } from '../families/verify-checksum.js';
import { isDisturbed, machineTime } from '../host/machine-time.js';
import type { GarbageBetween } from './garbage-collection.js';
import { processCpuOf } from '../stats/summary.js';
import { requireWork } from './nothing-measured.js';
import type { ResourceReader } from './resources.js';
import { SampleStopwatch } from './sample-stopwatch.js';
import type { Span } from './time-spans.js';
import {
  type Execution,
  type Kind,
  LONG_SECONDS,
  type SamplingPolicy,
  executionsOf,
  isTooShort,
  samplesOf,
  warmthOf,
} from './sampling.js';

/** The executions at the end of a warm-up by which a cell is calibrated. */
const LAST = 3;

/** The time for which a cell is executed under a profiler, in milliseconds. */
const PROFILED_MS = 1000;

/**
 * The length of a sample in seconds up to which each is preceded by one that is not recorded. After the turns of others, caches and the
 * clock of the CPU are theirs: `bench/lab/alone.mjs` shows by how much.
 */
const LONGEST_LEAD_IN_SECONDS = 0.25;

/** A cell that is open and warm, and takes a sample when it is its turn. In between it uses no CPU. */
export interface CellSampler {
  readonly ready: Readiness;
  /** Takes a sample. Throws what goes wrong with the cell. */
  take(): Promise<Sample>;
  /** The checksum of the last sample. Before, each row is checked by itself if `verify` is set. */
  result(verify: boolean): Promise<Checksum>;
  /** Closes the cell. */
  close(): Promise<void>;
  /** Closes a cell that has failed, or that nothing more is wanted of. Never throws. */
  abandon(): Promise<void>;
}

/** A cell that can be executed without being measured, for profilers. */
export interface ProfiledSampler extends CellSampler {
  /** Executes the cell for about a second. Resolves to the spans of timed work, in microseconds of `process.hrtime`. */
  exercise(): Promise<readonly Span[]>;
}

/** The facts about a cell once it is warm. */
export interface Readiness {
  /** The number of samples that it is to take. */
  readonly samples: number;
  /** The largest memory of its process while it warmed up, in bytes, if that is known. */
  readonly peakRssBytes?: number;
  /** Why it decides nothing. Absent: it does. */
  readonly noVerdict?: NoVerdict;
}

/** A step of a cell on its way to be ready. */
export type WarmUpStep = { readonly type: 'warm-up'; /** Counted from 1. */ readonly execution: number };

/** The instruments that measure the samples of a process. */
export interface Instruments {
  readonly resources: ResourceReader;
  /**
   * Collects garbage before each sample, untimed. An execution's own garbage counts only if it is collected during the timed
   * execution. Garbage left over counts nowhere.
   */
  readonly garbage: GarbageBetween | undefined;
  readonly signal: AbortSignal;
  readonly onStep: (step: WarmUpStep) => void;
}

/**
 * Opens a cell in this process, and warms it up. Throws what went wrong with it. Of several errors, it throws the first, since it
 * is the more useful one.
 */
export async function openSampler(
  family: OpenFamily,
  planned: PlannedCell,
  policy: SamplingPolicy,
  instruments: Instruments,
): Promise<ProfiledSampler> {
  const open = await family.openCell(planned);
  try {
    const sampler = new LocalSampler(open, planned, instruments);
    await sampler.warmUp(policy);
    return sampler;
  } catch (error) {
    await Promise.allSettled([open.close()]);
    throw error;
  }
}

class LocalSampler implements ProfiledSampler {
  readonly #open: OpenCell;
  readonly #planned: PlannedCell;
  readonly #instruments: Instruments;
  readonly #kind: Kind;
  #executions = 1;
  #fastest: Execution = { seconds: 0, elapsedSeconds: 0 };
  #checksum: Checksum;
  #lastSeconds = Infinity;
  /** How many samples may still be taken again: on a machine that is never quiet, it would only take time. */
  #retakes = 0;
  /** Whether each sample is preceded by one that is not recorded: after the wait for its turn, a short one is slower. */
  #leadsIn = false;
  #ready: Readiness | undefined;

  constructor(open: OpenCell, planned: PlannedCell, instruments: Instruments) {
    this.#open = open;
    this.#planned = planned;
    this.#instruments = instruments;
    const { side, connections } = planned.cell;
    // A server's caches and connections warm up, whoever calls it.
    const isCompiledBefore = side === 'rust' && planned.usesServer !== true;
    this.#kind = { isRequests: connections !== undefined, repeats: open.repeats === true, isCompiledBefore };
    this.#checksum = open.expected;
  }

  get ready(): Readiness {
    if (this.#ready === undefined) throw new Error('the cell is not warm');
    return this.#ready;
  }

  async warmUp(policy: SamplingPolicy): Promise<void> {
    const { onStep, signal } = this.#instruments;
    const steps: Execution[] = [];
    // The same, each for one execution.
    const once: Execution[] = [];
    let peakRssBytes: number | undefined;
    let warmth = warmthOf(steps, policy, this.#kind);
    while (warmth === 'warming-up') {
      signal.throwIfAborted();
      onStep({ type: 'warm-up', execution: steps.length + 1 });
      const executions = this.#executions;
      const startedAt = performance.now();
      const sample = await this.#execute();
      const elapsedSeconds = (performance.now() - startedAt) / 1000;
      peakRssBytes = sample.peakRssBytes ?? peakRssBytes;
      steps.push({ seconds: this.#ownSeconds(sample), elapsedSeconds });
      warmth = warmthOf(steps, policy, this.#kind);
      once.push({ seconds: sample.seconds, elapsedSeconds: elapsedSeconds / executions });
      this.#executions = executionsOf(fastestOf(once), this.#kind, policy);
    }
    const fastest = fastestOf(once);
    this.#fastest = fastest;
    const length = {
      seconds: fastest.seconds * this.#executions,
      elapsedSeconds: fastest.elapsedSeconds * this.#executions,
    };
    const samples = samplesOf(policy, length);
    this.#retakes = samples;
    this.#leadsIn = length.seconds < LONGEST_LEAD_IN_SECONDS;
    const noVerdict = this.#noVerdict(length.seconds, fastest.seconds, warmth === 'still-warming-up');
    this.#ready = {
      samples,
      ...(peakRssBytes === undefined ? {} : { peakRssBytes }),
      ...(noVerdict === undefined ? {} : { noVerdict }),
    };
  }

  /**
   * The time by which a trend shows: the CPU time if it is shorter, since other cells that open at the same time take the CPU as
   * well.
   */
  #ownSeconds(sample: Sample): number {
    const cpu = this.#planned.usesServer === true ? undefined : processCpuOf(sample);
    return cpu === undefined || cpu === 0 ? sample.seconds : Math.min(cpu, sample.seconds);
  }

  #noVerdict(sampleSeconds: number, seconds: number, isWarmingUp: boolean): NoVerdict | undefined {
    const worth = requireWork(this.#planned, seconds, this.#kind.repeats);
    if (worth !== undefined) return worth;
    if (isTooShort(sampleSeconds)) return 'too-short';
    return isWarmingUp ? 'still-warming-up' : undefined;
  }

  async take(): Promise<Sample> {
    if (this.#leadsIn) await this.#execute('sample');
    for (let retaken = 0; ; retaken++) {
      const before = machineTime();
      const sample = await this.#execute('sample');
      const after = machineTime();
      const disturbance = before && after && isDisturbed(before, after, this.#planned.usesServer !== true);
      if (disturbance?.isDisturbed === true && this.#retakes > 0) {
        // A load that disturbs a sample twice stays, and turns deal with it.
        this.#retakes = retaken === 0 ? this.#retakes - 1 : 0;
        continue;
      }
      return {
        ...sample,
        ...(retaken === 0 ? {} : { retaken }),
        ...(disturbance === undefined ? {} : { stolenSeconds: disturbance.stolenSeconds }),
      };
    }
  }

  async exercise(): Promise<readonly Span[]> {
    // Also of a run without a time budget, whose samples are one execution each.
    const repeats = this.#kind.repeats ? executionsOf(this.#fastest, this.#kind, { budgetSeconds: 1 }) : 1;
    const laps: Span[] = [];
    const until = performance.now() + PROFILED_MS;
    for (let from = performance.now(); from < until; from = performance.now()) {
      await this.#unmeasured(async (stopwatch, signal) => {
        await this.#open.sample(stopwatch, signal, repeats);
        // Of work that is timed elsewhere, such as in other threads, there are no laps.
        laps.push(...(stopwatch.laps.length > 0 ? stopwatch.laps : [{ from, to: performance.now() }]));
      });
    }
    const offset = Number(process.hrtime.bigint()) / 1e3 - performance.now() * 1e3;
    return laps.map(({ from, to }) => ({ from: from * 1e3 + offset, to: to * 1e3 + offset }));
  }

  async result(verify: boolean): Promise<Checksum> {
    if (verify) await this.#unmeasured(async (stopwatch, signal) => this.#open.verify?.(stopwatch, signal));
    return this.#checksum;
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  async abandon(): Promise<void> {
    await Promise.allSettled([this.#open.close()]);
  }

  /** Executes the cell as often as one sample does, after the garbage was collected. */
  async #execute(phase?: 'sample'): Promise<Sample> {
    const { garbage, signal } = this.#instruments;
    const isCold = await garbage?.clear();
    // A full collection drops compiled code. A long-running program would keep it.
    if (isCold && phase === 'sample') await this.#rewarm();
    return this.#measured(async (stopwatch) => {
      if (this.#kind.repeats) return this.#execution(stopwatch, this.#executions);
      for (let execution = 0; execution < this.#executions; execution++) {
        signal.throwIfAborted();
        await this.#execution(stopwatch, 1);
      }
    });
  }

  /** The sample of several executions. */
  async #measured(work: (stopwatch: SampleStopwatch) => Promise<void>): Promise<Sample> {
    const stopwatch = new SampleStopwatch(this.#instruments.resources);
    stopwatch.begin();
    let sample: Sample;
    try {
      await work(stopwatch);
      sample = await stopwatch.end(this.#executions);
    } catch (error) {
      await stopwatch.abandon();
      throw error;
    }
    this.#lastSeconds = sample.seconds * this.#executions;
    return sample;
  }

  async #execution(stopwatch: SampleStopwatch, repeats: number): Promise<void> {
    const { signal } = this.#instruments;
    this.#checksum = await this.#open.sample(stopwatch, signal, repeats);
    verifyChecksum(this.#checksum, this.#open.expected);
  }

  /** Executes the cell, not measured, if the time of compilation would show. */
  async #rewarm(): Promise<void> {
    if (this.#planned.cell.side === 'rust' || this.#lastSeconds > 2 * LONG_SECONDS) return;
    const repeats = this.#kind.repeats ? this.#executions : 1;
    await this.#unmeasured((stopwatch, signal) => this.#open.sample(stopwatch, signal, repeats));
    await this.#instruments.garbage?.clear();
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

/** The fastest of the last executions: other work of the machine during one of them is not the cell's. */
function fastestOf(executions: readonly Execution[]): Execution {
  return executions.slice(-LAST).reduce((best, other) => (other.seconds < best.seconds ? other : best));
}
