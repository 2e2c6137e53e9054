/**
 * Whether the server, or the machine that it shares with the client, was the limit of request work, so that a ratio of two clients says
 * nothing of them.
 */
import type { CompletedRecord, Sample, Verdict } from '../records/record.js';
import type { HostContext } from '../records/host.js';
import { type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { medianOf, processCpuOf, serverCpuOf } from '../stats/summary.js';

/** The share of time that a busy thread works, from which on it has none left. */
export const BUSY = 0.9;

/** The threads on which a server answers, by its engine, if they are fewer than the cores. */
const SERVER_THREADS: Readonly<Record<string, number>> = { redis: 1, 'redis-cluster': 3 };

/** The cores that a run could use. */
export function coresOf({ logicalCores, cgroup }: Pick<HostContext, 'logicalCores' | 'cgroup'>): number {
  return Math.min(logicalCores, cgroup?.cpus ?? Infinity);
}

/**
 * Whether the server had no time left for more requests: its own threads were busy or, for any engine, client and server together
 * kept all cores busy. `cores` are the cores of the machine. Absent: not known.
 */
export function isServerBound(record: CompletedRecord, cores = Infinity): boolean {
  const server = medianOf(record, shareOf(serverCpuOf));
  if (server === undefined) return false;
  if (server >= BUSY * (SERVER_THREADS[record.engine] ?? Infinity)) return true;
  const both = medianOf(record, shareOf(cpuOfBoth));
  return both !== undefined && both >= BUSY * cores;
}

/** The CPU time of client and server. */
function cpuOfBoth(sample: Sample): number | undefined {
  const [client, server] = [processCpuOf(sample), serverCpuOf(sample)];
  return client === undefined || server === undefined ? undefined : client + server;
}

/** The number of cores that were busy with something on average. */
function shareOf(cpuOf: (sample: Sample) => number | undefined): (sample: Sample) => number | undefined {
  return (sample) => {
    const cpu = cpuOf(sample);
    return cpu === undefined || sample.seconds === 0 ? undefined : cpu / sample.seconds;
  };
}

/** The verdict on two cells. It is no verdict on the clients if the server, or the machine, was the limit of both. */
export function verdictOn(
  a: CompletedRecord,
  b: CompletedRecord,
  interval: RatioInterval,
  { margin, cores }: { readonly margin: number; readonly cores?: number | undefined },
): Verdict {
  const areBound = [a, b].every((record) => isServerBound(record, cores));
  return areBound ? 'server-bound' : verdictOf(interval, margin);
}
