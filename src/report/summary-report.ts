/** The summary at the end of a run: one line per workload, and what is wrong with the run. The rest stands in `run.md`. */
import { completedOf, groupBy, contestOf } from '../compare/cell-groups.js';
import { judgeOf, marginOf } from '../compare/judge.js';
import type { AddonOverJavaScript } from '../compare/sides.js';
import { type CompletedRecord, type Run, type Side, clientName } from '../records/record.js';
import { median } from '../stats/quantile.js';
import { rateOf } from '../stats/summary.js';
import { isCall } from './call-table.js';
import { clientLines } from './host-block.js';
import {
  AFTER_NAMES,
  type Block,
  type Table,
  type Terminal,
  list,
  paragraph,
  renderTerminal,
  tableBlock,
  tableOf,
} from './document.js';
import { adviceOf } from './advice.js';
import {
  attributionTexts,
  factorOf,
  isDecided,
  shortFactorOf,
  shortestFactorOf,
  signNotes,
  toneOf,
  isOpen,
} from './factor.js';
import { crossingTable, isCrossing, otherCrossingLines } from './crossing-lines.js';
import { UNKNOWN, formatPercent, formatFactor } from './format.js';
import { cpuColumn, cpuMark, factorNotes } from './head-to-head.js';
import { marksInRun, noVerdictMark, noVerdictNotes, noVerdictReason, notesOf } from './marks.js';
import { unfinishedTable } from './results-table.js';
import {
  type WorkloadAnswer,
  answerSides,
  bestRateText,
  otherTitle,
  workloadAnswersOf,
  workloadText,
} from './workload-answers.js';
import { isNodeSide } from '../compare/comparisons.js';
import { batchText, variantOf } from './labels.js';

function addonFactorNote(answers: readonly WorkloadAnswer[]): string {
  return `Addon factor: the addon's rate divided by the rate of the fastest ${otherTitle(answers).toLowerCase()}.`;
}

/** The share of cells without a verdict from which on that is the first to be known of a run. */
const MOST_WITHOUT = 0.1;

/** The share of cells that look faster or slower than themselves from which on a run is not to be trusted. */
const TOO_OFTEN_WRONG = 0.1;

/** The fewest cells from which that share is known. */
const CELLS_FOR_NOISE = 10;

/** The spread of samples from which on a machine counts as restless. */
const RESTLESS_SPREAD = 0.5;

/** The columns of a terminal from which on a table has room for the words of verdicts. */
const WIDE = 140;

/** The columns of a terminal from which on a table has room for intervals. */
const USUAL = 100;

/** How the answers are told: the margin of the run, and what the table has no room for. */
interface Style {
  readonly margin: number;
  /** Signs stand for verdicts. */
  readonly isNarrow: boolean;
  /** The intervals and the verdicts are in the lines below the table. */
  readonly isNarrowest: boolean;
  /** Small bars stand beside the rates. */
  readonly hasBars: boolean;
}

export interface SummaryOptions extends Terminal {
  /** The file with the whole report. */
  readonly report: string;
  /** The columns of the terminal. */
  readonly columns: number;
}

/** The summary of a run for a terminal. */
export function renderRunSummary(run: Run, { report, ...terminal }: SummaryOptions): string {
  const answers = workloadAnswersOf(run);
  const { columns, hasColors = false } = terminal;
  const style = { margin: marginOf(run), isNarrow: columns < WIDE, isNarrowest: columns < USUAL, hasBars: hasColors };
  const warning = worstWarning(run, answers);
  const [completed, judge] = [completedOf(run.records), judgeOf(run)];
  const blocks: Block[] = [
    ...list(clientHeadlines(run)),
    paragraph(countsOf(run)),
    ...tableBlock(answerTable(answers, style)),
    ...list(adviceOf(run).flatMap(({ lines }) => lines)),
    ...tableBlock(crossingTable(completed)),
    ...list(otherCrossingLines(completed)),
    ...noVerdictNotes(completed.filter(isCrossing)).map(paragraph),
    ...list(attributionTexts(completed, judge)),
    ...[...notes(answers, style), ...clientLines(completed, run.context)].map(paragraph),
    ...list(unfinishedTable(run.records).rows.map(([cells, outcome, why]) => `${cells} ${outcome}: ${why}`)),
    ...(warning === undefined ? [] : [paragraph(`Warning: ${warning}`)]),
    paragraph(`Report: ${report}`),
  ];
  return renderTerminal(blocks, terminal);
}

function countsOf({ records, context }: Run): string {
  const counts = (['completed', 'failed', 'skipped'] as const).flatMap((outcome) => {
    const count = records.filter((record) => record.outcome === outcome).length;
    return count === 0 ? [] : [`${count} ${outcome === 'completed' ? 'measured' : outcome}`];
  });
  return `${context.config['quick'] === true ? 'A rough first look' : 'Cells'}: ${counts.join(', ')}.`;
}

function answerTable(answers: readonly WorkloadAnswer[], { margin, isNarrow, isNarrowest, hasBars }: Style): Table {
  const engines = new Set(answers.map(({ node }) => node.engine));
  // Other ways may cross nothing: what a call costs shows in the addon's factor.
  const areCalls = answers.every(({ node }) => isCall(node));
  const textOf = isNarrowest ? shortestFactorOf : isNarrow ? shortFactorOf : factorOf;
  return tableOf(answers, [
    {
      title: 'Workload',
      of: ({ node }) => workloadText(node) + (engines.size > 1 && isNarrowest ? ` on ${node.engine}` : ''),
    },
    ...(engines.size > 1 && !isNarrowest ? [{ title: 'Engine', of: ({ node }: WorkloadAnswer) => node.engine }] : []),
    ...answerSides(answers)
      .filter(([side]) => answers.some(({ best }) => best[side] !== undefined))
      .map(([side, title]) => ({
        title: `>${title}`,
        of: (answer: WorkloadAnswer) =>
          bestRateText(answer, side, FASTEST) + (hasBars && !isNarrow ? barText(answer, side) : ''),
        tone: (text: string) => (text.startsWith(FASTEST) ? ('best' as const) : undefined),
        goes: RATES_GO[side],
      })),
    {
      title: '>Rust factor',
      of: ({ node, rust }) =>
        rust === undefined
          ? UNKNOWN
          : textOf(rust.comparison) + rustMarks(rust, node) + (isNarrowest ? '' : cpuMark(rust.comparison, margin)),
      goes: areCalls ? 1 : undefined,
      tone: toneOf,
    },
    ...(isNarrowest ? [] : cpuColumn(answers, ({ rust }) => rust?.comparison, 0)),
    {
      title: '>Addon factor',
      of: ({ addon }) => (addon === undefined ? UNKNOWN : textOf(addon.judged) + addonMarks(addon)),
      tone: toneOf,
    },
  ]);
}

/** The mark of the fastest side. */
const FASTEST = '*';

/** The order in which rates leave a table that is too wide: before the factors, which the verdicts are about. */
const RATES_GO: Readonly<Record<Side, number | undefined>> = { rust: 2, js: 3, napi: AFTER_NAMES };

/** The characters of a bar of a terminal. */
const BAR = 6;

/** A bar as long as a side's rate is beside the best one. Nothing for a side that did not do the work. */
function barText({ best }: WorkloadAnswer, side: Side): string {
  const record = best[side];
  if (record === undefined) return '';
  const most = Math.max(...Object.values(best).map(rateOf));
  const length = Math.max(1, Math.round((BAR * rateOf(record)) / most));
  return ` ${'█'.repeat(length)}${'░'.repeat(BAR - length)}`;
}

function rustMarks({ comparison, record }: NonNullable<WorkloadAnswer['rust']>, node: CompletedRecord): string {
  return marksInRun(record, node, comparison.forks);
}

function addonMarks({ addon, javaScript, forks }: AddonOverJavaScript): string {
  return marksInRun(addon, javaScript, forks);
}

function notes(answers: readonly WorkloadAnswer[], { margin, isNarrow, isNarrowest }: Style): string[] {
  const judged = answers
    .flatMap(({ rust, addon }) => [rust?.comparison, addon?.judged])
    .filter((each) => each !== undefined);
  const isShown = (verdict: string): boolean => judged.some((each) => each.verdict === verdict);
  const factors = [
    ...factorNotes(
      answers.flatMap(({ rust }) => rust?.comparison ?? []),
      { margin, hasCpu: !isNarrowest },
    ),
    ...(answers.some(({ addon }) => addon !== undefined) ? [addonFactorNote(answers)] : []),
    ...(judged.length === 0 ? [] : ['In parentheses: the 95% interval. It covers this run alone.']),
    ...(answers.some(({ fastest }) => fastest.length > 0)
      ? [`${FASTEST} stands for the fastest side, or for both if they are equivalent.`]
      : []),
    ...(isNarrow ? signNotes(judged.map(({ verdict }) => verdict)) : []),
    ...(isShown('inconclusive') ? ['Inconclusive: this run cannot tell which is faster.'] : []),
    ...(isShown('server-bound') ? ['Server-bound: the server was the limit of both.'] : []),
  ];
  const pairs = answers.flatMap(({ node, rust, addon }) => [
    noVerdictMark(node.noVerdict),
    ...(rust === undefined ? [] : [rustMarks(rust, node)]),
    ...(addon === undefined ? [] : [addonMarks(addon)]),
  ]);
  return [...(factors.length === 0 ? [] : [factors.join(' ')]), ...notesOf(pairs)];
}

/** The most important warning about these figures. `undefined` if nothing is. */
function worstWarning({ records, comparisons, context }: Run, answers: readonly WorkloadAnswer[]): string | undefined {
  const failed = records.filter(({ outcome }) => outcome === 'failed').length;
  if (failed > 0) return `${failed} of ${records.length} cells failed.`;
  const without = completedOf(records).flatMap(({ noVerdict }) => noVerdict ?? []);
  if (without.length > MOST_WITHOUT * records.length) {
    const reasons = groupBy(without, (reason) => reason).map((same) => `${same.length} ${noVerdictReason(same[0]!)}`);
    return `${without.length} of ${records.length} cells get no verdict: ${reasons.join(', ')}.`;
  }
  const ofOne = comparisons.filter(({ noVerdict }) => noVerdict === 'one-process').length;
  if (ofOne > 0) {
    return (
      `${ofOne} of ${comparisons.length} comparisons get no verdict: a cell was measured in one process. Measure ` +
      'without --forks, or with --forks 3 or more.'
    );
  }
  const noise = comparisons.filter(({ kind }) => kind === 'noise-floor');
  const wrong = noise.filter(isDecided).length;
  if (noise.length >= CELLS_FOR_NOISE && wrong / noise.length > TOO_OFTEN_WRONG) {
    return `the machine was not quiet: ${wrong} of ${noise.length} cells look faster or slower than themselves.`;
  }
  const { governor } = context.host;
  if (governor !== undefined && governor !== 'performance') {
    return `the governor of the CPU is ${governor}, so its speed changes. The governor performance keeps it.`;
  }
  const spreads = completedOf(records).map(({ summary }) => summary.spread);
  if (spreads.length > 0 && median(spreads) > RESTLESS_SPREAD) {
    return `the samples of a cell vary by ${formatPercent(median(spreads))} in the median: the machine is busy, or each sample is too short.`;
  }
  const rust = answers.flatMap((answer) => answer.rust ?? []);
  const open = rust.filter(({ comparison }) => comparison.verdict === 'inconclusive').length;
  if (open > 0)
    return `${open} of ${rust.length} comparisons with Rust are inconclusive. More processes decide more (--forks).`;
  return undefined;
}

/**
 * `get, 32 connections: my-client 1.2.0: 2.0× ioredis, 1.3× @redis/client, 0.60× KvClient`, one line per contest. A factor without a verdict has
 * a question mark. None in a run without `--client`.
 */
export function clientHeadlines(run: Run): string[] {
  const given = run.context.config['client'];
  if (typeof given !== 'string') return [];
  const name = clientName(given);
  const completed = completedOf(run.records);
  const judge = judgeOf(run);
  const subject = [name, run.context.versions[name] ?? []].flat().join(' ');
  return completed.flatMap((own) => {
    if (own.variant !== name) return [];
    const factors = completed
      .filter((rival) => rival.variant !== name && isNodeSide(rival.side) && isSameWork(own, rival))
      .flatMap((rival) => {
        const judged = judge(own, rival);
        if (judged === undefined) return [];
        const mark = isOpen(judged) ? '?' : '';
        return { ratio: judged.ratio, text: `${formatFactor(judged.ratio)}${mark} ${variantOf(rival)}` };
      })
      .toSorted((a, b) => b.ratio - a.ratio);
    if (factors.length === 0) return [];
    return `${workloadText(own)}${batchText(own)}: ${subject}: ${factors.map(({ text }) => text).join(', ')}`;
  });
}

function isSameWork(own: CompletedRecord, rival: CompletedRecord): boolean {
  return contestOf(own) === contestOf(rival) && own.lane === rival.lane && own.batch === rival.batch;
}
