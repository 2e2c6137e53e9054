import type { Comparison, CompletedRecord } from '../records/record.js';
import { type Table, columns } from './document.js';
import { formatFactorBesideInterval, formatFactorInterval, formatInterval, formatShortRate } from './format.js';
import { nameAndRatesOf, nameOf, transportColumn } from './labels.js';
import { marksOf, notesOf } from './marks.js';

/** A table with the explanations of its marks, one line each. */
export interface MarkedTable {
  readonly table: Table;
  readonly notes: readonly string[];
}

type RecordOf = (id: string) => CompletedRecord | undefined;

/** A comparison with both its cells. */
export interface Pair {
  readonly comparison: Comparison;
  readonly numerator: CompletedRecord;
  readonly denominator: CompletedRecord;
}

/** The table of the best cells of each side, from the comparisons of the kind `best`. */
export function bestTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = pairsOf(comparisons, 'best', recordOf);
  const transport = transportColumn(pairs.map(({ comparison }) => comparison));
  return {
    table: {
      columns: columns('Workload', ...transport.title, 'Rust (best)', 'Node (best)', '>Rust factor'),
      rows: pairs.map((pair) => [
        pair.comparison.workload,
        ...transport.of(pair.comparison),
        nameAndRatesOf(pair.numerator),
        nameAndRatesOf(pair.denominator),
        factorOf(pair.comparison) + marksOf(pair.numerator, pair.denominator),
      ]),
    },
    notes: notesOf(pairs.map((pair) => marksOf(pair.numerator, pair.denominator))),
  };
}

/** The table of every Node cell against its Rust lane, from the comparisons of the kind `lane`. */
export function laneTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = pairsOf(comparisons, 'lane', recordOf);
  const transport = transportColumn(pairs.map(({ comparison }) => comparison));
  return {
    table: {
      columns: columns(
        'Workload',
        'Lane',
        ...transport.title,
        'Rust',
        'Node',
        '>Node / Rust',
        '>95% interval',
        'Verdict',
      ),
      rows: pairs.map((pair) => {
        const { comparison, numerator: node, denominator: rust } = pair;
        const place = rust.engine === node.engine ? '' : ` on ${rust.engine}`;
        return [
          comparison.workload,
          rust.lane === node.lane ? node.lane : `${node.lane} (Rust: ${rust.lane})`,
          ...transport.of(comparison),
          `${nameOf(rust)}${place} — ${formatShortRate(rust.summary.rowsPerSecond)}`,
          `${nameOf(node)} — ${formatShortRate(node.summary.rowsPerSecond)}`,
          formatFactorBesideInterval(comparison) + marksOf(pair.numerator, pair.denominator),
          formatInterval(comparison),
          verdictText(comparison, 'Node'),
        ];
      }),
    },
    notes: notesOf(pairs.map((pair) => marksOf(pair.numerator, pair.denominator))),
  };
}

/** The comparisons of a kind with their cells. */
export function pairsOf(comparisons: readonly Comparison[], kind: Comparison['kind'], recordOf: RecordOf): Pair[] {
  return comparisons.flatMap((comparison) => {
    if (comparison.kind !== kind) return [];
    const numerator = recordOf(comparison.numerator);
    const denominator = recordOf(comparison.denominator);
    return numerator === undefined || denominator === undefined ? [] : [{ comparison, numerator, denominator }];
  });
}

/** A factor with its interval, or the verdict with the interval where no factor is shown. */
export function factorOf(comparison: Comparison): string {
  const { verdict } = comparison;
  return verdict === 'equivalent' || verdict === 'inconclusive'
    ? `${verdict} (${formatInterval(comparison)})`
    : formatFactorInterval(comparison);
}

/** The verdict on `numerator` in a table, such as `Node slower`. */
export function verdictText({ verdict }: Comparison, numerator: string): string {
  return verdict === 'faster' || verdict === 'slower' ? `${numerator} ${verdict}` : verdict;
}
