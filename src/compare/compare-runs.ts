import type { CompletedRecord, Run, RunRecord, Verdict } from '../records/record.js';
import { suggestion } from '../closest-word.js';
import { BoundaryError, invalidArgument } from '../errors.js';
import { type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { hardwareDifferences } from './hardware.js';
import { median } from '../stats/quantile.js';
import { noVerdictOf, rateRatio } from './rate-ratio.js';
import { FORCE, requireSameNetwork, requireSameWork } from './same-work.js';
import { versionDifferences } from './versions.js';

/** The most records of a run, far more than any has. An array of holes may seem to have billions. */
const MOST_RECORDS = 2 ** 24;

/** The fraction of its speed that a cell may lose before it counts as a regression. */
export const DEFAULT_THRESHOLD = 0.05;

export interface CompareOptions {
  /** Whether to compare runs of different hardware, and cells that did different work. */
  readonly force?: boolean;
  /** The fraction of its speed that a cell may lose, from 0 to below 1. Default: `DEFAULT_THRESHOLD`. */
  readonly threshold?: number;
}

const OPTIONS: readonly string[] = ['force', 'threshold'];

/** One cell in both runs: the rows per second of the later run divided by the rows per second of the earlier one. */
export interface CellComparison extends RatioInterval {
  readonly before: CompletedRecord;
  readonly after: CompletedRecord;
  readonly verdict: Verdict;
  /** Whether the whole interval lies below 1 - threshold. */
  readonly regressed: boolean;
  /** Whether the cell may be slower by more than the threshold or not, as far as the runs tell. */
  readonly undecided: boolean;
}

/**
 * How much faster the machine was in the later run, as far as cells that nobody changed can tell. Each part is absent if it is not
 * known.
 */
export interface Control {
  /** The movement of the small loop that a run times before its first sample. */
  readonly loop?: number;
  /** The median movement of all cells. */
  readonly cells?: number;
}

/** The comparison of two runs, cell by cell. */
export interface RunComparison {
  readonly threshold: number;
  /** The change of the machine between the two runs. A cell is slower, or faster, only beyond this change. */
  readonly control: Control;
  /** The differences between the hosts. Empty unless the comparison was forced. */
  readonly hardwareDifferences: readonly string[];
  /** The software of which the runs had different versions, one phrase each. */
  readonly versionDifferences: readonly string[];
  readonly cells: readonly CellComparison[];
  /** Cells that completed in the earlier run and failed in the later one. */
  readonly broken: readonly RunRecord[];
  /** Cells in both runs that could not be compared, since one failed, was skipped or moved no rows. */
  readonly incomparable: readonly RunRecord[];
  readonly onlyBefore: readonly RunRecord[];
  readonly onlyAfter: readonly RunRecord[];
  /** Whether any cell regressed or broke. */
  readonly regressed: boolean;
}

/**
 * Compares two runs cell by cell, by id, with `before` as the baseline. Throws a `BoundaryError` with the code
 * `BB_INVALID_ARGUMENT` for what is no run, and for a threshold outside 0 to 1. Unless `force` is set, its code is
 * `BB_COMPARE_DIFFERENT_HARDWARE` if the hosts differ, or a code of `requireSameNetwork` or `requireSameWork` if the work differs.
 *
 * @example
 * ```js
 * import { compareRuns, readRun } from 'boundary-bench/bench';
 *
 * const before = await readRun('before/run.json');
 * const after = await readRun('after/run.json');
 * console.log(compareRuns(before, after).regressed); // false
 * ```
 */
export function compareRuns(before: Run, after: Run, options: CompareOptions = {}): RunComparison {
  try {
    return compared(before, after, options);
  } catch (cause) {
    if (cause instanceof BoundaryError) throw cause;
    throw invalidArgument('compareRuns takes two runs, as readRun returns them, and an object of options', { cause });
  }
}

function compared(before: Run, after: Run, options: CompareOptions): RunComparison {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw invalidArgument(`there is no option '${unknown}'${suggestion(unknown, OPTIONS)}`);
  }
  const threshold = options.threshold ?? DEFAULT_THRESHOLD;
  if (!(threshold >= 0 && threshold < 1)) {
    throw invalidArgument(`a threshold lies from 0 to below 1, not at ${String(threshold)}`);
  }
  if ([before, after].some(({ records }) => records.length > MOST_RECORDS)) {
    throw invalidArgument(`a run has ${MOST_RECORDS} records at most`);
  }
  const differences = hardwareDifferences(before.context.host, after.context.host);
  if (differences.length > 0 && options.force !== true) {
    throw new BoundaryError(
      'BB_COMPARE_DIFFERENT_HARDWARE',
      `the runs are from different hardware, so their times can't be compared (${differences.join('; ')})`,
      { hint: FORCE },
    );
  }

  const earlier = new Map(before.records.map((record) => [record.id, record]));
  const later = new Map(after.records.map((record) => [record.id, record]));
  const pairs: Compared[] = [];
  const broken: RunRecord[] = [];
  const incomparable: RunRecord[] = [];
  for (const a of earlier.values()) {
    const b = later.get(a.id);
    if (b === undefined) continue;
    const pair = comparePair(a, b);
    if (pair !== undefined) pairs.push(pair);
    else if (a.outcome === 'completed' && b.outcome === 'failed') broken.push(b);
    else incomparable.push(b);
  }
  if (![...earlier.keys()].some((id) => later.has(id))) throw nothingInCommon();
  const control = controlOf(before, after, pairs);
  const cells = pairs.map((pair) => judged(pair, threshold, control));
  if (options.force !== true) {
    requireSameNetwork(before.context, after.context, cells);
    requireSameWork(cells);
  }
  return {
    threshold,
    control,
    hardwareDifferences: differences,
    versionDifferences: versionDifferences(before.context.versions, after.context.versions),
    cells,
    broken,
    incomparable,
    onlyBefore: [...earlier.values()].filter((record) => !later.has(record.id)),
    onlyAfter: [...later.values()].filter((record) => !earlier.has(record.id)),
    regressed: broken.length > 0 || cells.some((cell) => cell.regressed),
  };
}

/** The error of runs that say nothing about each other. A check of regressions must not pass them. */
function nothingInCommon(): BoundaryError {
  return new BoundaryError('BB_COMPARE_NOTHING', 'the runs have no cell in common', {
    hint: 'Measure the same family, engines, workloads and lanes in both.',
  });
}

type Compared = Omit<CellComparison, 'verdict' | 'regressed' | 'undecided'>;

function comparePair(before: RunRecord, after: RunRecord): Compared | undefined {
  if (before.outcome !== 'completed' || after.outcome !== 'completed') return undefined;
  const interval = rateRatio(after, before, { isApart: true });
  return interval && { before, after, ...interval };
}

/** The fewest cells whose median movement says more of the machine than of one of them. */
const FEWEST_FOR_CONTROL = 3;

function controlOf(before: Run, after: Run, pairs: readonly Compared[]): Control {
  const [earlier, later] = [before.context.loopSeconds, after.context.loopSeconds];
  return {
    ...(earlier !== undefined && later !== undefined && { loop: earlier / later }),
    ...(pairs.length >= FEWEST_FOR_CONTROL && { cells: median(pairs.map(({ ratio }) => ratio)) }),
  };
}

/**
 * A pair with its verdict. Runs of two times differ by what the machine did, too. So a cell is slower only if its interval is below
 * the movement of the controls, and faster only if it is above.
 */
function judged(pair: Compared, threshold: number, { loop = 1, cells = 1 }: Control): CellComparison {
  const { before, after, low, high } = pair;
  const [least, most] = [Math.min(1, loop, cells), Math.max(1, loop, cells)];
  const isDecided = noVerdictOf({ numerator: after, denominator: before }) === undefined;
  const verdict = isDecided ? verdictOf(pair, threshold) : 'inconclusive';
  const isBeyond = verdict === 'slower' ? high < least : verdict !== 'faster' || low > most;
  const limit = least * (1 - threshold);
  const regressed = verdict === 'slower' && high < limit;
  const shown = isBeyond ? verdict : 'inconclusive';
  return { ...pair, verdict: shown, regressed, undecided: !regressed && isUndecided(shown, low, limit) };
}

/** Whether what is no regression may still be slower than the limit: it is inconclusive, or slower with an interval around the limit. */
export function isUndecided(verdict: Verdict, low: number, limit: number): boolean {
  return verdict === 'inconclusive' || (verdict === 'slower' && low < limit);
}
