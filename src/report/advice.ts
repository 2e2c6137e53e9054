/**
 * The advice lines: for each workload on an engine, the lane to use from Node, what it saves, and whether Rust would be faster.
 * Every figure comes from the records, and nothing else is claimed. The best of each side, and the comparison of Rust with the best
 * of Node, are the same as in the tables. An inconclusive comparison has its factor with the interval.
 */
import {
  completedOf,
  contestOf,
  fastestOf,
  groupBy,
  identityOf,
  isRequestWork,
  largestOfEach,
  recordsById,
} from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, type Judged, judgeOf } from '../compare/judge.js';
import { hasFewForks } from '../compare/rate-ratio.js';
import { addonOverJavaScript, bestComparisonOf, bestFromNode } from '../compare/sides.js';
import { type Cell, type CompletedRecord, type Run, itemsOf } from '../records/record.js';
import { FORKS_FOR_INTERVAL } from '../stats/ratio-interval.js';
import { rateOf } from '../stats/summary.js';
import { isCall } from './call-table.js';
import { formatCountedRate, formatDuration, formatFactor, formatFactorInterval, formatRows } from './format.js';
import { cpuClause } from './factor.js';
import { type Pair, pairsOf } from './head-to-head.js';
import { nameOf, variantOf } from './labels.js';
import { noVerdictOfTwo } from './marks.js';
import { isNativeClient } from './native-clients.js';

/** Cells with fewer rows are rated by the execution, not by the row. */
const ROWS_PAID_BY_THE_ROW = 1000;

/** One line per workload that a Node cell completed on `engine`, over its best transport if it has several. */
export function adviceFor(run: Run, engine: string): string[] {
  const node = completedOf(run.records).filter(
    (record) => record.engine === engine && isNodeSide(record.side) && !isRequestWork(record) && !isCall(record),
  );
  const judge = judgeOf(run);
  return groupBy(node, workloadOf).flatMap((cells) =>
    adviceOnWorkload(run, overBestTransport(run, cells, judge), judge),
  );
}

/** The cells over the transport whose best cell is the fastest, or over the earlier transport if that is not shown. */
function overBestTransport(run: Run, cells: readonly CompletedRecord[], judge: Judge): readonly CompletedRecord[] {
  const fewest = Math.min(...cells.map(workersOf));
  const bestOf = (group: readonly CompletedRecord[]): CompletedRecord | undefined =>
    recommended(run, largestOfEach(group.filter((record) => workersOf(record) === fewest)), judge);
  return groupBy(cells, ({ transport }) => transport ?? '').reduce((chosen, group) => {
    const [best, other] = [bestOf(chosen), bestOf(group)];
    if (best === undefined) return group;
    return other !== undefined && judge(other, best)?.verdict === 'faster' ? group : chosen;
  });
}

/** The advice on `cells`: the completed Node cells of one workload on one engine, with any number of workers. */
function adviceOnWorkload(run: Run, cells: readonly CompletedRecord[], judge: Judge): string[] {
  const contests = groupBy(cells, contestOf).toSorted((a, b) => workersOf(a[0]) - workersOf(b[0]));
  const [first, ...wider] = contests;
  const rivals = largestOfEach(first ?? []);
  const best = recommended(run, rivals, judge);
  if (first === undefined || best === undefined) return [];
  const rust = rustBeside(run, best, rivals);
  const clauses = [
    choice(run, best, rivals, judge),
    gainOverSlowest(best, rivals, judge),
    rust && rustInstead(rust, best, nameOf),
    moreWorkers(best, wider, judge),
  ];
  const advice = clauses.filter((clause) => clause !== undefined).join('; ');
  const caution = cautionOn(best);
  const transport = best.transport === undefined ? '' : ` over ${best.transport}`;
  return [
    `${best.workload} on ${best.engine}${transport}: ${advice}${fromHowManyRows(run, best, first, judge)}.${caution}`,
  ];
}

/** A remark on advice that rests on too few processes. Otherwise nothing. */
export function cautionOn(best: CompletedRecord): string {
  return hasFewForks(best, best) ? ` (Rough: measured in fewer than ${FORKS_FOR_INTERVAL} processes.)` : '';
}

/**
 * The best way from Node. JavaScript alone is also the best if it is equivalent to the addon, since it needs no addon. A size of
 * batches that only one of the two has is not compared.
 */
export function recommended(run: Run, contest: readonly CompletedRecord[], judge: Judge): CompletedRecord | undefined {
  const best = bestFromNode(run, contest);
  const sides = addonOverJavaScript(contest, judge);
  const isCompared = (['napi', 'js'] as const).every((side) =>
    contest.some((record) => record.side === side && record.batch === best?.batch),
  );
  if (sides === undefined || !isCompared) return best;
  switch (sides.judged.verdict) {
    case 'equivalent':
    case 'slower':
      return sides.javaScript;
    case 'faster':
      return best?.side === 'js' ? sides.addon : best;
    case 'inconclusive':
    case 'server-bound':
      return best;
  }
}

function choice(run: Run, best: CompletedRecord, rivals: readonly CompletedRecord[], judge: Judge): string {
  const named = `${variantOf(best)} (${speedOf(best)})`;
  const hasAddon = rivals.some(({ side }) => side === 'napi');
  const sides = addonOverJavaScript(hasAddon ? rivals : [best, ...addonElsewhere(run, best)], judge);
  const isInJavaScript = best.side === 'js' && !isNativeClient(best);
  const use = `${isInJavaScript ? 'in JavaScript' : 'from Node'} use ${named}`;
  if (sides === undefined) return use;
  const { addon, javaScript, judged } = sides;
  if (best.side !== 'js') {
    const subject = best.id === addon.id ? 'it' : variantOf(addon);
    const claim = `${subject} is faster than ${variantOf(javaScript)}`;
    return `from Node use ${named}${isOpen(judged) ? `; ${openText(claim, judged)}` : ''}`;
  }
  const other = `the addon's ${variantOf(addon)}${placeOf(addon, best)}`;
  const stay = isInJavaScript ? `stay in JavaScript: ${named}` : `${use}: it`;
  switch (judged.verdict) {
    case 'equivalent':
      return `${stay} is as fast as ${other}, at ${formatFactorInterval(judged)}`;
    case 'slower':
      return `${stay} is ${formatFactor(1 / judged.ratio)} ${other}`;
    case 'faster':
      return `${use}; ${other} is ${formatFactor(judged.ratio)} that`;
    case 'inconclusive':
    case 'server-bound':
      return `${use}; ${openText(`${other} is faster`, judged)}`;
  }
}

/** Whether a comparison is inconclusive or server-bound. */
export function isOpen({ verdict }: Judged): boolean {
  return verdict === 'inconclusive' || verdict === 'server-bound';
}

/** The text of an inconclusive claim, with the reason and the factor. */
export function openText(claim: string, judged: Judged): string {
  return `whether ${claim} is inconclusive${whyOpen(judged)}: ${formatFactorInterval(judged)}`;
}

/** The reason why a comparison is inconclusive, if more processes would not change that. */
function whyOpen({ verdict, noVerdict }: Judged): string {
  if (verdict === 'server-bound') return ', since the server was the limit of both';
  return noVerdict === undefined ? '' : `, since ${noVerdictOfTwo(noVerdict)}`;
}

/** For an engine in pure JavaScript, the addon's cells on the engine on which its Rust counterpart ran. */
function addonElsewhere(run: Run, best: CompletedRecord): CompletedRecord[] {
  const rust = laneComparison(run, best)?.rust;
  if (rust === undefined) return [];
  const addon = completedOf(run.records).filter(
    (record) => record.side === 'napi' && contestOf(record) === contestOf(rust),
  );
  return largestOfEach(addon);
}

/** The gain over the addon's naive lane if there is one, else over the slowest lane. */
function gainOverSlowest(best: CompletedRecord, rivals: readonly CompletedRecord[], judge: Judge): string | undefined {
  const others = rivals.filter((record) => record.id !== best.id);
  const naive = others.find((record) => record.lane.startsWith('naive-'));
  const baseline =
    naive ??
    others.reduce<CompletedRecord | undefined>(
      (slowest, record) => (slowest === undefined || rateOf(record) < rateOf(slowest) ? record : slowest),
      undefined,
    );
  const judged = baseline && judge(best, baseline);
  if (baseline === undefined || judged === undefined) return undefined;
  const name = naive === undefined ? variantOf(baseline) : `the ${naive.lane} lane`;
  const rows = itemsOf(baseline) === itemsOf(best) ? '' : ` (measured at ${formatRows(itemsOf(baseline))} rows)`;
  if (isOpen(judged)) return openText(`it is faster than ${name}${rows}`, judged);
  if (judged.verdict !== 'faster') return undefined;
  return `it is ${formatFactor(judged.ratio)} ${name}${rows} and saves ${saving(best, baseline)}`;
}

/** The rate of a cell that moves many rows, or the time of a cell that returns few. */
function speedOf(record: CompletedRecord): string {
  const { summary } = record;
  return itemsOf(record) < ROWS_PAID_BY_THE_ROW ? formatDuration(summary.medianSeconds) : formatCountedRate(summary);
}

function saving(best: CompletedRecord, baseline: CompletedRecord): string {
  const perRow = baseline.summary.medianSeconds / itemsOf(baseline) - best.summary.medianSeconds / itemsOf(best);
  return itemsOf(best) < ROWS_PAID_BY_THE_ROW
    ? `${formatDuration(perRow * itemsOf(best))} an execution`
    : `${formatDuration(perRow)} per row`;
}

/** The run's comparison of the best of both sides or, on an engine without Rust, of this lane with its counterpart. */
function rustBeside(run: Run, best: CompletedRecord, rivals: readonly CompletedRecord[]): Pair | undefined {
  return bestComparisonOf(run, rivals) === undefined ? laneComparison(run, best) : bestPair(run, rivals);
}

/** The best of Rust and the best of Node in the contest of these cells, as the run compares them. */
export function bestPair(run: Run, rivals: readonly CompletedRecord[]): Pair | undefined {
  const comparison = bestComparisonOf(run, rivals);
  return comparison && pairsOf([comparison], 'best', recordsById(run.records))[0];
}

/** Rust compared with the recommended cell, or with the other cell that the run compares with Rust. */
export function rustInstead(
  { comparison, rust, node }: Pair,
  best: CompletedRecord,
  nameInTable: (record: CompletedRecord) => string,
): string {
  const subject = `Rust${placeOf(rust, node)}`;
  const that = node.id === best.id ? 'that' : nameInTable(node);
  const cpu = cpuClause(comparison);
  switch (comparison.verdict) {
    case 'equivalent':
      return `${subject} would be no faster, at ${formatFactorInterval(comparison)}`;
    case 'slower':
      return `${subject} would be slower, at ${formatFactor(comparison.ratio)}${that === 'that' ? '' : ` ${that}`}${cpu}`;
    case 'faster':
      return `${subject} (${nameInTable(rust)}) would be ${formatFactor(comparison.ratio)} ${that}${cpu}`;
    case 'inconclusive':
    case 'server-bound':
      return openText(`${subject} (${nameInTable(rust)}) would be faster`, comparison);
  }
}

function laneComparison(run: Run, node: CompletedRecord): Pair | undefined {
  const lane = run.comparisons.find(({ kind, numerator }) => kind === 'lane' && numerator === node.id);
  return lane && pairsOf([lane], 'lane', recordsById(run.records))[0];
}

function placeOf(cell: Cell, home: Cell): string {
  return cell.engine === home.engine ? '' : ` on ${cell.engine}`;
}

function moreWorkers(
  best: CompletedRecord,
  wider: readonly (readonly CompletedRecord[])[],
  judge: Judge,
): string | undefined {
  const fastest = fastestOf(wider.flatMap((cells) => largestOfEach(cells)));
  const judged = fastest && judge(fastest, best);
  if (fastest === undefined || judged === undefined) return undefined;
  if (isOpen(judged)) return openText(`${variantOf(fastest)} is faster`, judged);
  return judged.verdict === 'faster' ? `${variantOf(fastest)} reaches ${speedOf(fastest)}` : undefined;
}

/**
 * The number of rows from which the recommended cell is the fastest, if it and its rivals were measured at several numbers of rows.
 * Otherwise nothing.
 */
function fromHowManyRows(run: Run, best: CompletedRecord, contest: readonly CompletedRecord[], judge: Judge): string {
  const bySize = groupBy(contest, (record) => String(itemsOf(record)))
    .filter((cells) => cells.length > 1 && cells.some((record) => identityOf(record) === identityOf(best)))
    .toSorted((a, b) => itemsOf(b[0]!) - itemsOf(a[0]!));
  if (bySize.length < 2) return '';
  const lost = bySize.findIndex((cells) => identityOf(recommended(run, cells, judge)!) !== identityOf(best));
  const smallest = itemsOf(bySize.at(lost === -1 ? -1 : lost - 1)![0]!);
  if (lost === -1) return `; so at every number of rows measured, from ${formatRows(smallest)} up`;
  if (lost === 0) return '';
  const other = recommended(run, bySize[lost]!, judge)!;
  return `; so from ${formatRows(smallest)} rows up, but at ${formatRows(itemsOf(other))} rows use ${variantOf(other)}`;
}

function workloadOf(cell: Cell): string {
  return JSON.stringify([cell.family, cell.workload]);
}

function workersOf(cell: Cell | undefined): number {
  return cell?.workers ?? 1;
}
