import {
  type Comparison,
  type CompletedRecord,
  type Run,
  type RunRecord,
  type Sample,
  type Side,
  type Verdict,
  itemsOf,
} from '../records/record.js';
import { verdictOf } from '../stats/ratio-interval.js';
import {
  completedOf,
  contestOf,
  fastestOf,
  groupBy,
  isOnClients,
  largestOfEach,
  placeAndWorkOf,
} from './cell-groups.js';
import { typicalSeconds } from '../stats/median-polish.js';
import { ratesOf } from '../stats/summary.js';
import { marginOf } from './judge.js';
import { coresOf, verdictOn } from './server-bound.js';
import {
  type Priors,
  type Timed,
  cpuRatio,
  forkCount,
  noVerdictOf,
  priorsOf,
  rateRatio,
  riskOf,
} from './rate-ratio.js';

/** For a cell's id, the lane on the `rust` side that it is compared with. `undefined` if there is none. */
export type RustLaneOf = (cellId: string) => string | undefined;

/** The engines in which the Rust counterpart of a JavaScript-only engine is searched, the nearest first. */
const STAND_IN_ENGINES: readonly string[] = ['memory', 'embedded'];

/** The fewest processes, two odd and two even, from which the noise of a cell is estimated. */
const FORKS_FOR_NOISE_FLOOR = 4;

/** Knowledge that a comparison needs in addition to the records. */
export interface ComparisonOptions {
  readonly rustLaneOf: RustLaneOf;
  /** For a cell's id, the id of its rival. Absent: no cell has one. */
  readonly rivalOf?: ((cellId: string) => string | undefined) | undefined;
  /** The relative difference up to which two cells are equivalent. */
  readonly margin: number;
  /** The part of cases in which an interval may miss the truth. Default: 0.05. */
  readonly risk?: number;
  /** The cores that the run could use. Absent: not known. */
  readonly cores?: number;
}

/**
 * The comparisons of a run:
 *
 * - `lane`: every Node cell (`napi` or `js`) over the fastest Rust cell of its Rust lane, on the same engine over the same
 *   transport with the same workers. An engine on which no native code ran at all is compared with Rust on `memory`, or on
 *   `embedded` if `memory` doesn't do the workload. A table library in pure JavaScript is such an engine. The comparison's engine
 *   is the Node cell's. If the lane was measured at the Node cell's own number of rows, only those cells count.
 * - `best`: the fastest Rust cell over the fastest Node cell of each workload, engine, transport, number of workers or connections.
 *   They then differ only in the boundary. Requests of one operation compete apart from requests of a batch, and these with any of the
 *   sizes that both sides have. Of cells measured at several numbers of rows, only the largest competes.
 * - `rival`: each cell that has a rival over it.
 * - `batching`: for request work, each cell of batches over the fastest single operations on the same side with the same connections.
 * - `noise-floor`: the odd over the even processes of one cell, whose ratio shows only noise.
 *
 * The best of several cells is named by all of their processes. Its ratio is estimated by processes that did not choose it, or the
 * fastest by chance would look faster than it is.
 *
 * A cell that moved no rows has no rate, and takes part in no comparison.
 */
export function comparisonsOf(
  records: readonly RunRecord[],
  { rustLaneOf, rivalOf, ...how }: ComparisonOptions,
): Comparison[] {
  const completed = completedOf(records);
  const pairs = [
    ...completed.flatMap((node) => laneComparison(node, records, rustLaneOf)),
    ...groupBy(largestOfEach(completed), contestOf).flatMap(bestComparison),
    ...completed.flatMap((cell) => rivalComparison(cell, completed, rivalOf?.(cell.id))),
    ...completed.flatMap((cell) => batchingComparison(cell, completed)),
    ...completed.flatMap(noiseFloor),
  ];
  const priors = priorsOf(pairs.filter(({ kind }) => isOnClients(kind)));
  return pairs.flatMap((pair) => compared(pair, { ...how, priors }));
}

/** The lane on the side `rust` that each cell is compared with, by the cell's id, as the run's records or its comparisons tell it. */
export function rustLanesOf({
  records,
  comparisons,
}: Pick<Run, 'records' | 'comparisons'>): Map<string, string | undefined> {
  const laneOf = new Map(records.map(({ id, lane }) => [id, lane]));
  return new Map([
    ...completedOf(records).map(({ id, rustLane }) => [id, rustLane] as const),
    ...comparisons.flatMap(({ kind, numerator, denominator }) =>
      kind === 'lane' ? [[numerator, laneOf.get(denominator)] as const] : [],
    ),
  ]);
}

/**
 * The run with its comparisons remade from the samples, as this version makes them. Which lanes are compared stays as the run has
 * it, by its comparisons or by its records.
 */
export function comparedAnew<R extends Run>(run: R): R {
  const rustLanes = rustLanesOf(run);
  const rivals = new Map(
    run.comparisons.flatMap(({ kind, numerator, denominator }) => (kind === 'rival' ? [[numerator, denominator]] : [])),
  );
  const options = {
    rustLaneOf: (id: string) => rustLanes.get(id),
    rivalOf: (id: string) => rivals.get(id),
    margin: marginOf(run),
    risk: riskOf(run.context),
    cores: coresOf(run.context.host),
  };
  return { ...run, comparisons: comparisonsOf(run.records, options) };
}

/** Two cells to compare, under the names of `subject`. */
interface Pair {
  readonly kind: Comparison['kind'];
  readonly numerator: CompletedRecord;
  readonly denominator: CompletedRecord;
  readonly subject: CompletedRecord;
  /** As in `Comparison`. */
  readonly forks?: number;
}

export function isNodeSide(side: Side): boolean {
  return side !== 'rust';
}

function laneComparison(node: CompletedRecord, records: readonly RunRecord[], rustLaneOf: RustLaneOf): Pair[] {
  const lane = rustLaneOf(node.id);
  if (!isNodeSide(node.side) || lane === undefined) return [];
  // The cells of Rust are measured on no other runtime.
  const contest = contestOf({ ...node, engine: rustEngineFor(node, records), runtime: undefined });
  const counterparts = completedOf(records).filter(
    (record) =>
      record.side === 'rust' && record.lane === lane && record.batch === node.batch && contestOf(record) === contest,
  );
  const sameRows = counterparts.filter((record) => itemsOf(record) === itemsOf(node));
  const candidates = sameRows.length > 0 ? sameRows : largestOfEach(counterparts);
  if (candidates.length === 0) return [];
  return [{ kind: 'lane', ...contested([node], candidates), subject: node }];
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

function bestComparison(contest: readonly CompletedRecord[]): Pair[] {
  const batches = new Set(contest.filter(({ side }) => side === 'rust').map(({ batch }) => batch));
  const node = contest.filter(({ side, batch }) => isNodeSide(side) && batches.has(batch));
  const sizes = new Set(node.map(({ batch }) => batch));
  // Batches that one side alone has show what batching gains, and not what the boundary costs.
  const rust = contest.filter(({ side, batch }) => side === 'rust' && sizes.has(batch));
  if (rust.length === 0 || node.length === 0) return [];
  const pair = contested(rust, node);
  return [{ kind: 'best', ...pair, subject: pair.denominator }];
}

/** The fastest of each, with the samples to compare them by: the samples of `estimated`, if there was a choice. */
export function contested(
  allNumerators: readonly CompletedRecord[],
  allDenominators: readonly CompletedRecord[],
): Pick<Pair, 'numerator' | 'denominator' | 'forks'> {
  const [numerators, denominators] = [withoutLosers(allNumerators), withoutLosers(allDenominators)];
  const isChoice = numerators.length > 1 || denominators.length > 1;
  const canHoldOut = [...numerators, ...denominators].every((record) => forkCount(record) > 1);
  if (!isChoice || !canHoldOut) return { numerator: fastestOf(numerators)!, denominator: fastestOf(denominators)! };
  const [numerator, denominator] = [estimated(numerators), estimated(denominators)];
  return { numerator, denominator, forks: Math.min(forkCount(numerator), forkCount(denominator)) };
}

/** The candidates without those that lost by their first process, and got no other. */
function withoutLosers(candidates: readonly CompletedRecord[]): readonly CompletedRecord[] {
  const several = candidates.filter((record) => forkCount(record) > 1);
  return several.length > 0 ? several : candidates;
}

/** A cell with the samples to compare it by. */
type Estimated = CompletedRecord & Pick<Timed, 'chosenPart'>;

/**
 * The fastest of several cells, with the samples that say how fast the best of them is. Each process gives the samples of the cell
 * that is the fastest in all others, among the cells that took most samples in it. So none both chooses and is compared
 * (leave-one-out cross-validation: Stone, "Cross-Validatory Choice and Assessment of Statistical Predictions", 1974).
 */
function estimated(candidates: readonly CompletedRecord[]): Estimated {
  if (candidates.length === 1) return candidates[0]!;
  const best = bestOf(candidates);
  const forks = [...new Set(best.samples.map(({ fork }) => fork))];
  const ableIn = forks.map((fork) =>
    mostMeasured(candidates, ({ samples }) => samples.filter((sample) => sample.fork === fork).length),
  );
  const winners = forks.map((fork, index): CompletedRecord => {
    const elsewhere = ableIn[index]!.map((record) => withSamples(record, (sample) => sample.fork !== fork));
    const { id } = fastestInTurns(elsewhere.filter(({ samples }) => samples.length > 0))!;
    return withSamples(
      candidates.find((record) => record.id === id)!,
      (sample) => sample.fork === fork,
    );
  });
  const samples = winners.flatMap((winner) =>
    // Cells of one contest may move different numbers of rows: times are scaled to the rows of the best.
    winner.samples.map((sample) => ({ ...sample, seconds: (sample.seconds * itemsOf(best)) / itemsOf(winner) })),
  );
  // If all processes agree, the choice leaves nothing to chance.
  const isDisputed = new Set(winners.map(({ id }) => id)).size > 1;
  const chosenPart = isDisputed ? ableIn.filter(({ length }) => length > 1).length / forks.length : 0;
  return { ...best, samples, chosenPart };
}

/** The fastest of several cells, of those that were measured most: once one was chosen, it alone is measured further. */
function bestOf(candidates: readonly CompletedRecord[]): CompletedRecord {
  const most = Math.max(...candidates.map(forkCount));
  const measured = candidates.filter((record) => forkCount(record) === most);
  return fastestInTurns(mostMeasured(measured, ({ samples }) => samples.length))!;
}

function fastestInTurns(records: readonly CompletedRecord[]): CompletedRecord | undefined {
  const seconds = typicalSeconds(records.map(({ samples }) => samples));
  return fastestOf(
    records.map((record, index) => ({
      ...record,
      summary: { ...record.summary, ...ratesOf(record, seconds[index]!) },
    })),
  );
}

/** The candidates that took most samples: what is close takes more, and few samples say less. */
function mostMeasured(
  candidates: readonly CompletedRecord[],
  countOf: (record: CompletedRecord) => number,
): readonly CompletedRecord[] {
  const most = Math.max(...candidates.map(countOf));
  return candidates.filter((record) => 2 * countOf(record) >= most);
}

/** A cell with the samples of every other process alone. There are as many odd ones as even ones, or one more. */
function halfOf(record: CompletedRecord, half: 'odd' | 'even'): CompletedRecord {
  return withSamples(record, ({ fork = 0 }) => fork % 2 === (half === 'odd' ? 1 : 0));
}

function withSamples(record: CompletedRecord, isKept: (sample: Sample) => boolean): CompletedRecord {
  return { ...record, samples: record.samples.filter(isKept) };
}

function rivalComparison(
  cell: CompletedRecord,
  completed: readonly CompletedRecord[],
  rivalId: string | undefined,
): Pair[] {
  const rival = rivalId === undefined ? undefined : completed.find(({ id }) => id === rivalId);
  return rival === undefined ? [] : [{ kind: 'rival', numerator: cell, denominator: rival, subject: cell }];
}

function batchingComparison(batched: CompletedRecord, completed: readonly CompletedRecord[]): Pair[] {
  if (batched.batch === undefined || batched.batch === 1) return [];
  const work = placeAndWorkOf(batched);
  const singles = completed.filter(
    (record) => record.batch === 1 && record.side === batched.side && placeAndWorkOf(record) === work,
  );
  if (singles.length === 0) return [];
  return [{ kind: 'batching', ...contested([batched], singles), subject: batched }];
}

/** The comparisons of cells with themselves alone. Compact files leave them out. */
export function noiseFloorsOf(records: readonly RunRecord[], margin: number): Comparison[] {
  return completedOf(records)
    .flatMap(noiseFloor)
    .flatMap((pair) => compared(pair, { margin }));
}

function noiseFloor(record: CompletedRecord): Pair[] {
  if (forkCount(record) < FORKS_FOR_NOISE_FLOOR) return [];
  const [numerator, denominator] = [halfOf(record, 'odd'), halfOf(record, 'even')];
  return [{ kind: 'noise-floor', numerator, denominator, subject: record }];
}

/** The comparison of a pair, or none if one of the two has no rate. */
function compared(
  { kind, numerator, denominator, subject, forks }: Pair,
  { margin, risk, cores, priors }: Omit<ComparisonOptions, 'rustLaneOf' | 'rivalOf'> & { readonly priors?: Priors },
): Comparison[] {
  const interval = rateRatio(numerator, denominator, { risk, priors });
  if (interval === undefined) return [];
  const cpu = cpuRatio(numerator, denominator, { risk, priors });
  const noVerdict = noVerdictOf({ numerator, denominator });
  const verdictOfPair = (): Verdict => {
    if (noVerdict !== undefined) return 'inconclusive';
    // The gain of batching, and noise, are no verdict on a client.
    if (!isOnClients(kind)) return verdictOf(interval, margin);
    return verdictOn(numerator, denominator, interval, { margin, cores });
  };
  return [
    {
      workload: subject.workload,
      lane: subject.lane,
      engine: subject.engine,
      ...(subject.transport === undefined ? {} : { transport: subject.transport }),
      ...(subject.workers === undefined ? {} : { workers: subject.workers }),
      ...(subject.connections === undefined ? {} : { connections: subject.connections }),
      ...(subject.batch === undefined || kind === 'best' ? {} : { batch: subject.batch }),
      kind,
      numerator: numerator.id,
      denominator: denominator.id,
      ...(forks === undefined ? {} : { forks }),
      ...interval,
      verdict: verdictOfPair(),
      ...(cpu === undefined || !isOnClients(kind) ? {} : { cpu }),
      ...(noVerdict === undefined ? {} : { noVerdict }),
    },
  ];
}
