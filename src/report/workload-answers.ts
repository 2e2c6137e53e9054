/** The answer of a run to each workload: the best of each side, and how they compare. The terminal and the page show the same. */
import { completedOf, contestOf, fastestOf, groupBy, isBatched, largestOfEach } from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, judgeOf } from '../compare/judge.js';
import { type AddonOverJavaScript, addonOverJavaScript, bestComparisonOf, bestFromNode } from '../compare/sides.js';
import { NOOP, type Comparison, type CompletedRecord, type Run, type Side } from '../records/record.js';
import { isCall } from './call-table.js';
import { isCrossing } from './crossing-lines.js';
import { UNKNOWN, formatRateOf, atRatio } from './format.js';
import { loadParts } from './labels.js';
import { noVerdictMark } from './marks.js';

/** The answer to one workload. */
export interface WorkloadAnswer {
  /** The way from Node that did best. */
  readonly node: CompletedRecord;
  /** The best cell of each side. */
  readonly best: Readonly<Partial<Record<Side, CompletedRecord>>>;
  /** The sides that are faster than the others, or equivalent to the fastest. None if the run cannot tell. */
  readonly fastest: readonly Side[];
  /** Rust compared with the best from Node, and the cell of Rust. Absent if there is no Rust. */
  readonly rust?: { readonly comparison: Comparison; readonly record: CompletedRecord } | undefined;
  /** The addon over the other clients, each at its best. Absent if there is only one of them. */
  readonly addon?: AddonOverJavaScript | undefined;
  /** The cells of its contest, of the largest size of each. */
  readonly cells: readonly CompletedRecord[];
  /** The same, of all sizes. */
  readonly sizes: readonly CompletedRecord[];
}

/** The title of the side `js` in answers: other clients from npm, or other ways than the addon to call a function. */
export function otherTitle(answers: readonly WorkloadAnswer[]): string {
  return answers.every(({ node }) => isCall(node)) ? 'Other way' : 'Other client';
}

/** The sides in the order of the table, by their titles. */
export function answerSides(answers: readonly WorkloadAnswer[]): readonly (readonly [Side, string])[] {
  return [
    ['rust', 'Rust'],
    ['napi', 'Addon'],
    ['js', otherTitle(answers)],
  ];
}

/** The workload of a cell with what else its answer is for: the transport, the connections, and batches. */
export function workloadText(cell: CompletedRecord): string {
  const { workload, transport } = cell;
  const over = transport === undefined ? '' : ` (${transport})`;
  return [`${workload}${over}`, ...loadParts(cell)].join(', ');
}

/**
 * One answer for each workload, engine and transport, and one more for batches: with the fewest workers, or the most
 * connections, that were measured.
 */
export function workloadAnswersOf(run: Run): WorkloadAnswer[] {
  const judge = judgeOf(run);
  const completed = completedOf(run.records).filter((record) => record.engine !== NOOP && !isCrossing(record));
  const workloads = groupBy(completed, (record) => {
    const { family, workload, engine, transport, rate, runtime } = record;
    return JSON.stringify([family, workload, engine, transport, rate, runtime, isBatched(record)]);
  });
  return workloads.flatMap((cells) => answerOn(run, contestToShow(cells), judge) ?? []);
}

function contestToShow(cells: readonly CompletedRecord[]): readonly CompletedRecord[] {
  const size = ({ connections, workers = 1 }: CompletedRecord): number =>
    connections === undefined ? -workers : connections;
  const contests = groupBy(
    cells.filter(({ side }) => isNodeSide(side)),
    contestOf,
  );
  const [shown = []] = contests.toSorted(([a], [b]) => size(b!) - size(a!));
  return cells.filter((cell) => shown[0] !== undefined && contestOf(cell) === contestOf(shown[0]));
}

function answerOn(run: Run, contest: readonly CompletedRecord[], judge: Judge): WorkloadAnswer | undefined {
  const cells = largestOfEach(contest);
  const comparison = bestComparisonOf(run, cells);
  const find = (wanted: string | undefined): CompletedRecord | undefined => cells.find(({ id }) => id === wanted);
  const record = find(comparison?.numerator);
  const node = find(comparison?.denominator) ?? bestFromNode(run, cells);
  if (node === undefined) return undefined;
  const rust = comparison && record && { comparison, record: atRatio(record, comparison.ratio, node) };
  const addon = besideNode(sidesBy(node, cells, judge), node);
  const bestOf = (side: Side, chosen: CompletedRecord | undefined): Partial<Record<Side, CompletedRecord>> => {
    const best = chosen ?? fastestOf(cells.filter((cell) => cell.side === side));
    return best === undefined ? {} : { [side]: best };
  };
  const best = {
    ...bestOf('rust', rust?.record),
    ...bestOf('napi', node.side === 'napi' ? node : addon?.addon),
    ...bestOf('js', node.side === 'js' ? node : addon?.javaScript),
  };
  return { node, best, fastest: fastestSides(node, rust?.comparison, addon), rust, addon, cells, sizes: contest };
}

/** The addon over the other clients, by the way from Node that did best: its side is compared by it, if the other has its size of batches. */
export function sidesBy(
  node: CompletedRecord,
  cells: readonly CompletedRecord[],
  judge: Judge,
): AddonOverJavaScript | undefined {
  const withNode = cells.filter(({ id, side }) => side !== node.side || id === node.id);
  return addonOverJavaScript(withNode, judge) ?? addonOverJavaScript(cells, judge);
}

/** The same with rates that agree with its ratio, and with the rate of the way from Node that did best. */
function besideNode(sides: AddonOverJavaScript | undefined, node: CompletedRecord): AddonOverJavaScript | undefined {
  if (sides === undefined) return undefined;
  const { addon, javaScript, judged } = sides;
  return addon.id === node.id
    ? { ...sides, javaScript: atRatio(javaScript, 1 / judged.ratio, addon) }
    : { ...sides, addon: atRatio(addon, judged.ratio, javaScript) };
}

function fastestSides(
  node: CompletedRecord,
  rust: Comparison | undefined,
  addon: AddonOverJavaScript | undefined,
): readonly Side[] {
  const ofNode = addon === undefined ? [node.side] : sidesOf(addon.judged.verdict, ['napi'], ['js']);
  if (rust !== undefined) return sidesOf(rust.verdict, ['rust'], ofNode);
  return addon === undefined ? [] : ofNode;
}

/** The rate of a side's best, after `star` if the side is the fastest. */
export function bestRateText({ best, fastest }: WorkloadAnswer, side: Side, star = '★ '): string {
  const record = best[side];
  if (record === undefined) return UNKNOWN;
  return `${fastest.includes(side) ? star : ''}${formatRateOf(record)}${noVerdictMark(record.noVerdict)}`;
}

/** The sides that win by a verdict about the first compared with the second. */
function sidesOf(verdict: Comparison['verdict'], first: readonly Side[], second: readonly Side[]): readonly Side[] {
  if (verdict === 'equivalent') return [...first, ...second];
  return verdict === 'faster' ? first : verdict === 'slower' ? second : [];
}
