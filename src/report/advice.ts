/**
 * The advice on each workload, one and the same, which the terminal, `run.md`, `run.html` and README print. Every figure comes from the
 * records, by the comparisons that the tables have. A way is recommended only if a verdict says that it is the fastest.
 */
import {
  completedOf,
  contestOf,
  fastestOf,
  groupBy,
  identityOf,
  isBatched,
  isRequestWork,
  largestOfEach,
  recordsById,
} from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, type Judged, judgeOf, marginOf } from '../compare/judge.js';
import { hasFewForks } from '../compare/rate-ratio.js';
import { addonOverJavaScript, bestComparisonOf, bestFromNode } from '../compare/sides.js';
import { NOOP, type CompletedRecord, type Run, itemsOf } from '../records/record.js';
import { FORKS_FOR_INTERVAL } from '../stats/ratio-interval.js';
import { rateOf } from '../stats/summary.js';
import { isCall } from './call-table.js';
import { crossoverTexts, hasSizes } from './crossover.js';
import { byCpuTime, cpuClause, inverseOf, isDecided, isOpen } from './factor.js';
import { formatCountedRate, formatFactorInterval, formatRows, formatShortRate, atRatio } from './format.js';
import { type Pair, pairsOf } from './head-to-head.js';
import { batchText, loadParts, shortVariantOf, isJavaScriptClient } from './labels.js';
import { noVerdictMark } from './marks.js';
import { type WorkloadAnswer, sidesBy, workloadAnswersOf } from './workload-answers.js';

/** The advice on the work of an engine. */
export interface EngineAdvice {
  readonly engine: string;
  readonly lines: readonly string[];
}

/** The advice of a run, by engine in the order of the run. Rows of one workload have one line, over the best of their transports. */
export function adviceOf(run: Run): EngineAdvice[] {
  const judge = judgeOf(run);
  const completed = completedOf(run.records).filter(({ engine }) => engine !== NOOP);
  const answers = workloadAnswersOf(run).filter(({ node }) => !hasSizes(node, completed));
  return groupBy(completed, ({ engine }) => engine).flatMap((records) => {
    const { engine } = records[0]!;
    const ofEngine = answers.filter(({ node }) => node.engine === engine);
    const workloads = groupBy(ofEngine, ({ node }) =>
      isRequestWork(node) ? node.id : JSON.stringify([node.family, node.workload, node.runtime]),
    );
    const lines = [
      ...crossoverTexts(records, judge, marginOf(run)),
      ...workloads.map((some) => lineOn(run, overBestTransport(run, some, judge), judge)),
    ];
    return lines.length === 0 ? [] : [{ engine, lines }];
  });
}

/** The lines of one engine. */
export function adviceFor(run: Run, engine: string): readonly string[] {
  return adviceOf(run).find((advice) => advice.engine === engine)?.lines ?? [];
}

/** The answer over the transport whose best way is the fastest, or over the earlier transport if that is not shown. */
function overBestTransport(run: Run, answers: readonly WorkloadAnswer[], judge: Judge): WorkloadAnswer {
  return answers.reduce((chosen, other) => {
    const [best, rival] = [chosen, other].map(({ cells }) => takenOf(run, cells, judge).best);
    return judge(rival!, best!)?.verdict === 'faster' ? other : chosen;
  });
}

function lineOn(run: Run, answer: WorkloadAnswer, judge: Judge): string {
  const { cells, sizes } = answer;
  const taken = asShown(takenOf(run, cells, judge), answer);
  const { best } = taken;
  const node = cells.filter(({ side }) => isNodeSide(side));
  const margin = marginOf(run);
  const rust = rustBeside(run, best, node);
  const clauses = [
    choiceText(taken, margin),
    addonElsewhere(run, best, node, judge, margin),
    pushingDownWon(run, best, judge),
  ];
  const advice = clauses.filter((clause) => clause !== undefined).join('; ');
  const inRust = rust === undefined ? '' : ` ${rustInstead(rust, taken)}.`;
  const caution = hasFewForks(best, best) ? ` (Rough: fewer than ${FORKS_FOR_INTERVAL} processes.)` : '';
  return `${subjectOf(best)}: ${advice}${fromHowManyRows(run, taken, sizes, judge)}.${inRust}${caution}`;
}

function subjectOf(cell: CompletedRecord): string {
  const { workload, engine, transport, rate } = cell;
  const place = `${isCall(cell) ? '' : ` on ${engine}`}${transport === undefined ? '' : ` (${transport})`}`;
  const asked = rate === undefined ? [] : [`${formatShortRate(rate)} asked for`];
  return [workload + place, ...loadParts({ ...cell, batch: undefined }), ...asked].join(', ') + batchText(cell);
}

/** A way from Node, with those that it was compared with: the best of the other side, and a way of its own side that is as close. */
interface Taken {
  readonly best: CompletedRecord;
  readonly rivals: readonly Rival[];
}

/** A way, with the ratio of the best way's rate to its rate. */
interface Rival {
  readonly record: CompletedRecord;
  readonly judged: Judged;
}

/** The same with the rates that the table has, and that agree with the ratios. */
function asShown({ best: { id, side }, best, rivals }: Taken, answer: WorkloadAnswer): Taken {
  const shown = answer.best[side]?.id === id ? answer.best[side] : best;
  return {
    best: shown,
    rivals: rivals.map(({ record, judged }) => ({ record: atRatio(record, 1 / judged.ratio, shown), judged })),
  };
}

/** The best way of a contest from Node. A size of batches that only one side has is not compared. */
function takenOf(run: Run, cells: readonly CompletedRecord[], judge: Judge): Taken {
  const node = cells.filter(({ side }) => isNodeSide(side));
  const chosen = bestFromNode(run, node)!;
  const sides = sidesBy(chosen, node, judge);
  const isShared = (['napi', 'js'] as const).every((side) =>
    node.some((record) => record.side === side && record.batch === chosen.batch),
  );
  if (sides === undefined || !isShared) {
    const rival = nextTo(chosen, node, judge);
    if (rival?.judged.verdict !== 'slower') return { best: chosen, rivals: rival === undefined ? [] : [rival] };
    return { best: rival.record, rivals: [{ record: chosen, judged: inverseOf(rival.judged) }] };
  }
  const { addon, javaScript, judged } = sides;
  // Without a difference, the other client is named first: it needs no addon.
  const isAddon = judged.verdict === 'faster' || isOpen(judged);
  const [best, other] = isAddon ? [addon, javaScript] : [javaScript, addon];
  const twin = nextTo(
    best,
    node.filter(({ side }) => side === best.side),
    judge,
  );
  const isClose = twin !== undefined && !isDecided(twin.judged);
  return {
    best,
    rivals: [{ record: other, judged: isAddon ? judged : inverseOf(judged) }, ...(isClose ? [twin] : [])],
  };
}

/** The fastest of the other ways. */
function nextTo(best: CompletedRecord, cells: readonly CompletedRecord[], judge: Judge): Rival | undefined {
  const record = fastestOf(cells.filter(({ id }) => id !== best.id));
  const judged = record && judge(best, record);
  return judged && { record, judged };
}

/** Whether one way alone is the fastest. */
function isAlone({ rivals }: Taken): boolean {
  return rivals.every(({ judged }) => isDecided(judged));
}

function choiceText(taken: Taken, margin: number): string {
  const { best, rivals } = taken;
  if (rivals.length === 0) return `the only way from Node: ${named(best)}`;
  const beaten = rivals.filter(({ judged }) => isDecided(judged));
  const factors = beaten.map(({ record, judged }) => `${formatFactorInterval(judged)} ${rivalName(record, best)}`);
  if (isAlone(taken)) return [`${isStay(best) ? 'stay in JavaScript:' : 'take'} ${named(best)}`, ...factors].join(', ');
  const level = rivals.find(({ judged }) => !isDecided(judged))!;
  return [closeText(best, level, margin), ...factors].join('; ');
}

function closeText(best: CompletedRecord, { record, judged }: Rival, margin: number): string {
  if (isOpen(judged)) {
    const ways = `${named(best)} or ${rivalName(record, best)}`;
    return `${openWord(judged)}: ${ways}, ${formatFactorInterval(judged)}${byCpuTime(judged.cpu, margin)}`;
  }
  const factor = `at ${formatFactorInterval(judged)}`;
  if (isStay(best)) return `stay in JavaScript: ${named(best)} is as fast as ${rivalName(record, best)}, ${factor}`;
  return `equivalent: ${named(best)} or ${rivalName(record, best)}, ${formatFactorInterval(judged)}`;
}

/** Whether who takes a way needs no addon. Calls are of the user's own functions. */
function isStay(record: CompletedRecord): boolean {
  return !isCall(record) && isJavaScriptClient(record);
}

/** The name of the best way, whose batch the subject has, with its rate as in the tables. */
function named(record: CompletedRecord): string {
  return `${shortVariantOf(record)} (${isRequestWork(record) ? formatShortRate(rateOf(record)) : formatCountedRate(record.summary)})`;
}

/** The name without its side, since the sentence contains the side. The tables say which clients are native. */
function shortName(record: CompletedRecord): string {
  return shortVariantOf(record) + batchText(record);
}

/** The name of a way beside the best one, without the batch that both have. */
function rivalName(record: CompletedRecord, best: CompletedRecord): string {
  const isSameWay = record.variant === best.variant && record.side === best.side && record.batch !== best.batch;
  if (isSameWay) return batchText(record).slice(', '.length);
  const name = record.batch === best.batch ? shortVariantOf(record) : shortName(record);
  return record.side === 'napi' && best.side === 'js' && !isCall(record) ? `the addon's ${name}` : name;
}

/** The text of a way that is not shown to be faster than the one before. */
function openText(subject: string, judged: Judged): string {
  return `${subject}: ${openWord(judged)}, ${formatFactorInterval(judged)}`;
}

/** The verdict in words, with the reason if more processes would not change it. */
function openWord({ verdict, noVerdict }: Judged): string {
  if (noVerdict !== undefined) return `no verdict${noVerdictMark(noVerdict)}`;
  return verdict === 'server-bound' ? verdict : 'no difference shown';
}

/** For an engine that no native code of ours ran on: the addon on the engine on which its Rust counterpart ran. */
function addonElsewhere(
  run: Run,
  best: CompletedRecord,
  node: readonly CompletedRecord[],
  judge: Judge,
  margin: number,
): string | undefined {
  const rust = node.every(({ side }) => side === 'js') ? laneComparison(run, best)?.rust : undefined;
  if (rust === undefined || rust.engine === best.engine) return undefined;
  const elsewhere = completedOf(run.records).filter(
    (record) => record.side === 'napi' && contestOf(record) === contestOf(rust),
  );
  const sides = addonOverJavaScript([best, ...largestOfEach(elsewhere)], judge);
  if (sides === undefined) return undefined;
  const addon = `the addon on ${rust.engine}`;
  if (isOpen(sides.judged)) return openText(addon, sides.judged) + byCpuTime(sides.judged.cpu, margin);
  return `${addon}: ${formatFactorInterval(sides.judged)}`;
}

/** For work that the server can do: the factor by which that beats pulling the rows. */
function pushingDownWon(run: Run, best: CompletedRecord, judge: Judge): string | undefined {
  const pulling = best.workload.replace(/\.push_down$/, '.pull');
  if (pulling === best.workload) return undefined;
  const { engine, transport } = best;
  const pulled = fastestOf(
    completedOf(run.records).filter(
      (cell) =>
        cell.workload === pulling &&
        isNodeSide(cell.side) &&
        cell.engine === engine &&
        cell.transport === transport &&
        isBatched(cell) === isBatched(best),
    ),
  );
  const judged = pulled && judge(best, pulled);
  if (judged === undefined) return undefined;
  const pull = `pulling the rows (${shortName(pulled!)})`;
  if (isOpen(judged)) return openText(pull, judged);
  const factor = formatFactorInterval(judged);
  return judged.verdict === 'faster' ? `it is ${factor} ${pull}` : `it is no faster than ${pull}, at ${factor}`;
}

/** The run's comparison of the best of both sides or, on an engine without Rust, of this lane with its counterpart. */
function rustBeside(run: Run, best: CompletedRecord, node: readonly CompletedRecord[]): Pair | undefined {
  const comparison = bestComparisonOf(run, node);
  if (comparison === undefined) return laneComparison(run, best);
  return pairsOf([comparison], 'best', recordsById(run.records))[0];
}

/** Rust compared with the recommended cell, or with the other cell that the run compares with Rust. */
function rustInstead({ comparison, rust, node }: Pair, taken: Taken): string {
  const subject = rust.engine === node.engine ? 'Rust' : `Rust on ${rust.engine}`;
  const factor = formatFactorInterval(comparison);
  // A way that is named as level with the best one is not named again.
  const level = taken.rivals.filter(({ judged }) => !isDecided(judged)).map(({ record }) => record);
  const isNamed = [taken.best, ...level].some(({ id }) => id === node.id);
  const than = isNamed ? '' : ` ${rivalName(node, taken.best)}`;
  switch (comparison.verdict) {
    case 'equivalent':
      return `${subject}: equivalent, ${factor}${than}`;
    case 'slower':
      return `${subject}: slower, ${factor}${than}${cpuClause(comparison)}`;
    case 'faster':
      return `${subject}: faster, ${factor}${than}${cpuClause(comparison)}`;
    case 'inconclusive':
      return openText(subject, comparison) + than;
    case 'server-bound':
      return `${subject}: server-bound`;
  }
}

function laneComparison(run: Run, node: CompletedRecord): Pair | undefined {
  const lane = run.comparisons.find(({ kind, numerator }) => kind === 'lane' && numerator === node.id);
  return lane && pairsOf([lane], 'lane', recordsById(run.records))[0];
}

/**
 * The number of rows from which the recommended cell is the fastest, if it and its rivals were measured at several
 * numbers of rows. Otherwise nothing.
 */
function fromHowManyRows(run: Run, taken: Taken, contest: readonly CompletedRecord[], judge: Judge): string {
  const identity = identityOf(taken.best);
  const node = contest.filter(({ side }) => isNodeSide(side));
  const bySize = groupBy(node, (record) => String(itemsOf(record)))
    .filter((cells) => cells.length > 1 && cells.some((record) => identityOf(record) === identity))
    .toSorted((a, b) => itemsOf(b[0]!) - itemsOf(a[0]!));
  if (bySize.length < 2 || !isAlone(taken)) return '';
  const others = bySize.map((cells) => takenOf(run, cells, judge));
  const lost = others.findIndex((other) => identityOf(other.best) !== identity || !isAlone(other));
  const smallest = itemsOf(bySize.at(lost === -1 ? -1 : lost - 1)![0]!);
  if (lost === -1) return `; so at every number of rows measured, from ${formatRows(smallest)} up`;
  if (lost === 0) return '';
  const other = others[lost]!;
  const rows = formatRows(itemsOf(other.best));
  const there = isAlone(other) ? `take ${shortName(other.best)}` : 'no difference is shown';
  return `; so from ${formatRows(smallest)} rows up, but at ${rows} rows ${there}`;
}
