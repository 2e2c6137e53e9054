import { type RecordOf, contestOf, groupBy } from '../compare/cell-groups.js';
import type { Comparison, CompletedRecord } from '../records/record.js';
import { type ColumnOf, type Table, tableOf } from './document.js';
import {
  CPU_DISAGREES,
  CPU_DISAGREES_NOTE,
  CPU_FACTOR_NOTE,
  RUST_FACTOR_NOTE,
  doTimesDisagree,
  factorOf,
  inverseOf,
} from './factor.js';
import { UNKNOWN, formatFactorInterval, formatRateOf, atRatio } from './format.js';
import { nameOf, transportColumn } from './labels.js';
import { marksInRun, notesOf } from './marks.js';

/** A table with the explanations of its marks, one line each. */
export interface MarkedTable {
  readonly table: Table;
  readonly notes: readonly string[];
}

/** A comparison of a Rust cell with a cell of a Node side, of which the numerator is the Rust cell. */
export interface Pair {
  readonly comparison: Comparison;
  readonly rust: CompletedRecord;
  readonly node: CompletedRecord;
}

/**
 * The one table of Rust with Node. For each work in each place, it has first the best of either side, in any lane, then
 * each lane of Node with its lane of Rust. The comparisons may be of one kind alone. `margin`: as in `doTimesDisagree`.
 */
export function headToHeadTable(comparisons: readonly Comparison[], recordOf: RecordOf, margin?: number): MarkedTable {
  const pairs = bestFirst(comparisons, recordOf);
  const [rustTitle, nodeTitle] = sideTitles(pairs);
  return {
    table: tableOf(pairs, [
      { title: 'Workload', of: ({ comparison }) => comparison.workload },
      ...laneColumn(pairs),
      ...transportColumn(pairs, ({ comparison }) => comparison),
      {
        title: rustTitle,
        of: ({ rust, node }) => {
          const place = rust.engine === node.engine ? '' : ` on ${rust.engine}`;
          return `${nameOf(rust)}${place} — ${formatRateOf(rust)}`;
        },
        goes: 0,
      },
      { title: nodeTitle, of: ({ node }) => `${nameOf(node)} — ${formatRateOf(node)}` },
      {
        title: '>Rust factor',
        of: (pair) => factorOf(pair.comparison) + marksOfPair(pair) + cpuMark(pair.comparison, margin),
      },
      ...cpuColumn(pairs, ({ comparison }) => comparison, 1),
    ]),
    notes: [
      ...factorNotes(
        pairs.map(({ comparison }) => comparison),
        { margin },
      ),
      ...notesOf(pairs.map(marksOfPair)),
    ],
  };
}

/** The marks after the factor of two cells. */
export function marksOfPair({ comparison, rust, node }: Pair): string {
  return marksInRun(rust, node, comparison.forks);
}

/** A row of the one table. */
export interface HeadToHead extends Pair {
  /** Whether the two are the best of both sides. */
  readonly isBest: boolean;
  /** Whether the one is compared with the other as its lane. */
  readonly isLane: boolean;
}

/**
 * The comparisons of Rust with Node, by the work and its place, with the best of both sides before their lanes. If the
 * best are a lane and its lane of Rust, they are one row, with the ratio of the processes that did not choose them.
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

/** The column of lanes. A table of the best alone does not have it: its titles of the two sides say what they are. */
export function laneColumn(pairs: readonly HeadToHead[]): ColumnOf<HeadToHead>[] {
  return pairs.some(({ isLane }) => isLane) ? [{ title: 'Lane', of: laneText }] : [];
}

/** The titles of the columns of Rust and of Node. */
export function sideTitles(pairs: readonly HeadToHead[]): readonly [rust: string, node: string] {
  return pairs.some(({ isLane }) => isLane) ? ['Rust', 'Node'] : ['Rust (best)', 'Node (best)'];
}

function laneText({ isBest, isLane, rust, node }: HeadToHead): string {
  const best = isBest ? ['best'] : [];
  const lane = isLane ? [rust.lane === node.lane ? node.lane : `${node.lane} (Rust: ${rust.lane})`] : [];
  return [...best, ...lane].join(': ');
}

/** The comparisons of Rust with Node of a kind, with their cells, all in the direction of the Rust factor. Rates agree with the ratio. */
export function pairsOf(comparisons: readonly Comparison[], kind: 'best' | 'lane', recordOf: RecordOf): Pair[] {
  return comparisons.flatMap((given) => {
    if (given.kind !== kind) return [];
    // A lane of Node stands over its lane of Rust in the records.
    const comparison = kind === 'lane' ? inverse(given) : given;
    const rust = recordOf(comparison.numerator);
    const node = recordOf(comparison.denominator);
    return rust === undefined || node === undefined
      ? []
      : [{ comparison, rust: atRatio(rust, comparison.ratio, node), node }];
  });
}

function inverse(comparison: Comparison): Comparison {
  const { numerator, denominator } = comparison;
  return { ...inverseOf(comparison), numerator: denominator, denominator: numerator };
}

/** The column of CPU factors, if one is known. In a narrow terminal it goes in the order of `goes`. */
export function cpuColumn<Item>(
  items: readonly Item[],
  comparisonOf: (item: Item) => Comparison | undefined,
  goes: number,
): ColumnOf<Item>[] {
  if (items.every((item) => comparisonOf(item)?.cpu === undefined)) return [];
  const textOf = (item: Item): string => {
    const cpu = comparisonOf(item)?.cpu;
    return cpu === undefined ? UNKNOWN : formatFactorInterval(cpu);
  };
  return [{ title: '>CPU factor', of: textOf, goes }];
}

/**
 * The meaning of the factors of some comparisons, and of the mark of comparisons whose wall time and CPU time disagree.
 * `hasCpu`: whether the table has a column of CPU factors. Default: it has.
 */
export function factorNotes(
  comparisons: readonly Comparison[],
  { margin, hasCpu = true }: { readonly margin?: number | undefined; readonly hasCpu?: boolean } = {},
): string[] {
  return [
    ...(comparisons.length === 0 ? [] : [RUST_FACTOR_NOTE]),
    ...(hasCpu && comparisons.some(({ cpu }) => cpu !== undefined) ? [CPU_FACTOR_NOTE] : []),
    ...(hasCpu && comparisons.some((each) => doTimesDisagree(each, margin)) ? [CPU_DISAGREES_NOTE] : []),
  ];
}

/** The mark after the factor of a comparison whose wall time and CPU time disagree. */
export function cpuMark(comparison: Comparison, margin?: number): string {
  return doTimesDisagree(comparison, margin) ? CPU_DISAGREES : '';
}
