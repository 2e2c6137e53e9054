import type { Comparison, CompletedRecord } from '../records/record.js';
import { hasFewSamples } from '../compare/rate-ratio.js';
import { type Table, columns } from './document.js';
import { formatFactor, formatFactorInterval, formatInterval, formatShortRate } from './format.js';
import { nameAndRatesOf, nameOf } from './labels.js';

const OTHER_ROWS = ' †';
const FEW_SAMPLES = ' ‡';

/** A table with what its marks mean, one line each. */
export interface MarkedTable {
  readonly table: Table;
  readonly notes: readonly string[];
}

type RecordOf = (id: string) => CompletedRecord | undefined;

/** A comparison with both its cells. */
interface Pair {
  readonly comparison: Comparison;
  readonly numerator: CompletedRecord;
  readonly denominator: CompletedRecord;
}

/** The best of each side, as `comparisons` of the kind `best` name them. */
export function bestTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = pairsOf(comparisons, 'best', recordOf);
  return {
    table: {
      columns: columns('Workload', 'Rust (best)', 'Node (best)', '>Rust factor'),
      rows: pairs.map((pair) => [
        pair.comparison.workload,
        nameAndRatesOf(pair.numerator),
        nameAndRatesOf(pair.denominator),
        factorOf(pair.comparison) + marksOf(pair),
      ]),
    },
    notes: notesOf(pairs),
  };
}

/** Every Node cell against its Rust lane, as `comparisons` of the kind `lane` name them. */
export function laneTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = pairsOf(comparisons, 'lane', recordOf);
  return {
    table: {
      columns: columns('Workload', 'Lane', 'Rust', 'Node', '>Node / Rust', '>95% interval', 'Verdict'),
      rows: pairs.map((pair) => {
        const { comparison, numerator: node, denominator: rust } = pair;
        const place = rust.engine === node.engine ? '' : ` on ${rust.engine}`;
        return [
          comparison.workload,
          rust.lane === node.lane ? node.lane : `${node.lane} (Rust: ${rust.lane})`,
          `${nameOf(rust)}${place} — ${formatShortRate(rust.summary.rowsPerSecond)}`,
          `${nameOf(node)} — ${formatShortRate(node.summary.rowsPerSecond)}`,
          formatFactor(comparison.ratio) + marksOf(pair),
          formatInterval(comparison),
          comparison.verdict === 'no difference' ? comparison.verdict : `Node ${comparison.verdict}`,
        ];
      }),
    },
    notes: notesOf(pairs),
  };
}

function pairsOf(comparisons: readonly Comparison[], kind: Comparison['kind'], recordOf: RecordOf): Pair[] {
  return comparisons.flatMap((comparison) => {
    if (comparison.kind !== kind) return [];
    const numerator = recordOf(comparison.numerator);
    const denominator = recordOf(comparison.denominator);
    return numerator === undefined || denominator === undefined ? [] : [{ comparison, numerator, denominator }];
  });
}

function factorOf(comparison: Comparison): string {
  return comparison.verdict === 'no difference'
    ? `no difference (${formatInterval(comparison)})`
    : formatFactorInterval(comparison);
}

function marksOf({ numerator, denominator }: Pair): string {
  const rows = numerator.rows === denominator.rows ? '' : OTHER_ROWS;
  return rows + (hasFewSamples(numerator, denominator) ? FEW_SAMPLES : '');
}

function notesOf(pairs: readonly Pair[]): string[] {
  const marks = pairs.map(marksOf);
  const notes: string[] = [];
  if (marks.some((mark) => mark.includes(OTHER_ROWS))) {
    notes.push('† The two cells were measured at different numbers of rows; their rows per second are compared.');
  }
  if (marks.some((mark) => mark.includes(FEW_SAMPLES))) {
    notes.push('‡ Fewer than 5 samples on a side: the interval is narrower than the truth.');
  }
  return notes;
}
