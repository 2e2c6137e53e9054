/** The report on two builds of an addon that were measured in one run. */
import { eachOf } from './call-table.js';
import { type Comparison, type CompletedRecord, type Run } from '../records/record.js';
import { recordsById } from '../compare/cell-groups.js';
import { isUndecided } from '../compare/compare-runs.js';
import { marginOf } from '../compare/judge.js';
import { isOnOneThread } from '../compare/rate-ratio.js';
import {
  type Block,
  type Table,
  heading,
  list,
  paragraph,
  renderMarkdown,
  renderTerminal,
  tableBlock,
  tableOf,
  under,
  type Terminal,
} from './document.js';
import { slowerText } from './compare-report.js';
import { byCpuTime, toneOf } from './factor.js';
import { formatFactorInterval } from './format.js';
import { marksOf, notesOf } from './marks.js';
import { reasonOf } from './results-table.js';

/** A way by two builds. */
export interface BuildComparison extends Pick<Comparison, 'ratio' | 'low' | 'high' | 'verdict' | 'cpu'> {
  readonly before: CompletedRecord;
  readonly after: CompletedRecord;
  /** Whether the way uses no addon, so that only the machine can differ. */
  readonly isControl: boolean;
  /** Whether the whole interval lies below 1 - threshold. */
  readonly regressed: boolean;
  /** Whether the way may be slower by more than the threshold or not, as far as the run tells. */
  readonly undecided: boolean;
}

/** The ways of a run by two builds: those in JavaScript are controls. */
export function buildComparisons(run: Run, threshold: number): BuildComparison[] {
  const recordOf = recordsById(run.records);
  return run.comparisons.flatMap(({ kind, numerator, denominator, ratio, low, high, verdict, noVerdict, cpu }) => {
    const [after, before] = [recordOf(numerator), recordOf(denominator)];
    if (kind !== 'rival' || before === undefined || after === undefined) return [];
    const isControl = after.side === 'js';
    const judged = noVerdict === undefined ? verdict : 'inconclusive';
    const regressed = !isControl && noVerdict === undefined && high < 1 - threshold;
    const undecided = !regressed && isUndecided(judged, low, 1 - threshold);
    // By CPU time, if the wall time can't tell and no other thread does a part of the work.
    const isByCpu = verdict === 'inconclusive' && noVerdict === undefined && [before, after].every(isOnOneThread);
    return [
      {
        before,
        after,
        ratio,
        low,
        high,
        verdict: judged,
        isControl,
        regressed,
        undecided,
        ...(isByCpu ? { cpu } : {}),
      },
    ];
  });
}

/** The first line of the Markdown, by which the action finds its comment on a pull request again. */
const MARKER = '<!-- boundary-bench -->';

/** The text for a comment on a pull request: the conclusion first, then the ways that changed. The others are folded. */
export function renderBuildsMarkdown(run: Run, threshold: number): string {
  const pairs = buildComparisons(run, threshold);
  const isChanged = ({ verdict }: BuildComparison): boolean => verdict === 'faster' || verdict === 'slower';
  const [changed, others] = [pairs.filter(isChanged), pairs.filter((pair) => !isChanged(pair))];
  const shown = renderMarkdown([
    heading(2, 'Boundary Bench'),
    paragraph(conclusion(pairs, threshold)),
    ...(changed.length === 0 ? [] : tableBlock(waysTable(changed, run))),
    ...notesOn(changed),
    ...notMeasured(run),
  ]);
  if (others.length === 0) return `${MARKER}\n${shown}`;
  const folded = renderMarkdown([...tableBlock(waysTable(others, run)), ...notesOn(others)]);
  const summary = `${others.length} equivalent or inconclusive`;
  return `${MARKER}\n${shown}\n<details><summary>${summary}</summary>\n\n${folded}\n</details>\n`;
}

/** The text for a terminal. */
export function renderBuilds(run: Run, threshold: number, terminal?: Terminal): string {
  const pairs = buildComparisons(run, threshold);
  const blocks = [
    ...tableBlock(waysTable(pairs, run)),
    ...notesOn(pairs),
    ...notMeasured(run),
    paragraph(conclusion(pairs, threshold)),
  ];
  return renderTerminal(blocks, terminal);
}

function waysTable(pairs: readonly BuildComparison[], run: Run): Table {
  return tableOf(pairs, [
    { title: 'Way', of: ({ before }) => before.id.replace(/\/old$/, '') },
    { title: '>Old', of: ({ before }) => eachOf(before), goes: 0 },
    { title: '>New', of: ({ after }) => eachOf(after), goes: 1 },
    { title: '>New / old', of: (pair) => formatFactorInterval(pair) + marksOf(pair.before, pair.after) },
    {
      title: 'Verdict',
      of: ({ regressed, verdict, cpu, isControl }) =>
        `${regressed ? 'regression' : verdict}${byCpuTime(cpu, marginOf(run))}${isControl ? ' (control)' : ''}`,
      tone: toneOf,
    },
  ]);
}

function notesOn(pairs: readonly BuildComparison[]): Block[] {
  if (pairs.length === 0) return [];
  return [
    'New / old: the rate of the new build divided by the rate of the old build, measured in turns, with its ' +
      '95% interval. Above 1, it got faster. A control uses no addon, so that only the machine can differ.',
    ...notesOf(pairs.map(({ before, after }) => marksOf(before, after))),
  ].map(paragraph);
}

function notMeasured({ records }: Run): Block[] {
  const failed = records.filter((record) => record.outcome !== 'completed');
  return under(paragraph('Not measured:'), list(failed.map((record) => `${record.id}: ${reasonOf(record)}`)));
}

function conclusion(pairs: readonly BuildComparison[], threshold: number): string {
  const ways = pairs.filter(({ isControl }) => !isControl);
  const moved = pairs.filter(({ isControl, verdict }) => isControl && (verdict === 'faster' || verdict === 'slower'));
  const warning =
    moved.length === 0
      ? ''
      : ` Warning: ${moved.length} of ${pairs.length - ways.length} controls differ, so the machine was not quiet.`;
  return slowerText('ways', ways, threshold) + warning;
}
