import type { RunComparison } from '../compare/compare-runs.js';
import type { RunRecord } from '../records/record.js';
import {
  type Block,
  type Table,
  columns,
  dropping,
  list,
  paragraph,
  renderMarkdown,
  renderTerminal,
  tableBlock,
} from './document.js';
import { formatFactorInterval, formatPercent, formatRateOf } from './format.js';
import { marksOf, notesOf } from './marks.js';

/** The output of `boundary-bench compare`, as Markdown. */
export function renderComparisonMarkdown(comparison: RunComparison): string {
  return renderMarkdown(comparisonDocument(comparison));
}

/** The output of `boundary-bench compare`, for a terminal. */
export function renderComparisonTerminal(comparison: RunComparison, columns?: number): string {
  return renderTerminal(comparisonDocument(comparison), columns);
}

/** What a comparison says, also beside pictures. */
export function comparisonDocument(comparison: RunComparison): Block[] {
  return [
    ...section('The runs are from different hardware:', comparison.hardwareDifferences),
    ...section('Versions that differ, before and after:', comparison.versionDifferences),
    ...tableBlock(cellsTable(comparison)),
    ...(comparison.cells.length === 0 ? [] : [paragraph(legend(comparison))]),
    ...notesOf(comparison.cells.map((cell) => marksOf(cell.before, cell.after))).map(paragraph),
    ...section('Completed before, failed after:', comparison.broken.map(describe)),
    ...section('Not comparable, for want of a rate on a side:', comparison.incomparable.map(describe)),
    ...section('Only in the earlier run:', comparison.onlyBefore.map(describe)),
    ...section('Only in the later run:', comparison.onlyAfter.map(describe)),
    paragraph(conclusion(comparison)),
  ];
}

function cellsTable({ cells }: RunComparison): Table {
  return {
    columns: dropping(columns('Cell', '>Before', '>After', '>After / before', 'Verdict'), 'Before', 'After'),
    rows: cells.map((cell) => [
      cell.after.id,
      formatRateOf(cell.before),
      formatRateOf(cell.after),
      formatFactorInterval(cell) + marksOf(cell.before, cell.after),
      cell.regressed ? 'regression' : cell.verdict,
    ]),
  };
}

function legend({ threshold, cells }: RunComparison): string {
  const shown = new Set(cells.map(({ regressed, verdict }) => (regressed ? 'regression' : verdict)));
  const meanings = {
    regression: `the whole interval is below ${(1 - threshold).toFixed(2)}`,
    slower: 'the whole interval is below 1',
    faster: 'the whole interval is above 1',
    equivalent: `the whole interval is within ${formatPercent(threshold)} of 1`,
    inconclusive: 'the interval decides none of these',
  };
  const used = Object.entries(meanings).flatMap(([word, meaning]) =>
    shown.has(word as keyof typeof meanings) ? `${word}, ${meaning}` : [],
  );
  return `After / before: the rate of the later run divided by that of the earlier one, with its 95% interval; above 1, it got faster. Verdicts: ${used.join('; ')}.`;
}

function conclusion({ cells, broken, threshold }: RunComparison): string {
  const regressions = cells.filter((cell) => cell.regressed).length;
  const limit = `by more than ${formatPercent(threshold)}`;
  const slower = `${regressions} of ${cells.length} cells slower ${limit}`;
  return broken.length === 0 ? `${slower}.` : `${slower}, ${broken.length} broken.`;
}

function section(title: string, items: readonly string[]): Block[] {
  return items.length === 0 ? [] : [paragraph(title), ...list(items)];
}

function describe(record: RunRecord): string {
  switch (record.outcome) {
    case 'completed':
      return record.id;
    case 'failed':
      return `${record.id}: failed, ${record.error.code}: ${record.error.message}`;
    case 'skipped':
      return `${record.id}: skipped, ${record.reason}`;
  }
}
