import type { CompletedRecord } from '../records/record.js';
import { UNKNOWN, formatLatency } from './format.js';

/** The fewest requests of which a percentile is told: ten times as many as one of them is expected beyond it. */
const FEWEST = { p50: 20, p99: 1000 };

/** A percentile of the latencies of a cell; unknown without enough of them. */
export function percentileText({ latency, samples, rows, batch = 1 }: CompletedRecord, which: 'p50' | 'p99'): string {
  const requests = samples.reduce((sum, { executions = 1 }) => sum + executions * Math.ceil(rows / batch), 0);
  return latency === undefined || requests < FEWEST[which] ? UNKNOWN : formatLatency(latency[which]);
}
