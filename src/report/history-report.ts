import type { RunHistory } from '../compare/history.js';
import { commitText } from '../records/commit.js';
import type { RunContext } from '../records/record.js';
import { type Block, type Table, columns, list, paragraph, renderTerminal, tableBlock } from './document.js';
import { UNKNOWN, formatFactorInterval, formatRateOf } from './format.js';
import { marksOf, notesOf } from './marks.js';

/** The output of `boundary-bench history`, for a terminal. */
export function renderHistoryTerminal(history: RunHistory): string {
  return renderTerminal(historyDocument(history));
}

/** What a history says beside its pictures. */
export function historyDocument(history: RunHistory): Block[] {
  const { hardwareDifferences, cells } = history;
  return [
    ...(hardwareDifferences.length === 0
      ? []
      : [paragraph('The runs are from different hardware:'), ...list(hardwareDifferences)]),
    ...tableBlock(runsTable(history)),
    ...tableBlock(cellsTable(history)),
    ...notesOf(cells.map(({ first, steps }) => marksOf(first, steps.at(-1)!.record))).map(paragraph),
    ...(cells.length === 0 ? [paragraph('No cell completed in two of the runs.')] : []),
  ];
}

/** The commit of a run, or that it is not known. */
export function commitOf({ git }: RunContext): string {
  return git === undefined ? UNKNOWN : commitText(git);
}

function runsTable({ runs }: RunHistory): Table {
  return {
    columns: columns('>Run', 'Started', 'Commit', 'Node.js', 'From'),
    rows: runs.map(({ name, run: { context } }, index) => [
      String(index + 1),
      context.startedAt.slice(0, 16).replace('T', ' '),
      commitOf(context),
      context.versions['node'] ?? UNKNOWN,
      name,
    ]),
  };
}

function cellsTable({ cells }: RunHistory): Table {
  return {
    columns: columns('Cell', '>Runs', '>First', '>Last', '>Last / first', 'Verdict'),
    rows: cells.map(({ id, first, steps }) => {
      const last = steps.at(-1)!;
      return [
        id,
        String(steps.length + 1),
        formatRateOf(first),
        formatRateOf(last.record),
        formatFactorInterval(last) + marksOf(first, last.record),
        last.verdict,
      ];
    }),
  };
}
