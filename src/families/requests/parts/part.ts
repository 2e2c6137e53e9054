/**
 * The part of a cell that one worker thread, or one process of several, measures. It is a cell of its own, with fewer
 * connections or as many, and its loads begin together with the loads of the other parts. These functions are called
 * from the process of the cell.
 */
import { addon } from '../../../addon.js';
import { type CollectGarbage, exposeCollector } from '../../../collect-garbage.js';
import { BoundaryError, checksumMismatch } from '../../../errors.js';
import type { WorkerContext } from '../../../library/workers/worker-pool.js';
import type { Checksum } from '../../../records/record.js';
import { familyIn } from '../../family-in.js';
import { verifyChecksum } from '../../verify-checksum.js';
import { sharedNow } from '../../working-threads.js';
import type { FamilyOptions, NativeTiming, OpenCell, OpenFamily, RequestMeasures, Stopwatch } from '../../workload.js';
import type { PlannedRequests } from '../grid.js';

export interface PartTask {
  /** The URL of the module that exports the family. */
  readonly module: string;
  readonly family: string;
  /** The options with which another process opens the family over its servers. */
  readonly options: FamilyOptions & { readonly leaveGarbage?: boolean | undefined };
  readonly planned: PlannedRequests;
}

/** The sample of a part. */
export interface PartSample {
  /** The start and the end of the load in milliseconds, on the clock that all parts share. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** The CPU time of the process of the part, and of its thread that runs JavaScript, if that has sent the requests. */
  readonly cpuUserSeconds?: number | undefined;
  readonly cpuSystemSeconds?: number | undefined;
  readonly threadCpuSeconds?: number | undefined;
  readonly measures: RequestMeasures;
}

interface Opened {
  readonly family: OpenFamily;
  readonly cell: OpenCell;
  /** Collects garbage before each sample, as the process of the cell does with its own. */
  readonly collect: CollectGarbage | undefined;
}

interface Pending {
  readonly stopwatch: PartStopwatch;
  readonly sample: Promise<Checksum>;
  readonly aborting: AbortController;
}

let opened: Opened | undefined;
let pending: Pending | undefined;

/** Opens the part's cell. Resolves to the checksum that each of its samples must return. */
export async function open({ module, family: name, options, planned }: PartTask): Promise<Checksum> {
  const family = await (await familyIn(module, name, planned.cell.workload)).open(options, [planned]);
  try {
    const cell = await family.openCell(planned);
    opened = { family, cell, collect: options.leaveGarbage === true ? undefined : exposeCollector() };
    return cell.expected;
  } catch (thrown) {
    await family.close();
    throw thrown;
  }
}

/** Prepares a sample, untimed. Resolves when its load can begin. */
export async function prepare(_: undefined, { signal }: Pick<WorkerContext, 'signal'>): Promise<void> {
  const { cell, collect } = openedPart();
  await abandon();
  collect?.('young');
  const stopwatch = new PartStopwatch();
  const aborting = new AbortController();
  signal.addEventListener('abort', () => aborting.abort(), { once: true });
  const sample = cell.sample(stopwatch, aborting.signal);
  pending = { stopwatch, sample, aborting };
  await Promise.race([stopwatch.arrived, sample]);
}

/** Sends the load of the sample that was prepared. What is read back waits for `finish`, so that it takes no time of other parts. */
export async function load(_: undefined, { signal }: Pick<WorkerContext, 'signal'>): Promise<PartSample> {
  const { stopwatch, sample, aborting } = pending!;
  signal.addEventListener('abort', () => aborting.abort(), { once: true });
  stopwatch.go();
  await Promise.race([stopwatch.stopped, sample]);
  return stopwatch.taken();
}

/** Ends the sample whose load was sent. Resolves to its checksum. */
export async function finish(_: undefined, { signal }: Pick<WorkerContext, 'signal'>): Promise<Checksum> {
  const { stopwatch, sample, aborting } = pending!;
  pending = undefined;
  signal.addEventListener('abort', () => aborting.abort(), { once: true });
  stopwatch.finish();
  const checksum = await sample;
  // Sums that add up can hide parts that are wrong.
  verifyChecksum(checksum, openedPart().cell.expected);
  return checksum;
}

/** Checks each answer, or what was written, by itself. */
export async function verify(_: undefined, { signal }: Pick<WorkerContext, 'signal'>): Promise<void> {
  await openedPart().cell.verify?.(new PartStopwatch(), signal);
}

/** Ends a sample that was prepared and not finished, and closes the cell. Does nothing the second time. */
export async function close(): Promise<void> {
  const { family, cell } = opened ?? {};
  opened = undefined;
  await abandon();
  try {
    await cell?.close();
  } finally {
    await family?.close();
  }
}

/** Ends a sample that was prepared, but not finished. */
async function abandon(): Promise<void> {
  const left = pending;
  pending = undefined;
  left?.aborting.abort();
  left?.stopwatch.go();
  left?.stopwatch.finish();
  await left?.sample.catch(() => {});
}

function openedPart(): Opened {
  if (opened === undefined) throw new BoundaryError('BB_CLOSED', 'the part of the cell is not open');
  return opened;
}

/** The stopwatch of a part, on the clock that all parts share. */
class PartStopwatch implements Stopwatch {
  /** Resolves when the load can begin. */
  readonly arrived: Promise<void>;
  /** Resolves when the load has ended. */
  readonly stopped: Promise<void>;
  readonly #begun: Promise<void>;
  readonly #finished: Promise<void>;
  #arrive!: () => void;
  #begin!: () => void;
  #end!: () => void;
  #finish!: () => void;
  #wentAt = 0;
  #lap: { readonly at: number; readonly cpu: NodeJS.CpuUsage; readonly thread: number | undefined } | undefined;
  #timing: Omit<PartSample, 'measures'> | undefined;
  #measures: RequestMeasures = {};

  constructor() {
    this.arrived = new Promise((resolve) => (this.#arrive = resolve));
    this.#begun = new Promise((resolve) => (this.#begin = resolve));
    this.stopped = new Promise((resolve) => (this.#end = resolve));
    this.#finished = new Promise((resolve) => (this.#finish = resolve));
  }

  /** Lets the load begin. */
  go(): void {
    this.#wentAt = sharedNow();
    this.#begin();
  }

  /** Lets the sample go on after its load. */
  finish(): void {
    this.#finish();
  }

  async ended(): Promise<void> {
    this.#end();
    await this.#finished;
  }

  async ready(): Promise<void> {
    this.#arrive();
    await this.#begun;
  }

  start(): void {
    this.#lap = { cpu: process.cpuUsage(), thread: threadSeconds(), at: sharedNow() };
  }

  stop(): void {
    const endedAt = sharedNow();
    const { at: startedAt, cpu, thread } = this.#lap!;
    const [threadCpu, { user, system }] = [threadSeconds(), process.cpuUsage(cpu)];
    this.#timing = {
      startedAt,
      endedAt,
      cpuUserSeconds: user / 1e6,
      cpuSystemSeconds: system / 1e6,
      threadCpuSeconds: thread === undefined || threadCpu === undefined ? undefined : threadCpu - thread,
    };
  }

  /** Takes a load that Rust has timed from its start, which was when it was let go. */
  add({ seconds, cpuUserSeconds, cpuSystemSeconds }: NativeTiming): void {
    const startedAt = this.#wentAt;
    this.#timing = { startedAt, endedAt: startedAt + seconds * 1000, cpuUserSeconds, cpuSystemSeconds };
  }

  addRequests(measures: RequestMeasures): void {
    this.#measures = measures;
  }

  apart<T>(_: unknown, execute: () => T): T {
    return execute();
  }

  addHeapBytes(): void {}

  taken(): PartSample {
    if (this.#timing === undefined) throw checksumMismatch('the part of the cell has timed no load');
    return { ...this.#timing, measures: this.#measures };
  }
}

/** The CPU time of this thread in seconds, if the platform reports it. */
function threadSeconds(): number | undefined {
  const cpu = addon.threadCpu();
  return cpu === undefined || cpu === null ? undefined : cpu.user + cpu.system;
}
