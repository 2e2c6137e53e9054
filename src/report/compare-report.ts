import type { CellComparison, RunComparison } from '../compare/compare-runs.js';
import type { RunRecord } from '../records/record.js';
import { type Block, type Table, list, paragraph, renderTerminal, tableOf, under, type Terminal } from './document.js';
import { toneOf } from './factor.js';
import { formatFactor, formatFactorInterval, formatPercent, formatRateOf, atRatio } from './format.js';
import { marksOf, notesOf } from './marks.js';
import { idBelowPlace, tablesByPlace } from './place-tables.js';
import { reasonOf } from './results-table.js';

/** The output of `boundary-bench compare`, for a terminal. */
export function renderComparisonTerminal(comparison: RunComparison, terminal?: Terminal): string {
  return renderTerminal(comparisonDocument(comparison), terminal);
}

/** The text of a comparison, which also stands next to pictures. */
export function comparisonDocument(comparison: RunComparison): Block[] {
  return [
    ...section('The runs are from different hardware:', comparison.hardwareDifferences),
    ...section('Versions that differ, before and after:', comparison.versionDifferences),
    ...tablesByPlace(comparison.cells, ({ after }) => after, cellsTable),
    ...(comparison.cells.length === 0 ? [] : [paragraph(legend(comparison)), paragraph(controlText(comparison))]),
    ...notesOf(comparison.cells.map((cell) => marksOf(cell.before, cell.after))).map(paragraph),
    ...section('Completed before, failed after:', comparison.broken.map(describe)),
    ...section('Not comparable, for want of a rate on a side:', comparison.incomparable.map(describe)),
    ...section('Only in the earlier run:', comparison.onlyBefore.map(describe)),
    ...section('Only in the later run:', comparison.onlyAfter.map(describe)),
    paragraph(conclusionOf(comparison)),
  ];
}

function cellsTable(cells: RunComparison['cells']): Table {
  return tableOf(cells, [
    { title: 'Cell', of: ({ after }) => idBelowPlace(after) },
    { title: '>Before', of: ({ before }) => formatRateOf(before), goes: 0 },
    { title: '>After', of: ({ before, after, ratio }) => formatRateOf(atRatio(after, ratio, before)), goes: 1 },
    { title: '>After / before', of: (cell) => formatFactorInterval(cell) + marksOf(cell.before, cell.after) },
    { title: 'Verdict', of: ({ regressed, verdict }) => (regressed ? 'regression' : verdict), tone: toneOf },
  ]);
}

function legend({ threshold, cells }: RunComparison): string {
  const shown = new Set(cells.map(({ regressed, verdict }) => (regressed ? 'regression' : verdict)));
  const meanings = {
    regression: `the whole interval is below ${(1 - threshold).toFixed(2)}, and below what the machine moved`,
    slower: 'the whole interval is below 1, and below what the machine moved',
    faster: 'the whole interval is above 1, and above what the machine moved',
    equivalent: `the whole interval is within ${formatPercent(threshold)} of 1`,
    inconclusive: 'the interval includes 1, and is wider than the threshold',
  };
  const used = Object.entries(meanings).flatMap(([word, meaning]) =>
    shown.has(word as keyof typeof meanings) ? `${word}, ${meaning}` : [],
  );
  return (
    'After / before: the rate of the later run divided by the rate of the earlier run, with its 95% interval. ' +
    `Above 1, it got faster. Verdicts: ${used.join('; ')}.`
  );
}

/** The change of the machine between the two runs, by the parts that they have in common. */
function controlText({ control, threshold }: RunComparison): string {
  const moved = [
    ...(control.loop === undefined
      ? []
      : [`a small loop before the first sample ran at ${formatFactor(control.loop)}`]),
    ...(control.cells === undefined ? [] : [`the cells moved by ${formatFactor(control.cells)} in the median`]),
  ];
  const advice = 'To compare two builds, measure both in one run, in turns.';
  if (moved.length === 0) {
    return `The two runs are of different times, and nothing in them says how much the machine changed in between. ${advice}`;
  }
  const isLarge = Object.values(control).some((movement) => Math.abs(movement - 1) > threshold);
  const meaning = isLarge ? ' All of that is probably the machine.' : '';
  return `Between the two runs, ${moved.join(', and ')}.${meaning} ${advice}`;
}

/** The last sentences of a comparison: how many cells are slower, and for how many that is inconclusive. */
export function conclusionOf({ cells, broken, threshold }: RunComparison): string {
  return slowerText('cells', cells, threshold, broken.length);
}

/** How many cells or ways are slower, and for how many that is inconclusive. */
export function slowerText(
  what: 'cells' | 'ways',
  all: readonly Pick<CellComparison, 'regressed' | 'undecided'>[],
  threshold: number,
  broken = 0,
): string {
  const slower = `slower by more than ${formatPercent(threshold)}`;
  const ending = broken === 0 ? '.' : `, ${broken} broken.`;
  const undecided = `${all.filter((one) => one.undecided).length} of ${all.length} ${what} are inconclusive`;
  if (all.length === 0) return `Could not tell: no ${what} were measured twice${ending}`;
  if (all.every((one) => one.undecided)) return `Could not tell what is ${slower}: ${undecided}${ending}`;
  const rest = all.some((one) => one.undecided) ? ` ${undecided}.` : '';
  return `${all.filter((one) => one.regressed).length} of ${all.length} ${what} ${slower}${ending}${rest}`;
}

function section(title: string, items: readonly string[]): Block[] {
  return under(paragraph(title), list(items));
}

function describe(record: RunRecord): string {
  return record.outcome === 'completed' ? record.id : `${record.id}: ${record.outcome}, ${reasonOf(record)}`;
}
