import type { Sample } from '../records/record.js';
import { LatencyHistogram } from '../stats/latency-histogram.js';

type Figure = Exclude<keyof Sample, 'fork' | 'executions' | 'latency' | 'behind'>;

/** How the figures of several executions make one. */
const FIGURES: Readonly<Record<Figure, (values: readonly number[]) => number>> = {
  seconds: mean,
  encodeSeconds: mean,
  decodeSeconds: mean,
  cpuUserSeconds: mean,
  cpuSystemSeconds: mean,
  mainThreadCpuSeconds: mean,
  idleSeconds: mean,
  minorFaults: mean,
  threads: largest,
  serverCpuUserSeconds: mean,
  serverCpuSystemSeconds: mean,
  gcSeconds: mean,
  heapBytesPerCall: mean,
  peakRssBytes: largest,
  longestStallMs: largest,
};

/**
 * The sample that several executions make: the mean of their times, the largest of their peaks and of their numbers of threads, and all latencies. A figure that one of
 * them lacks is left out.
 */
export function meanSample(executions: readonly Sample[]): Sample {
  const [first] = executions;
  if (first === undefined) throw new RangeError('a sample has at least one execution');
  if (executions.length === 1) return first;
  const figures = Object.entries(FIGURES).flatMap(([name, combine]) => {
    const values = executions.flatMap((execution) => execution[name as Figure] ?? []);
    return values.length === executions.length ? [[name, combine(values)] as const] : [];
  });
  return {
    ...(Object.fromEntries(figures) as Pick<Sample, 'seconds'>),
    executions: executions.length,
    ...merged('latency', executions),
    ...merged('behind', executions),
  };
}

function merged<Name extends 'latency' | 'behind'>(
  name: Name,
  executions: readonly Sample[],
): Partial<Pick<Sample, Name>> {
  const histogram = LatencyHistogram.merged(executions.flatMap((execution) => execution[name] ?? []));
  return (histogram === undefined ? {} : { [name]: histogram.toBase64() }) as Partial<Pick<Sample, Name>>;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function largest(values: readonly number[]): number {
  return Math.max(...values);
}
