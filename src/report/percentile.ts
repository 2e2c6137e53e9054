import { type CompletedRecord, itemsOf } from '../records/record.js';
import { latencyIntervals } from './latency-interval.js';
import { UNKNOWN, formatLatency } from './format.js';

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
