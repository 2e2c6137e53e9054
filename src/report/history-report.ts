import type { RunHistory } from '../compare/history.js';
import { commitText, type RunContext } from '../records/record.js';
import { type Block, type Table, list, paragraph, renderTerminal, tableBlock, tableOf, under } from './document.js';
import { UNKNOWN, formatFactorInterval, formatRateOf, atRatio } from './format.js';
import { marksOf, notesOf } from './marks.js';

/** The output of `boundary-bench history`, for a terminal. */
export function renderHistoryTerminal(history: RunHistory): string {
  return renderTerminal(historyDocument(history));
}

/** The text of a history next to its pictures. */
export function historyDocument(history: RunHistory): Block[] {
  const { hardwareDifferences, cells } = history;
  return [
    ...under(paragraph('The runs are from different hardware:'), list(hardwareDifferences)),
    ...tableBlock(runsTable(history)),
    ...tableBlock(cellsTable(history)),
    ...notesOf(cells.map(({ first, steps }) => marksOf(first, steps.at(-1)!.record))).map(paragraph),
    ...(cells.length === 0 ? [paragraph('No cell completed in two of the runs.')] : []),
  ];
}

/** The start of a run to the minute, in UTC: `2026-05-02 10:00`. */
export function startText({ startedAt }: RunContext): string {
  return startedAt.slice(0, 16).replace('T', ' ');
}

/** The commit of a run, or that it is not known. */
export function commitOf({ git }: RunContext): string {
  return git === undefined ? UNKNOWN : commitText(git);
}

function runsTable({ runs }: RunHistory): Table {
  const rows = runs.map(({ name, run: { context } }, index) => ({ name, context, number: index + 1 }));
  return tableOf(rows, [
    { title: '>Run', of: ({ number }) => String(number) },
    { title: 'Started', of: ({ context }) => startText(context) },
    { title: 'Commit', of: ({ context }) => commitOf(context) },
    { title: 'Node.js', of: ({ context }) => context.versions['node'] ?? UNKNOWN },
    { title: 'From', of: ({ name }) => name },
  ]);
}

function cellsTable({ cells }: RunHistory): Table {
  const rows = cells.map(({ id, first, steps }) => ({ id, first, count: steps.length + 1, last: steps.at(-1)! }));
  return tableOf(rows, [
    { title: 'Cell', of: ({ id }) => id },
    { title: '>Runs', of: ({ count }) => String(count) },
    { title: '>First', of: ({ first }) => formatRateOf(first) },
    { title: '>Last', of: ({ first, last }) => formatRateOf(atRatio(last.record, last.ratio, first)) },
    { title: '>Last / first', of: ({ first, last }) => formatFactorInterval(last) + marksOf(first, last.record) },
    { title: 'Verdict', of: ({ last }) => last.verdict },
  ]);
}
