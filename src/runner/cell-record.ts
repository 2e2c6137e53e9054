import { UNSUPPORTED, toBoundaryError } from '../errors.js';
import type { PlannedCell } from '../families/workload.js';
import { READ_IN_FULL } from '../records/checksum.js';
import type { CompletedRecord, Latency, NoVerdict, RunRecord } from '../records/record.js';
import type { ForkRecord } from '../records/run-log.js';
import { LatencyHistogram } from '../stats/latency-histogram.js';
import { summarize } from '../stats/summary.js';

/** The record of a cell that all its forks have measured. There is at least one fork. */
export function completedRecord({ cell }: PlannedCell, forks: readonly ForkRecord[]): CompletedRecord {
  // Processes may end in another order than they began.
  const samples = forks.flatMap((fork) => fork.samples).toSorted((a, b) => (a.fork ?? 0) - (b.fork ?? 0));
  const latency = mergedLatency(samples.map((sample) => sample.latency));
  const behind = mergedLatency(samples.map((sample) => sample.behind));
  const noVerdict = noVerdictOf(forks);
  const { checksum } = forks.at(-1)!;
  return {
    ...cell,
    ...(Object.hasOwn(checksum.sums, READ_IN_FULL) && { variant: `${cell.variant}, read in full` }),
    outcome: 'completed',
    samples,
    summary: summarize(samples, cell),
    ...(latency === undefined ? {} : { latency }),
    ...(behind === undefined ? {} : { behind }),
    checksum,
    ...(noVerdict === undefined ? {} : { noVerdict }),
  };
}

/** Why most of the processes of a cell decide nothing. `undefined` if they do. */
function noVerdictOf(forks: readonly ForkRecord[]): NoVerdict | undefined {
  const reasons = forks.flatMap(({ noVerdict }) => noVerdict ?? []);
  return 2 * reasons.length > forks.length ? reasons[0] : undefined;
}

/** The record of a cell that could not be measured: skipped if its server or engine does not support it, else failed. */
export function unmeasuredRecord({ cell }: PlannedCell, thrown: unknown): RunRecord {
  const { code, message } = toBoundaryError(thrown);
  return code === UNSUPPORTED
    ? { ...cell, outcome: 'skipped', reason: message }
    : { ...cell, outcome: 'failed', error: { code, message } };
}

/** The record of a cell whose server has ended before it could be measured. */
export function lostRecord({ cell }: PlannedCell, reason: string): RunRecord {
  return { ...cell, outcome: 'skipped', reason, serverEnded: true };
}

/** Whether a resumed run measures the cell of a record again. */
export function isTriedAgain(record: RunRecord): boolean {
  return record.outcome === 'failed' || (record.outcome === 'skipped' && record.serverEnded === true);
}

function mergedLatency(histograms: readonly (string | undefined)[]): Latency | undefined {
  return LatencyHistogram.merged(histograms.filter((text) => text !== undefined))?.summary();
}
