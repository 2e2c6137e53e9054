import type { CompletedRecord, Run, Verdict } from '../records/record.js';
import { BoundaryError } from '../errors.js';
import { type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { completedOf, groupBy } from './cell-groups.js';
import { hardwareDifferences } from './hardware.js';
import { noVerdictOf, rateRatio } from './rate-ratio.js';
import { requireSameNetwork, requireSameWork } from './same-work.js';

/** A run with the name that it has in messages and tables. */
export interface NamedRun {
  readonly name: string;
  readonly run: Run;
}

/** A cell in one run: its rows per second divided by its rows per second in the first run that has it. */
export interface CellStep extends RatioInterval {
  /** The place of the run in the history. */
  readonly at: number;
  readonly record: CompletedRecord;
  readonly verdict: Verdict;
}

/** A cell that completed in two runs or more. */
export interface CellHistory {
  readonly id: string;
  /** Its record in the first run that has it. The steps are compared with this record. */
  readonly first: CompletedRecord;
  /** The later runs that have it, in their order. */
  readonly steps: readonly CellStep[];
}

export interface RunHistory {
  /** The runs in the order of their starts. */
  readonly runs: readonly NamedRun[];
  /** The differences of the hosts from the host of the first run. Empty unless the history was forced. */
  readonly hardwareDifferences: readonly string[];
  readonly cells: readonly CellHistory[];
}

/**
 * The cells of many runs over time. Throws a `BoundaryError`: `BB_COMPARE_ONE_RUN` for fewer than two runs. Unless `force` is set,
 * it also throws `BB_COMPARE_DIFFERENT_HARDWARE` if the hosts differ, and the errors of `requireSameNetwork` and `requireSameWork`
 * if the work differs.
 */
export function historyOf(
  given: readonly NamedRun[],
  { force = false }: { readonly force?: boolean } = {},
): RunHistory {
  if (given.length < 2) throw new BoundaryError('BB_COMPARE_ONE_RUN', 'a history needs two runs or more');
  const runs = given.toSorted((a, b) => a.run.context.startedAt.localeCompare(b.run.context.startedAt));
  const [first, ...later] = runs as [NamedRun, ...NamedRun[]];
  const differences = later.flatMap(({ name, run }) =>
    hardwareDifferences(first.run.context.host, run.context.host).map((difference) => `${name}: ${difference}`),
  );
  if (differences.length > 0 && !force) {
    throw new BoundaryError(
      'BB_COMPARE_DIFFERENT_HARDWARE',
      `the runs are from other hardware than ${first.name}, so their times can't be compared (${differences.join('; ')})`,
      { hint: 'Leave those runs out, or add --force.' },
    );
  }
  const cells = cellsOf(runs);
  if (!force) requireOneWork(runs, cells);
  return { runs, hardwareDifferences: differences, cells };
}

/** Throws, with the name of the run, if a cell did other work than in the first run that has it. */
function requireOneWork(runs: readonly NamedRun[], cells: readonly CellHistory[]): void {
  const ofRecord = new Map(runs.flatMap(({ run }) => run.records.map((record) => [record, run.context] as const)));
  for (const [at, { name, run }] of runs.entries()) {
    const pairs = cells.flatMap(({ first: before, steps }) =>
      steps.filter((step) => step.at === at).map(({ record: after }) => ({ before, after })),
    );
    try {
      requireSameWork(pairs);
      for (const pair of pairs) requireSameNetwork(ofRecord.get(pair.before)!, run.context, [pair]);
    } catch (thrown) {
      const { code, message, hint } = thrown as BoundaryError;
      throw new BoundaryError(code, `${name}: ${message}`, {
        hint: `Leave that run out. ${hint}`,
        cause: thrown,
      });
    }
  }
}

function cellsOf(runs: readonly NamedRun[]): CellHistory[] {
  const entries = runs.flatMap(({ run }, at) => completedOf(run.records).map((record) => ({ at, record })));
  return groupBy(entries, ({ record }) => record.id).flatMap(([first, ...later]) => {
    if (first === undefined) return [];
    const steps = later.flatMap(({ at, record }): CellStep[] => {
      const interval = rateRatio(record, first.record, { isApart: true });
      if (interval === undefined) return [];
      const noVerdict = noVerdictOf({ numerator: record, denominator: first.record });
      return [{ at, record, ...interval, verdict: noVerdict === undefined ? verdictOf(interval) : 'inconclusive' }];
    });
    return steps.length === 0 ? [] : [{ id: first.record.id, first: first.record, steps }];
  });
}
