import { type Cell, type Counted, type Rates, type Sample, type Summary, itemsOf } from '../records/record.js';
import { interquartileRange, median, pseudoMedian } from './quantile.js';
import { sumOf } from './sum.js';

const BYTES_PER_MEBIBYTE = 1024 * 1024;

/** The relative spread: the interquartile range divided by the median, or 0 if the median is 0. */
export function relativeSpread(values: ArrayLike<number>): number {
  const middle = median(values);
  return middle === 0 ? 0 : interquartileRange(values) / middle;
}

/**
 * The rates of work that took a time: of queries or calls alone if the cell counts those. MiB per second is absent if it has no
 * size.
 */
export function ratesOf(cell: Counted & Pick<Cell, 'bytes' | 'queries'>, seconds: number): Rates {
  const { bytes, queries, calls, operations } = cell;
  if (queries !== undefined) return { queriesPerSecond: queries / seconds };
  if (calls !== undefined) return { callsPerSecond: calls / seconds };
  return {
    [operations === undefined ? 'rowsPerSecond' : 'operationsPerSecond']: itemsOf(cell) / seconds,
    ...(bytes === undefined ? {} : { mebibytesPerSecond: bytes / BYTES_PER_MEBIBYTE / seconds }),
  };
}

/** The rate of a cell, in the unit that it counts. Cells of one workload count the same. */
export function rateOf({ summary }: { readonly summary: Rates }): number {
  return (
    summary.rowsPerSecond ?? summary.operationsPerSecond ?? summary.queriesPerSecond ?? summary.callsPerSecond ?? 0
  );
}

/**
 * The typical seconds of a sample: the geometric mean of the medians of the processes. So each process counts as much as another one, however
 * many samples it took, as in a ratio.
 */
function typicalOf(samples: readonly Sample[]): number {
  const ofForks = new Map<number | undefined, number[]>();
  for (const { fork, seconds } of samples) ofForks.set(fork, [...(ofForks.get(fork) ?? []), Math.log(seconds)]);
  return Math.exp(sumOf([...ofForks.values()].map(pseudoMedian)) / ofForks.size);
}

/**
 * The summary of a cell's samples. All rates and times that reports show are taken from it. Throws a `RangeError` if there is no sample.
 */
export function summarize(samples: readonly Sample[], cell: Parameters<typeof ratesOf>[0]): Summary {
  const seconds = samples.map((sample) => sample.seconds);
  const medianSeconds = typicalOf(samples);
  return {
    medianSeconds,
    minSeconds: Math.min(...seconds),
    maxSeconds: Math.max(...seconds),
    spread: relativeSpread(seconds),
    ...ratesOf(cell, medianSeconds),
  };
}

/** The seconds for which the process of a sample used the CPU, in its own code and in the kernel. */
export function processCpuOf({ cpuSeconds, cpuUserSeconds, cpuSystemSeconds }: Sample): number | undefined {
  return cpuSeconds ?? bothOf(cpuUserSeconds, cpuSystemSeconds);
}

/** The same of the process of the server. */
export function serverCpuOf({ serverCpuUserSeconds, serverCpuSystemSeconds }: Sample): number | undefined {
  return bothOf(serverCpuUserSeconds, serverCpuSystemSeconds);
}

function bothOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

/** The median of a measure over the samples that have it. `undefined` if none has. */
export function medianOf(
  { samples }: { readonly samples: readonly Sample[] },
  measure: (sample: Sample) => number | undefined,
): number | undefined {
  const values = samples.map(measure).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : median(values);
}
