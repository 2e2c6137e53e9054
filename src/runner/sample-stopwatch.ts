import type { Sample } from '../records/record.js';
import type { CodecWork, NativeTiming, RequestMeasures, Stopwatch } from '../families/workload.js';
import { BoundaryError } from '../errors.js';
import type { ProcessCpu } from '../host/process-cpu.js';
import { GarbageCollectionObserver } from './garbage-collection.js';
import { Heartbeat } from './heartbeat.js';
import { type ResourceReader, cpuSeconds, nodeResources } from './resources.js';
import { LatencyHistogram } from '../stats/latency-histogram.js';
import { sumOf } from '../stats/sum.js';
import { type ThreadTimes, workingThreads } from '../families/working-threads.js';
import { type Span, overlapOf } from './time-spans.js';

const MS_PER_SECOND = 1000;

/** The milliseconds of timed work after which the threads' times are read again, at its next stop. */
const THREADS_EVERY_MS = 5;

interface Lap {
  readonly minorFaults: number | undefined;
  readonly processCpu: ProcessCpu;
  readonly threadCpu: ProcessCpu | undefined;
  readonly startedAt: number;
}

/**
 * Measures one sample: `begin`, then the cell's work with its starts and stops, then `end`.
 *
 * Time, CPU, garbage collection and stalls count while the stopwatch runs. If a stall or a collection falls partly into timed work,
 * only that part counts. Peak memory is the peak of the whole sample, since a high-water mark can't be paused. Work that was timed
 * elsewhere adds its time and CPU. The event loop of this process had nothing to do during that work, so stalls, collections and the
 * CPU time of the main thread are reported only if the stopwatch ran as well.
 */
export class SampleStopwatch implements Stopwatch {
  readonly #resources: ResourceReader;
  readonly #heartbeat = new Heartbeat();
  readonly #collections = new GarbageCollectionObserver();
  readonly #laps: Span[] = [];
  readonly #native: NativeTiming[] = [];
  readonly #codecMs: Partial<Record<CodecWork, number>> = {};
  readonly #requests: RequestMeasures[] = [];
  #heapBytesPerCall: number | undefined;
  #lap: Lap | undefined;
  #cpuUser = 0;
  #cpuSystem = 0;
  #mainThread: number | undefined = 0;
  #minorFaults: number | undefined = 0;
  /**
   * The threads' times before the work, and after the last lap for which they were read. That lap ended after `#threadsAfterMs` of
   * timed work.
   */
  #threadsBefore: ThreadTimes | undefined;
  #threadsAfter: ThreadTimes | undefined;
  #threadsAfterMs = 0;

  constructor(resources: ResourceReader = nodeResources) {
    this.#resources = resources;
  }

  /** The spans of timed work so far. */
  get laps(): readonly Span[] {
    return this.#laps;
  }

  begin(): void {
    this.#resources.resetPeakRss();
    this.#collections.start();
    this.#heartbeat.start();
  }

  start(): void {
    if (this.#lap !== undefined) throw misuse('started while it ran');
    if (this.#laps.length === 0) this.#threadsBefore = this.#resources.threadTimes();
    // The clock is read last here and first in `stop`, so that reading the other figures is not timed.
    const minorFaults = this.#resources.minorFaults();
    const processCpu = cpuSeconds(process.cpuUsage());
    const threadCpu = this.#resources.threadCpu();
    this.#lap = { minorFaults, processCpu, threadCpu, startedAt: performance.now() };
  }

  stop(): void {
    const stoppedAt = performance.now();
    const minorFaults = this.#resources.minorFaults();
    const lap = this.#lap;
    if (lap === undefined) throw misuse('stopped before it was started');
    this.#lap = undefined;
    this.#laps.push({ from: lap.startedAt, to: stoppedAt });
    const threadCpu = this.#resources.threadCpu();
    const processCpu = cpuSeconds(process.cpuUsage());
    this.#cpuUser += processCpu.user - lap.processCpu.user;
    this.#cpuSystem += processCpu.system - lap.processCpu.system;
    this.#addThreadCpu(lap.threadCpu, threadCpu);
    this.#minorFaults = sumOrNone(this.#minorFaults, difference(lap.minorFaults, minorFaults));
    this.#readThreads();
  }

  apart<T>(work: CodecWork, execute: () => T): T {
    if (this.#lap !== undefined) throw misuse(`ran while it was to ${work} apart`);
    const startedAt = performance.now();
    const result = execute();
    this.#codecMs[work] = (this.#codecMs[work] ?? 0) + (performance.now() - startedAt);
    return result;
  }

  add(timing: NativeTiming): void {
    this.#native.push(timing);
  }

  addRequests(measures: RequestMeasures): void {
    this.#requests.push(measures);
  }

  addHeapBytes(bytesPerCall: number): void {
    this.#heapBytesPerCall = bytesPerCall;
  }

  /**
   * The sample. Its work was executed `executions` times, and its times are the mean of the executions. Throws a `BoundaryError`:
   * with the code `BB_STOPWATCH` if nothing was timed or the stopwatch still runs, and with `BB_CLOCK` if the time of the work is
   * not positive.
   */
  async end(executions = 1): Promise<Sample> {
    const stalls = this.#heartbeat.stop();
    const peakRssBytes = largestOf(this.#native.map((timing) => timing.peakRssBytes)) ?? this.#resources.peakRss();
    const collections = await this.#collections.stop();
    if (this.#lap !== undefined) throw misuse('was not stopped');
    if (this.#laps.length === 0 && this.#native.length === 0) throw misuse('was never started');
    const seconds = this.#timedMs() / MS_PER_SECOND + sumOf(this.#native.map((timing) => timing.seconds));
    if (!(seconds > 0)) {
      throw new BoundaryError('BB_CLOCK', `the work took ${seconds} seconds by its clock`, {
        hint: 'If the clock is too coarse for the work, more rows or operations make it longer.',
      });
    }
    const sample = {
      seconds,
      ...this.#codec('encode', 'encodeSeconds'),
      ...this.#codec('decode', 'decodeSeconds'),
      ...this.#cpu(),
      ...this.#memoryAndThreads(),
      ...(peakRssBytes === undefined ? {} : { peakRssBytes }),
      ...(this.#laps.length === 0 ? this.#elsewhere() : this.#onTheEventLoop(stalls, collections)),
      ...requestsOf(this.#requests),
      ...(this.#heapBytesPerCall === undefined ? {} : { heapBytesPerCall: this.#heapBytesPerCall }),
    };
    return ofOneExecution(sample, executions);
  }

  /** Ends the observation of a sample that failed. */
  async abandon(): Promise<void> {
    this.#heartbeat.stop();
    await this.#collections.stop();
  }

  #timedMs(): number {
    return sumOf(this.#laps.map(({ from, to }) => to - from));
  }

  #codec<K extends 'encodeSeconds' | 'decodeSeconds'>(work: CodecWork, key: K): Partial<Pick<Sample, K>> {
    const here = this.#codecMs[work];
    const native = this.#native.map((timing) => timing[key]).filter((seconds) => seconds !== undefined);
    if (here === undefined && native.length === 0) return {};
    return { [key]: (here ?? 0) / MS_PER_SECOND + sumOf(native) } as Pick<Sample, K>;
  }

  #cpu(): Pick<Sample, 'cpuUserSeconds' | 'cpuSystemSeconds'> {
    const user = sumOf(this.#native.map(({ cpuUserSeconds }) => cpuUserSeconds ?? Number.NaN));
    const system = sumOf(this.#native.map(({ cpuSystemSeconds }) => cpuSystemSeconds ?? Number.NaN));
    // If a part of the work lacks its CPU time, the figure is left out, since the sum of the rest would pass for the whole.
    return {
      ...(Number.isNaN(user) ? {} : { cpuUserSeconds: this.#cpuUser + user }),
      ...(Number.isNaN(system) ? {} : { cpuSystemSeconds: this.#cpuSystem + system }),
    };
  }

  /** Reads the times of the threads after a lap, unless so little was done since that it does not show. */
  #readThreads(): void {
    const timed = this.#timedMs();
    if (timed - this.#threadsAfterMs < THREADS_EVERY_MS) return;
    this.#threadsAfterMs = timed;
    this.#threadsAfter = this.#resources.threadTimes();
  }

  /**
   * The page faults of all the work, and the number of threads that did it: if there are several parts, the number of the part with
   * most threads.
   */
  #memoryAndThreads(): Pick<Sample, 'minorFaults' | 'threads'> {
    const own =
      this.#laps.length === 0
        ? []
        : [workingThreads(this.#threadsBefore, this.#threadsAfter, this.#timedMs() / MS_PER_SECOND)];
    const threads = [...own, ...this.#native.map((timing) => timing.threads)];
    const faults = this.#native.reduce((sum, timing) => sumOrNone(sum, timing.minorFaults), this.#minorFaults);
    return {
      ...(faults === undefined ? {} : { minorFaults: faults }),
      ...(threads.some((number) => number === undefined) ? {} : { threads: Math.max(...(threads as number[])) }),
    };
  }

  #onTheEventLoop(stalls: readonly Span[], collections: readonly Span[]): Partial<Sample> {
    return {
      ...(this.#mainThread === undefined ? {} : { mainThreadCpuSeconds: this.#mainThread }),
      gcSeconds: sumOf(collections.map((span) => overlapOf(span, this.#laps))) / MS_PER_SECOND,
      longestStallMs: stalls.reduce((longest, span) => Math.max(longest, overlapOf(span, this.#laps)), 0),
    };
  }

  /** The CPU time of other threads that ran JavaScript, if all of the work was theirs. */
  #elsewhere(): Partial<Sample> {
    const seconds = sumOf(this.#native.map(({ mainThreadCpuSeconds }) => mainThreadCpuSeconds ?? Number.NaN));
    return Number.isNaN(seconds) ? {} : { mainThreadCpuSeconds: seconds };
  }

  #addThreadCpu(before: ProcessCpu | undefined, after: ProcessCpu | undefined): void {
    if (before === undefined || after === undefined || this.#mainThread === undefined) {
      this.#mainThread = undefined;
      return;
    }
    this.#mainThread += Math.max(0, after.user - before.user) + Math.max(0, after.system - before.system);
  }
}

/** The largest of the figures that are there. */
function largestOf(figures: readonly (number | undefined)[]): number | undefined {
  const known = figures.filter((figure) => figure !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function sumOrNone(sum: number | undefined, more: number | undefined): number | undefined {
  return sum === undefined || more === undefined ? undefined : sum + more;
}

function difference(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : after - before;
}

/** The measures of several executions together: all latencies, and the sums of times. A figure that one of them lacks is left out. */
function requestsOf(each: readonly RequestMeasures[]): RequestMeasures {
  const [first] = each;
  if (first === undefined || each.length === 1) return first ?? {};
  const names = Object.keys(first) as (keyof RequestMeasures)[];
  const common = names.filter((name) => each.every((measures) => measures[name] !== undefined));
  return Object.fromEntries(
    common.map((name) => {
      const values = each.map((measures) => measures[name]!);
      if (typeof first[name] === 'number') return [name, sumOf(values as number[])];
      return [name, LatencyHistogram.merged(values as string[])!.toBase64()];
    }),
  );
}

/** The figures that grow with each execution, in addition to the figures whose names say seconds. */
const COUNTS: readonly string[] = ['seconds', 'minorFaults'];

/** The sample of one of several executions, on average. */
function ofOneExecution(sample: Sample, executions: number): Sample {
  if (executions === 1) return sample;
  const figures = Object.entries(sample).map(([name, value]) => {
    const grows = name.endsWith('Seconds') || COUNTS.includes(name);
    return [name, grows ? Number(value) / executions : (value as unknown)] as const;
  });
  return { ...(Object.fromEntries(figures) as unknown as Sample), executions };
}

function misuse(how: string): BoundaryError {
  return new BoundaryError('BB_STOPWATCH', `the stopwatch of this cell ${how}`, {
    hint: 'A sample calls start() and stop() in pairs, or add().',
  });
}
