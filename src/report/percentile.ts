import { type CompletedRecord, itemsOf, type LatencyInterval, type LatencyIntervals } from '../records/record.js';
import { UNKNOWN, formatLatency } from './format.js';
import { groupBy } from '../compare/cell-groups.js';
import { LatencyHistogram } from '../stats/latency-histogram.js';
import { varianceOf } from '../stats/quantile.js';
import { reachOf } from '../stats/resampling.js';

/** The fewest requests of which a percentile is told: ten times as many as one of them is expected beyond it. */
const FEWEST = { p50: 20, p99: 1000 };

/** A percentile of the latencies of a cell. Unknown without enough of them. */
export function percentileText(record: CompletedRecord, which: 'p50' | 'p99'): string {
  const { latency, samples } = record;
  const requests = samples.reduce((sum, { executions = 1 }) => sum + executions * requestsOf(record), 0);
  return latency === undefined || requests < FEWEST[which] ? UNKNOWN : formatLatency(latency[which]);
}

/** The same with its interval, if that is known: `200 µs (190 µs–214 µs)`. */
export function percentileIntervalText(record: CompletedRecord, which: 'p50' | 'p99'): string {
  const text = percentileText(record, which);
  const interval = text === UNKNOWN ? undefined : latencyIntervals(record)?.[which];
  return interval === undefined ? text : `${text} (${formatLatency(interval.low)}–${formatLatency(interval.high)})`;
}

/**
 * Whether a cell sends its next request when the last one is answered: its latencies leave out the time that requests
 * would have waited.
 */
export function isClosedLoop({ rate, latency }: CompletedRecord): boolean {
  return rate === undefined && latency !== undefined;
}

/** The limits of latencies of a closed loop. */
export const CLOSED_LOOP_NOTE =
  'Latencies are of a closed loop: a connection sends its next request when the last one is answered, so a ' +
  'slow answer delays the requests after it, and their waiting is not in p99. An open loop (--rate) counts it.';

/** The requests of one execution of a cell. */
export function requestsOf(record: CompletedRecord): number {
  const { batch = 1, requests = Math.ceil(itemsOf(record) / batch) } = record;
  return requests;
}

/** The percentiles that have intervals, as parts of all latencies. */
const PARTS = { p50: 0.5, p99: 0.99 } as const;

const known = new WeakMap<CompletedRecord, LatencyIntervals | undefined>();

/**
 * The 95% intervals of a cell's percentiles, by the jackknife over its processes. The percentile of all latencies is
 * recomputed without each process, and Student's t is applied to the logarithms. Groups of many values make the
 * jackknife of a quantile consistent (Shao and Wu, "A General Theory for Jackknife Variance Estimation", Annals of
 * Statistics 17, 1989). Processes count, and not requests, since the latencies of one process resemble each other.
 * `undefined` if fewer than two processes kept their histograms, and the record has no intervals.
 */
export function latencyIntervals(record: CompletedRecord): LatencyIntervals | undefined {
  if (record.latency?.intervals !== undefined) return record.latency.intervals;
  if (!known.has(record)) known.set(record, jackknifed(record));
  return known.get(record);
}

function jackknifed({ samples }: CompletedRecord): LatencyIntervals | undefined {
  const processes = groupBy(samples, ({ fork }) => String(fork)).flatMap((ofProcess) => {
    const merged = LatencyHistogram.merged(ofProcess.flatMap(({ latency }) => latency ?? []));
    return merged === undefined ? [] : [merged.toBase64()];
  });
  if (processes.length < 2) return undefined;
  const all = LatencyHistogram.merged(processes)!;
  const without = processes.map((_, left) => LatencyHistogram.merged(processes.filter((__, index) => index !== left))!);
  const intervalOf = (part: number): LatencyInterval => {
    const estimate = all.quantile(part);
    const variance = varianceOf(Float64Array.from(without, (others) => Math.log(others.quantile(part))));
    const degrees = without.length - 1;
    const reach = Math.exp(reachOf(degrees) * Math.sqrt(degrees * variance));
    return { low: estimate / reach, high: estimate * reach };
  };
  return { p50: intervalOf(PARTS.p50), p99: intervalOf(PARTS.p99) };
}
