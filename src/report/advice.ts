/**
 * The advice lines: for each workload on an engine, the lane to use from Node, what it saves, and whether Rust would be faster.
 * Every figure comes from the records; nothing else is claimed.
 */
import {
  completedOf,
  contestOf,
  fastestOf,
  groupBy,
  identityOf,
  isRequestWork,
  largestOfEach,
} from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, judgeOf } from '../compare/judge.js';
import { hasFewForks } from '../compare/rate-ratio.js';
import type { Cell, CompletedRecord, Run } from '../records/record.js';
import { FORKS_FOR_INTERVAL } from '../stats/ratio-interval.js';
import { rateOf } from '../stats/summary.js';
import { isCall } from './call-table.js';
import { formatCountedRate, formatDuration, formatFactor, formatRows } from './format.js';
import { nameOf, variantOf } from './labels.js';

/** Cells with fewer rows are rated by the execution, not by the row. */
const ROWS_PAID_BY_THE_ROW = 1000;

/** One line per workload that a Node cell completed on `engine`, over its best transport if it has several. */
export function adviceFor(run: Run, engine: string): string[] {
  const node = completedOf(run.records).filter(
    (record) => record.engine === engine && isNodeSide(record.side) && !isRequestWork(record) && !isCall(record),
  );
  const judge = judgeOf(run);
  return groupBy(node, workloadOf).flatMap((cells) => adviceOnWorkload(run, overBestTransport(cells, judge), judge));
}

/** The cells over the transport whose best cell is the fastest; the earlier one if that is not shown. */
function overBestTransport(cells: readonly CompletedRecord[], judge: Judge): readonly CompletedRecord[] {
  const fewest = Math.min(...cells.map(workersOf));
  const bestOf = (group: readonly CompletedRecord[]): CompletedRecord | undefined =>
    recommended(largestOfEach(group.filter((record) => workersOf(record) === fewest)), judge);
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
  const best = recommended(rivals, judge);
  if (first === undefined || best === undefined) return [];
  const clauses = [
    choice(run, best, rivals, judge),
    gainOverSlowest(best, rivals, judge),
    rustInstead(run, best, rivals, judge),
    moreWorkers(best, wider, judge),
  ];
  const advice = clauses.filter((clause) => clause !== undefined).join('; ');
  const caution = cautionOn(best);
  const transport = best.transport === undefined ? '' : ` over ${best.transport}`;
  return [`${best.workload} on ${best.engine}${transport}: ${advice}${fromHowManyRows(best, first, judge)}.${caution}`];
}

/** A remark on advice that rests on too few processes; else nothing. */
export function cautionOn(best: CompletedRecord): string {
  return hasFewForks(best, best) ? ` (Rough: measured in fewer than ${FORKS_FOR_INTERVAL} processes.)` : '';
}

/** The fastest cell; a JavaScript cell also if it is equivalent to the fastest, since it needs no addon. */
export function recommended(rivals: readonly CompletedRecord[], judge: Judge): CompletedRecord | undefined {
  const fastest = fastestOf(rivals);
  const javaScript = fastestOf(rivals.filter((record) => record.side === 'js'));
  if (fastest === undefined || javaScript === undefined) return fastest;
  return judge(fastest, javaScript)?.verdict === 'equivalent' ? javaScript : fastest;
}

function choice(run: Run, best: CompletedRecord, rivals: readonly CompletedRecord[], judge: Judge): string {
  const named = `${variantOf(best)} (${speedOf(best)})`;
  if (best.side !== 'js') {
    const javaScript = fastestOf(rivals.filter((record) => record.side === 'js'));
    const isOpen = javaScript !== undefined && judge(best, javaScript)?.verdict === 'inconclusive';
    return `from Node use ${named}${isOpen ? `; that it is faster than ${variantOf(javaScript)} is not shown` : ''}`;
  }
  const addon = fastestOf(rivals.filter((record) => record.side === 'napi')) ?? addonElsewhere(run, best);
  const judged = addon && judge(addon, best);
  if (addon === undefined || judged === undefined) return `in JavaScript use ${named}`;
  const other = `the addon's ${variantOf(addon)}${placeOf(addon, best)}`;
  switch (judged.verdict) {
    case 'equivalent':
      return `stay in JavaScript: ${named} is as fast as ${other}`;
    case 'slower':
      return `stay in JavaScript: ${named} is ${formatFactor(1 / judged.ratio)} ${other}`;
    case 'faster':
      return `in JavaScript use ${named}; ${other} is ${formatFactor(judged.ratio)} that`;
    case 'inconclusive':
      return `in JavaScript use ${named}; that it is faster than ${other} is not shown`;
  }
}

/** For an engine in pure JavaScript, the addon's fastest cell on the engine where its Rust counterpart ran. */
function addonElsewhere(run: Run, best: CompletedRecord): CompletedRecord | undefined {
  const rust = laneCounterpart(run, best);
  if (rust === undefined) return undefined;
  const addon = completedOf(run.records).filter(
    (record) => record.side === 'napi' && contestOf(record) === contestOf(rust),
  );
  return fastestOf(largestOfEach(addon));
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
  if (baseline === undefined || judged?.verdict !== 'faster') return undefined;
  const name = naive === undefined ? variantOf(baseline) : `the ${naive.lane} lane`;
  const rows = baseline.rows === best.rows ? '' : ` (measured at ${formatRows(baseline.rows)} rows)`;
  return `it is ${formatFactor(judged.ratio)} ${name}${rows} and saves ${saving(best, baseline)}`;
}

/** The rate of a cell that moves many rows, or the time of a cell that returns few. */
function speedOf({ rows, summary }: CompletedRecord): string {
  return rows < ROWS_PAID_BY_THE_ROW ? formatDuration(summary.medianSeconds) : formatCountedRate(summary);
}

function saving(best: CompletedRecord, baseline: CompletedRecord): string {
  const perRow = baseline.summary.medianSeconds / baseline.rows - best.summary.medianSeconds / best.rows;
  return best.rows < ROWS_PAID_BY_THE_ROW
    ? `${formatDuration(perRow * best.rows)} an execution`
    : `${formatDuration(perRow)} a row`;
}

/**
 * The comparison with the run's best Rust cell of the contest or, on an engine without Rust, with the counterpart of this lane.
 */
function rustInstead(
  run: Run,
  best: CompletedRecord,
  rivals: readonly CompletedRecord[],
  judge: Judge,
): string | undefined {
  const contest = run.comparisons.find(
    (entry) => entry.kind === 'best' && rivals.some((record) => record.id === entry.denominator),
  );
  const rust = contest === undefined ? laneCounterpart(run, best) : recordOf(run, contest.numerator);
  const judged = rust && judge(rust, best);
  if (rust === undefined || judged === undefined) return undefined;
  const place = placeOf(rust, best);
  switch (judged.verdict) {
    case 'equivalent':
      return `Rust${place} would be no faster`;
    case 'slower':
      return `Rust${place} would be slower, at ${formatFactor(judged.ratio)}`;
    case 'faster':
      return `Rust${place} (${nameOf(rust)}) would be ${formatFactor(judged.ratio)} that`;
    case 'inconclusive':
      return undefined;
  }
}

function laneCounterpart(run: Run, node: CompletedRecord): CompletedRecord | undefined {
  const lane = run.comparisons.find((entry) => entry.kind === 'lane' && entry.numerator === node.id);
  return lane && recordOf(run, lane.denominator);
}

function recordOf(run: Run, id: string): CompletedRecord | undefined {
  return completedOf(run.records).find((record) => record.id === id);
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
  if (fastest === undefined || judge(fastest, best)?.verdict !== 'faster') return undefined;
  return `${variantOf(fastest)} reaches ${speedOf(fastest)}`;
}

/**
 * The number of rows from which the recommended cell is the fastest, if it and its rivals were measured at several numbers of
 * rows; else nothing.
 */
function fromHowManyRows(best: CompletedRecord, contest: readonly CompletedRecord[], judge: Judge): string {
  const bySize = groupBy(contest, (record) => String(record.rows))
    .filter((cells) => cells.length > 1 && cells.some((record) => identityOf(record) === identityOf(best)))
    .toSorted((a, b) => b[0]!.rows - a[0]!.rows);
  if (bySize.length < 2) return '';
  const lost = bySize.findIndex((cells) => identityOf(recommended(cells, judge)!) !== identityOf(best));
  const smallest = bySize.at(lost === -1 ? -1 : lost - 1)![0]!.rows;
  if (lost === -1) return `; so at every number of rows measured, from ${formatRows(smallest)} up`;
  if (lost === 0) return '';
  const other = recommended(bySize[lost]!, judge)!;
  return `; so from ${formatRows(smallest)} rows up, but at ${formatRows(other.rows)} rows use ${variantOf(other)}`;
}

function workloadOf(cell: Cell): string {
  return JSON.stringify([cell.family, cell.workload]);
}

function workersOf(cell: Cell | undefined): number {
  return cell?.workers ?? 1;
}
