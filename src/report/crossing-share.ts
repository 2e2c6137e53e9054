/**
 * The part of a cell's time that goes to crossing and to JavaScript, as far as a run can tell: the time of the addon
 * beyond its lane in Rust on the same engine. It is a difference of two cells, and not measured within one. It includes
 * the time in which JavaScript makes the engine wait.
 */
import { isRequestWork, recordsById } from '../compare/cell-groups.js';
import { type CompletedRecord, type Run, itemsOf } from '../records/record.js';
import { pairsOf } from './head-to-head.js';
import { formatPercent } from './format.js';

/** A part of a cell's elapsed time, with its 95% interval. */
export interface CrossingShare {
  readonly part: number;
  readonly low: number;
  readonly high: number;
  /** Whether the interval contains 0 and goes beyond the margin: the run is inconclusive about such a part. */
  readonly isOpen: boolean;
  /** The cell of Rust that it is beyond. */
  readonly rust: CompletedRecord;
}

/** The share of a cell. `undefined` if it has none: Rust is no faster, or nothing is comparable. */
export type CrossingShareOf = (record: CompletedRecord) => CrossingShare | undefined;

export const CROSSING_NOTE =
  "Crossing and JavaScript: the part of the addon's time beyond the time of its lane in Rust on the same " +
  'engine, with its interval. It is the difference of two cells, and includes the time in which JavaScript ' +
  'makes the engine wait. Inconclusive: this run cannot tell whether there is such a part.';

/** Finds the shares by the lane comparisons of a run. Requests have none: with several under way, the time of one is not its cost. */
export function crossingShareOf(run: Run): CrossingShareOf {
  const shares = new Map<string, CrossingShare>();
  for (const { comparison, rust, node } of pairsOf(run.comparisons, 'lane', recordsById(run.records))) {
    const isSamePlace = node.side === 'napi' && node.engine === rust.engine && node.runtime === rust.runtime;
    if (!isSamePlace || itemsOf(node) !== itemsOf(rust) || isRequestWork(node)) continue;
    const { verdict, ratio, low, high } = comparison;
    if (verdict !== 'faster' && verdict !== 'inconclusive') continue;
    const beyond = (rustFactor: number): number => 1 - 1 / rustFactor;
    shares.set(node.id, {
      part: beyond(ratio),
      low: beyond(low),
      high: beyond(high),
      isOpen: verdict === 'inconclusive',
      rust,
    });
  }
  return ({ id }) => shares.get(id);
}

/** A share as a percentage with its interval, `38% (30%–45%)`, after the word `inconclusive` if it is that. */
export function crossingText({ part, low, high, isOpen }: CrossingShare): string {
  return `${isOpen ? 'inconclusive ' : ''}${formatPercent(part)} (${formatPercent(low)}–${formatPercent(high)})`;
}
