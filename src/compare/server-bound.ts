/** Whether the server was the limit of request work, so that a ratio of two clients says nothing of them. */
import type { CompletedRecord, Sample, Verdict } from '../records/record.js';
import { type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { medianOf, serverCpuOf } from '../stats/summary.js';

/** The share of time that a busy thread works, from which on it has none left. */
export const BUSY = 0.9;

/** The threads on which a server answers, by its engine, where they are fewer than the cores. */
const SERVER_THREADS: Readonly<Record<string, number>> = { redis: 1, 'redis-cluster': 3 };

/** Whether the server had no time left for more requests. */
export function isServerBound(record: CompletedRecord): boolean {
  const busy = medianOf(record, serverShare);
  return busy !== undefined && busy >= BUSY * (SERVER_THREADS[record.engine] ?? Infinity);
}

function serverShare(sample: Sample): number | undefined {
  const cpu = serverCpuOf(sample);
  return cpu === undefined || sample.seconds === 0 ? undefined : cpu / sample.seconds;
}

/** The verdict on two cells; none on the clients where the server was the limit of both, and none at all on a cell that decides nothing. */
export function verdictOn(a: CompletedRecord, b: CompletedRecord, interval: RatioInterval, margin: number): Verdict {
  if ((a.noVerdict ?? b.noVerdict) !== undefined) return 'inconclusive';
  return isServerBound(a) && isServerBound(b) ? 'server-bound' : verdictOf(interval, margin);
}
