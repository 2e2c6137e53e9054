import type { CompletedRecord } from '../records/record.js';
import { UNKNOWN, formatLatency } from './format.js';

/** The fewest requests of which a percentile is told: ten times as many as one of them is expected beyond it. */
const FEWEST = { p50: 20, p99: 1000 };

/** A percentile of the latencies of a cell; unknown without enough of them. */
export function percentileText(record: CompletedRecord, which: 'p50' | 'p99'): string {
  const { latency, samples } = record;
  const requests = samples.reduce((sum, { executions = 1 }) => sum + executions * requestsOf(record), 0);
  return latency === undefined || requests < FEWEST[which] ? UNKNOWN : formatLatency(latency[which]);
}

/** The requests of one execution of a cell. */
export function requestsOf({ rows, batch = 1, requests = Math.ceil(rows / batch) }: CompletedRecord): number {
  return requests;
}
