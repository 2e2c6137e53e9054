/** The best way from Node as a run's comparisons have it. Tables and advice share it. */
import type { CompletedRecord, Comparison, Run } from '../records/record.js';
import { contestOf, fastestOf } from './cell-groups.js';
import { contested, isNodeSide } from './comparisons.js';
import type { Judge } from './judge.js';

/** The addon over the other clients, each at its best. */
export interface AddonOverJavaScript {
  readonly addon: CompletedRecord;
  readonly javaScript: CompletedRecord;
  readonly judged: NonNullable<ReturnType<Judge>>;
  /** As in `Comparison`. */
  readonly forks?: number;
}

/**
 * Compares the addon with the other clients, with the sizes of batches that both have. Other sizes show what batching gains. The
 * best of each are chosen and estimated as in a run's comparisons. `undefined` if only one of the two is there.
 */
export function addonOverJavaScript(cells: readonly CompletedRecord[], judge: Judge): AddonOverJavaScript | undefined {
  const ofSide = (side: string): CompletedRecord[] => cells.filter((cell) => cell.side === side);
  const [addon, javaScript] = [ofSide('napi'), ofSide('js')];
  const sharing = (some: CompletedRecord[], others: CompletedRecord[]): CompletedRecord[] =>
    some.filter(({ batch }) => others.some((other) => other.batch === batch));
  const [ours, theirs] = [sharing(addon, javaScript), sharing(javaScript, addon)];
  if (ours.length === 0 || theirs.length === 0) return undefined;
  const { numerator, denominator, forks } = contested(ours, theirs);
  const judged = judge(numerator, denominator);
  const whole = ({ id }: CompletedRecord): CompletedRecord => cells.find((cell) => cell.id === id)!;
  return (
    judged && {
      addon: whole(numerator),
      javaScript: whole(denominator),
      judged,
      ...(forks === undefined ? {} : { forks }),
    }
  );
}

/** The run's comparison of the best of Rust with the best of Node in the contest of these cells. */
export function bestComparisonOf(
  { comparisons }: Pick<Run, 'comparisons'>,
  cells: readonly CompletedRecord[],
): Comparison | undefined {
  return comparisons.find(({ kind, denominator }) => kind === 'best' && cells.some(({ id }) => id === denominator));
}

/**
 * The best of the Node cells of one contest: the cell that the run compares with Rust, unless the fastest has a size of batches
 * that Rust has not. Without such a comparison, it is the fastest. `undefined` if Node has no cell.
 */
export function bestFromNode(run: Run, contest: readonly CompletedRecord[]): CompletedRecord | undefined {
  const node = contest.filter(({ side }) => isNodeSide(side));
  const fastest = fastestOf(node);
  const chosen = bestComparisonOf(run, node);
  if (fastest === undefined || chosen === undefined) return fastest;
  const isCompared = run.records.some(
    (record) =>
      record.outcome === 'completed' &&
      record.side === 'rust' &&
      record.batch === fastest.batch &&
      contestOf(record) === contestOf(fastest),
  );
  return isCompared ? node.find(({ id }) => id === chosen.denominator) : fastest;
}
