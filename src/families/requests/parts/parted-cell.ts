/** Cells whose requests several worker threads or several processes send at once. */
import { availableParallelism } from 'node:os';

import { builtModule } from '../../../built-module.js';
import { createWorkers } from '../../../library/workers/worker-pool.js';
import { type Checksum, itemsOf } from '../../../records/record.js';
import { LatencyHistogram } from '../../../stats/latency-histogram.js';
import { mergeChecksums } from '../../measurements/checksum.js';
import type { OpenCell, RequestMeasures } from '../../workload.js';
import { type PlannedRequests, requestsOf } from '../grid.js';
import type * as Part from './part.js';
import type { PartSample, PartTask } from './part.js';
import { PartProcess } from './part-processes.js';

const PART_MODULE = builtModule(new URL('part.js', import.meta.url));

/** The parts of a cell, and what calls their functions. */
interface Parts {
  /** Whether the CPU time of one part is the time of all parts, since they share a process. */
  readonly isOneProcess: boolean;
  /** Calls a function of each part. Returns the promises of all. */
  each<Name extends 'open' | 'prepare' | 'load' | 'finish' | 'verify' | 'close'>(
    name: Name,
    argumentOf: (index: number) => Parameters<(typeof Part)[Name]>[0],
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<(typeof Part)[Name]>>>[];
  close(): Promise<void>;
}

/** Opens a cell of a Node side whose connections and operations worker threads share, one for each core. */
export async function openOnThreads(task: PartTask): Promise<OpenCell> {
  const { cell } = task.planned;
  const count = Math.min(availableParallelism(), cell.connections, requestsOf(cell));
  const pool = await createWorkers<typeof Part>({ module: PART_MODULE, count });
  const shares = sharesOf(task.planned, count);
  return openParts(
    {
      isOneProcess: true,
      each: (name, argumentOf, signal) => pool.runOnEach(name, argumentOf as never, { signal }) as never,
      close: () => pool.close(),
    },
    shares.map((planned) => ({ ...task, planned })),
  );
}

/** Opens a cell that several processes measure at once, each with the connections and an equal share of the operations of the cell. */
export async function openOnProcesses(task: PartTask, count: number): Promise<OpenCell> {
  const processes = Array.from({ length: count }, () => new PartProcess());
  const { cell } = task.planned;
  const { processes: _, ...alone } = cell;
  const share = {
    ...alone,
    operations: itemsOf(cell) / count,
    ...(cell.rate === undefined ? {} : { rate: cell.rate / count }),
  };
  return openParts(
    {
      isOneProcess: false,
      each: (name, argumentOf, signal) =>
        processes.map((process, index) => process.call(name, argumentOf(index) as never, signal)) as never,
      close: async () => void (await Promise.allSettled(processes.map((process) => process.close()))),
    },
    processes.map(() => ({ ...task, planned: { ...task.planned, cell: share } })),
  );
}

/** The shares of worker threads in a cell: of its connections, its operations and its rate. */
function sharesOf(planned: PlannedRequests, count: number): PlannedRequests[] {
  const { driver: _, rate, connections, batch, ...cell } = planned.cell;
  const operations = itemsOf(cell);
  const requests = requestsOf({ operations, batch });
  const upTo = (total: number, part: number): number => Math.floor((total * part) / count);
  return Array.from({ length: count }, (__, part) => ({
    ...planned,
    cell: {
      ...cell,
      batch,
      connections: upTo(connections, part + 1) - upTo(connections, part),
      operations: Math.min(operations, upTo(requests, part + 1) * batch) - upTo(requests, part) * batch,
      ...(rate === undefined ? {} : { rate: rate / count }),
    },
  }));
}

async function openParts(parts: Parts, tasks: readonly PartTask[]): Promise<OpenCell> {
  const close = async (): Promise<void> => {
    const closed = await Promise.allSettled(parts.each('close', () => undefined));
    await parts.close();
    for (const part of closed) if (part.status === 'rejected') throw part.reason;
  };
  let expected: readonly Checksum[];
  try {
    expected = await allOf(parts.each('open', (index) => tasks[index]!));
  } catch (thrown) {
    await close().catch(() => {});
    throw thrown;
  }
  return {
    expected: merged(expected),
    sample: async (stopwatch, signal) => {
      signal.throwIfAborted();
      await allOf(parts.each('prepare', () => undefined, signal as AbortSignal));
      const cpuBefore = process.cpuUsage();
      const samples = await allOf(parts.each('load', () => undefined, signal as AbortSignal));
      const cpu = process.cpuUsage(cpuBefore);
      const startedAt = Math.min(...samples.map((sample) => sample.startedAt));
      const endedAt = Math.max(...samples.map((sample) => sample.endedAt));
      const threadCpu = sumOf(samples, ({ threadCpuSeconds }) => threadCpuSeconds);
      stopwatch.add({
        seconds: (endedAt - startedAt) / 1000,
        ...(parts.isOneProcess
          ? { cpuUserSeconds: cpu.user / 1e6, cpuSystemSeconds: cpu.system / 1e6 }
          : {
              cpuUserSeconds: sumOf(samples, ({ cpuUserSeconds }) => cpuUserSeconds) ?? Number.NaN,
              cpuSystemSeconds: sumOf(samples, ({ cpuSystemSeconds }) => cpuSystemSeconds) ?? Number.NaN,
            }),
        ...(threadCpu === undefined ? {} : { mainThreadCpuSeconds: threadCpu }),
      });
      stopwatch.addRequests(measuresOf(samples));
      return merged(await allOf(parts.each('finish', () => undefined, signal as AbortSignal)));
    },
    verify: async (_, signal) => void (await allOf(parts.each('verify', () => undefined, signal as AbortSignal))),
    close,
  };
}

/** The results of all promises. Throws the first error, after all have ended. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function merged(checksums: readonly Checksum[]): Checksum {
  return mergeChecksums(checksums, Object.keys(checksums[0]!.sums));
}

/** The sum over all samples; `undefined` if one lacks the figure. */
function sumOf(
  samples: readonly PartSample[],
  valueOf: (sample: PartSample) => number | undefined,
): number | undefined {
  return samples.reduce<number | undefined>((sum, sample) => {
    const value = valueOf(sample);
    return sum === undefined || value === undefined ? undefined : sum + value;
  }, 0);
}

/** The latencies of all parts together. The CPU time of the server is taken from the part that saw the most of it. */
function measuresOf(samples: readonly PartSample[]): RequestMeasures {
  const histogram = (name: 'latency' | 'behind'): RequestMeasures => {
    const sum = LatencyHistogram.merged(samples.flatMap(({ measures }) => measures[name] ?? []));
    return sum === undefined ? {} : { [name]: sum.toBase64() };
  };
  const most = (name: 'serverCpuUserSeconds' | 'serverCpuSystemSeconds'): RequestMeasures => {
    const seconds = samples.flatMap(({ measures }) => measures[name] ?? []);
    return seconds.length === 0 ? {} : { [name]: Math.max(...seconds) };
  };
  const idleSeconds = sumOf(samples, ({ measures }) => measures.idleSeconds);
  return {
    ...histogram('latency'),
    ...histogram('behind'),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
    ...most('serverCpuUserSeconds'),
    ...most('serverCpuSystemSeconds'),
  };
}
