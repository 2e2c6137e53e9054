import { contestOf, groupBy } from '../compare/cell-groups.js';
import type { Comparison, CompletedRecord } from '../records/record.js';
import { type Table, columns, dropping } from './document.js';
import { formatFactorInterval, formatInterval, formatRateOf } from './format.js';
import { nameOf, transportColumn } from './labels.js';
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

/**
 * The one table of Rust with Node: of each work in each place first the best of either side, whatever their lanes, then each lane of Node
 * with its lane of Rust. The comparisons may be those of one kind alone.
 */
export function headToHeadTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = bestFirst(comparisons, recordOf);
  const transport = transportColumn(pairs.map(({ comparison }) => comparison));
  const lane = laneColumn(pairs);
  return {
    table: {
      columns: dropping(
        columns('Workload', ...lane.title, ...transport.title, ...lane.sides, '>Rust factor'),
        lane.sides[0],
      ),
      rows: pairs.map((pair) => {
        const { comparison, rust, node } = pair;
        const place = rust.engine === node.engine ? '' : ` on ${rust.engine}`;
        return [
          comparison.workload,
          ...lane.of(pair),
          ...transport.of(comparison),
          `${nameOf(rust)}${place} — ${formatRateOf(rust)}`,
          `${nameOf(node)} — ${formatRateOf(node)}`,
          factorOf(comparison) + marksOf(rust, node, comparison.forks),
        ];
      }),
    },
    notes: notesOfPairs(pairs),
  };
}

/** A row of the one table. */
export interface HeadToHead extends Pair {
  /** Whether the two are the best of both sides. */
  readonly isBest: boolean;
  /** Whether the one is compared with the other as its lane. */
  readonly isLane: boolean;
}

/**
 * The comparisons of Rust with Node, by the work and its place, with the best of both sides before their lanes. Where the best are a lane
 * and its lane of Rust, they are one row, with the ratio of the processes that did not choose them.
 */
export function bestFirst(comparisons: readonly Comparison[], recordOf: RecordOf): HeadToHead[] {
  const bests = pairsOf(comparisons, 'best', recordOf);
  const lanes = pairsOf(comparisons, 'lane', recordOf);
  const isSame = (a: Pair, b: Pair): boolean => a.rust.id === b.rust.id && a.node.id === b.node.id;
  const rows = [
    ...bests.map((best) => ({ ...best, isBest: true, isLane: lanes.some((lane) => isSame(lane, best)) })),
    ...lanes.flatMap((lane) =>
      bests.some((best) => isSame(lane, best)) ? [] : { ...lane, isBest: false, isLane: true },
    ),
  ];
  return groupBy(rows, ({ node }) => contestOf(node)).flat();
}

/** The column of lanes, which a table of the best alone has not: its titles of the two sides say what they are. */
export function laneColumn(pairs: readonly HeadToHead[]): {
  readonly title: readonly string[];
  readonly sides: readonly [rust: string, node: string];
  of(pair: HeadToHead): readonly string[];
} {
  if (!pairs.some(({ isLane }) => isLane)) {
    return { title: [], sides: ['Rust (best)', 'Node (best)'], of: () => [] };
  }
  return { title: ['Lane'], sides: ['Rust', 'Node'], of: (pair) => [laneText(pair)] };
}

function laneText({ isBest, isLane, rust, node }: HeadToHead): string {
  const best = isBest ? ['best'] : [];
  const lane = isLane ? [rust.lane === node.lane ? node.lane : `${node.lane} (Rust: ${rust.lane})`] : [];
  return [...best, ...lane].join(': ');
}

function notesOfPairs(pairs: readonly Pair[]): string[] {
  const marks = notesOf(pairs.map(({ rust, node, comparison }) => marksOf(rust, node, comparison.forks)));
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
  'server-bound': 'server-bound',
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

/** A factor with its interval where a comparison has decided, else the verdict with the interval. */
export function factorOf(comparison: Comparison): string {
  const { verdict } = comparison;
  return verdict === 'faster' || verdict === 'slower'
    ? formatFactorInterval(comparison)
    : `${verdict} (${formatInterval(comparison)})`;
}
