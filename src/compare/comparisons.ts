import type { Comparison, CompletedRecord, RunRecord, Side } from '../records/record.js';
import { verdictOf } from '../stats/ratio-interval.js';
import { completedOf, contestOf, fastestOf, groupBy, largestOfEach } from './cell-groups.js';
import { type Timed, rateRatio } from './rate-ratio.js';

/** For a cell's id, the lane on the `rust` side that it is compared with; `undefined` if there is none. */
export type RustLaneOf = (cellId: string) => string | undefined;

/** The engines in which the Rust counterpart of a JavaScript-only engine is searched, the nearest first. */
const STAND_IN_ENGINES: readonly string[] = ['memory', 'embedded'];

/** The fewest samples, two odd and two even, from which the noise of a cell is estimated. */
const SAMPLES_FOR_NOISE_FLOOR = 4;

/**
 * The comparisons of a run:
 *
 * - `lane`: every Node cell (`napi` or `js`) over the fastest Rust cell of its Rust lane, on the same engine over the same
 *   transport with the same workers. An engine on which no native code ran at all, such as a table library in pure JavaScript,
 *   is compared with Rust on `memory`, or on `embedded` if `memory` doesn't do the workload. The comparison's engine is the Node
 *   cell's. If the lane was measured at the Node cell's own number of rows, only those cells count.
 * - `best`: the fastest Rust cell over the fastest Node cell of each workload, engine, transport, number of workers or threads:
 *   they then differ only in the boundary and, in request work, the batch. Of cells measured at several numbers of rows, only
 *   the largest competes.
 * - `batching`: for request work, each cell of batches over the fastest single operations on the same side with the same
 *   threads.
 * - `noise-floor`: the odd over the even samples of one cell, whose ratio shows only noise.
 *
 * A cell that moved no rows has no rate, and takes part in no comparison.
 */
export function comparisonsOf(records: readonly RunRecord[], rustLaneOf: RustLaneOf): Comparison[] {
  const completed = completedOf(records);
  return [
    ...completed.flatMap((node) => laneComparison(node, records, rustLaneOf)),
    ...groupBy(largestOfEach(completed), contestOf).flatMap(bestComparison),
    ...completed.flatMap((cell) => batchingComparison(cell, completed)),
    ...completed.flatMap(noiseFloor),
  ];
}

export function isNodeSide(side: Side): boolean {
  return side !== 'rust';
}

function laneComparison(node: CompletedRecord, records: readonly RunRecord[], rustLaneOf: RustLaneOf): Comparison[] {
  const lane = rustLaneOf(node.id);
  if (!isNodeSide(node.side) || lane === undefined) return [];
  const engine = rustEngineFor(node, records);
  const counterparts = completedOf(records).filter(
    (record) =>
      record.side === 'rust' &&
      record.lane === lane &&
      record.engine === engine &&
      record.family === node.family &&
      record.workload === node.workload &&
      record.workers === node.workers &&
      record.transport === node.transport &&
      record.batch === node.batch &&
      record.threads === node.threads &&
      record.rate === node.rate,
  );
  const sameRows = counterparts.filter((record) => record.rows === node.rows);
  const rust = fastestOf(sameRows.length > 0 ? sameRows : largestOfEach(counterparts));
  return rust === undefined ? [] : compare('lane', node, rust, node);
}

function rustEngineFor(node: CompletedRecord, records: readonly RunRecord[]): string {
  const isJavaScriptOnly = records.every((record) => record.engine !== node.engine || record.side === 'js');
  if (!isJavaScriptOnly) return node.engine;
  const standIn = STAND_IN_ENGINES.find((engine) =>
    records.some(
      (record) =>
        record.side === 'rust' &&
        record.engine === engine &&
        record.family === node.family &&
        record.workload === node.workload &&
        record.outcome !== 'skipped',
    ),
  );
  return standIn ?? node.engine;
}

function bestComparison(contest: readonly CompletedRecord[]): Comparison[] {
  const rust = fastestOf(contest.filter((record) => record.side === 'rust'));
  const node = fastestOf(contest.filter((record) => isNodeSide(record.side)));
  return rust === undefined || node === undefined ? [] : compare('best', rust, node, node);
}

function batchingComparison(batched: CompletedRecord, completed: readonly CompletedRecord[]): Comparison[] {
  if (batched.batch === undefined || batched.batch === 1) return [];
  const contest = contestOf(batched);
  const singles = completed.filter(
    (record) => record.batch === 1 && record.side === batched.side && contestOf(record) === contest,
  );
  const single = fastestOf(singles);
  return single === undefined ? [] : compare('batching', batched, single, batched);
}

function noiseFloor(record: CompletedRecord): Comparison[] {
  if (record.samples.length < SAMPLES_FOR_NOISE_FLOOR) return [];
  // Odd against even samples, not the first against the second half, so that drift affects both alike.
  const odd = { rows: record.rows, samples: record.samples.filter((_, index) => index % 2 === 1) };
  const even = { rows: record.rows, samples: record.samples.filter((_, index) => index % 2 === 0) };
  return compare('noise-floor', { ...record, ...odd }, { ...record, ...even }, record);
}

/** The comparison of two cells under the names of `subject`, or none if one of them has no rate. */
function compare(
  kind: Comparison['kind'],
  numerator: CompletedRecord & Timed,
  denominator: CompletedRecord & Timed,
  subject: CompletedRecord,
): Comparison[] {
  const interval = rateRatio(numerator, denominator);
  if (interval === undefined) return [];
  return [
    {
      workload: subject.workload,
      lane: subject.lane,
      engine: subject.engine,
      ...(subject.transport === undefined ? {} : { transport: subject.transport }),
      ...(subject.workers === undefined ? {} : { workers: subject.workers }),
      ...(subject.threads === undefined ? {} : { threads: subject.threads }),
      ...(subject.batch === undefined || kind === 'best' ? {} : { batch: subject.batch }),
      kind,
      numerator: numerator.id,
      denominator: denominator.id,
      ...interval,
      verdict: verdictOf(interval),
    },
  ];
}
