import type { Comparison, CompletedRecord } from '../records/record.js';
import { type Table, columns, dropping } from './document.js';
import { formatFactorBesideInterval, formatFactorInterval, formatInterval, formatRateOf } from './format.js';
import { nameAndRatesOf, nameOf, transportColumn } from './labels.js';
import { marksOf, notesOf } from './marks.js';

/** A table with the explanations of its marks, one line each. */
export interface MarkedTable {
  readonly table: Table;
  readonly notes: readonly string[];
}

type RecordOf = (id: string) => CompletedRecord | undefined;

/** The direction of every factor between Rust and Node. */
export const RUST_FACTOR_NOTE = "Rust factor: Rust's rate divided by the Node side's; above 1, Rust is faster.";

/** A comparison of a Rust cell with a cell of a Node side, of which the numerator is the Rust cell. */
export interface Pair {
  readonly comparison: Comparison;
  readonly rust: CompletedRecord;
  readonly node: CompletedRecord;
}

/** The table of the best cells of each side, from the comparisons of the kind `best`. */
export function bestTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = pairsOf(comparisons, 'best', recordOf);
  const transport = transportColumn(pairs.map(({ comparison }) => comparison));
  return {
    table: {
      columns: dropping(
        columns('Workload', ...transport.title, 'Rust (best)', 'Node (best)', '>Rust factor'),
        'Rust (best)',
      ),
      rows: pairs.map((pair) => [
        pair.comparison.workload,
        ...transport.of(pair.comparison),
        nameAndRatesOf(pair.rust),
        nameAndRatesOf(pair.node),
        factorOf(pair.comparison) + marksOf(pair.rust, pair.node),
      ]),
    },
    notes: notesOfPairs(pairs),
  };
}

/** The table of every Node cell against its Rust lane, from the comparisons of the kind `lane`. */
export function laneTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = pairsOf(comparisons, 'lane', recordOf);
  const transport = transportColumn(pairs.map(({ comparison }) => comparison));
  return {
    table: {
      columns: dropping(
        columns('Workload', 'Lane', ...transport.title, 'Rust', 'Node', '>Rust factor', '>95% interval', 'Verdict'),
        'Verdict',
        'Lane',
        'Rust',
      ),
      rows: pairs.map(({ comparison, rust, node }) => {
        const place = rust.engine === node.engine ? '' : ` on ${rust.engine}`;
        return [
          comparison.workload,
          rust.lane === node.lane ? node.lane : `${node.lane} (Rust: ${rust.lane})`,
          ...transport.of(comparison),
          `${nameOf(rust)}${place} — ${formatRateOf(rust)}`,
          `${nameOf(node)} — ${formatRateOf(node)}`,
          formatFactorBesideInterval(comparison) + marksOf(rust, node),
          formatInterval(comparison),
          verdictText(comparison, 'Rust'),
        ];
      }),
    },
    notes: notesOfPairs(pairs),
  };
}

function notesOfPairs(pairs: readonly Pair[]): string[] {
  const marks = notesOf(pairs.map(({ rust, node }) => marksOf(rust, node)));
  return pairs.length === 0 ? [] : [RUST_FACTOR_NOTE, ...marks];
}

/** The comparisons of Rust with Node of a kind, with their cells, all in the direction of the Rust factor. */
export function pairsOf(comparisons: readonly Comparison[], kind: 'best' | 'lane', recordOf: RecordOf): Pair[] {
  return comparisons.flatMap((given) => {
    if (given.kind !== kind) return [];
    // A lane of Node stands over its lane of Rust in the records.
    const comparison = kind === 'lane' ? inverse(given) : given;
    const rust = recordOf(comparison.numerator);
    const node = recordOf(comparison.denominator);
    return rust === undefined || node === undefined ? [] : [{ comparison, rust, node }];
  });
}

const INVERSE_VERDICT = {
  faster: 'slower',
  slower: 'faster',
  equivalent: 'equivalent',
  inconclusive: 'inconclusive',
} as const;

function inverse(comparison: Comparison): Comparison {
  const { numerator, denominator, ratio, low, high, verdict } = comparison;
  return {
    ...comparison,
    numerator: denominator,
    denominator: numerator,
    ratio: 1 / ratio,
    low: 1 / high,
    high: 1 / low,
    verdict: INVERSE_VERDICT[verdict],
  };
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
