import type { HostContext } from '../records/host.js';
import { type CompletedRecord, type Run, type RunRecord, itemsOf } from '../records/record.js';
import { BoundaryError } from '../errors.js';
import { checkOf, parseJson, readResultFile } from '../records/run-file.js';
import { asObject, checkBy, checksBy, requireKnown } from '../records/shape.js';
import { type RatioInterval, ratioOfForks } from '../stats/ratio-interval.js';
import { hardwareDifferences } from './hardware.js';
import { rateRatio, secondsPerItem } from './rate-ratio.js';

/** An upper bound of the time of a cell: of one row, operation, query or call. It holds on the hardware that it was set on. */
export interface TimeBudget {
  /** The purpose of the budget, as the tables show it. */
  readonly name: string;
  /** The id of the cell. */
  readonly cell: string;
  /** The seconds that are wanted. Absent: the maximum. */
  readonly targetSeconds?: number;
  /** The most seconds that are accepted. */
  readonly maximumSeconds: number;
}

/** A bound of the ratio of two cells of a run: the time of one over the time of the other. It holds on any hardware. */
export interface RatioBudget {
  readonly name: string;
  readonly cell: string;
  /** The id of the cell that it is compared with. */
  readonly over: string;
  /** The ratio that is wanted. Absent: the maximum. */
  readonly targetRatio?: number;
  /** The largest ratio that is accepted: 3 allows three times as long, 0.5 demands twice as fast. */
  readonly maximumRatio: number;
}

export type Budget = TimeBudget | RatioBudget;

/** A file of budgets, as described by `schema/budgets.schema.json`. */
export interface Budgets {
  readonly schemaVersion: 1;
  /** The hardware on which the times were set, as `run.json` has it. Absent: they hold on any. */
  readonly host?: HostContext;
  readonly budgets: readonly Budget[];
}

/**
 * How a budget fares. `target`, `kept`: the whole interval is at or below the target, or the maximum. `broken`: it is beyond the
 * maximum. `undecided`: the interval contains the maximum, so that the run is inconclusive. `unmeasured`: a cell has no samples in
 * the run. `other-hardware`: the time was set on other hardware.
 */
export type BudgetVerdict = 'target' | 'kept' | 'broken' | 'undecided' | 'unmeasured' | 'other-hardware';

export interface BudgetOutcome {
  readonly budget: Budget;
  readonly verdict: BudgetVerdict;
  /** The seconds or the ratio that was measured, with its 95% interval. Absent if it was not. */
  readonly measured?: RatioInterval;
  /** Why there is no figure, for `unmeasured`. */
  readonly reason?: string;
}

export interface BudgetCheck {
  readonly outcomes: readonly BudgetOutcome[];
  /** How the run's hardware differs from the hardware on which the times were set. */
  readonly hardwareDifferences: readonly string[];
  /** Whether a budget is broken, or one of its cells was not measured. */
  readonly failed: boolean;
}

const checkVersion = checkBy({ type: 'integer', minimum: 1 });
const checkHost = checkOf('host');
const checkList = checkBy({ type: 'array', minItems: 1, items: { type: 'object' } });
const budgetCheck = checksBy('budgets.schema.json', true);

export function isRatioBudget(budget: Budget): budget is RatioBudget {
  return 'over' in budget;
}

/** Reads a file of budgets. Throws a `BoundaryError` as `readRun` does, and for a field that is not known. */
export async function readBudgets(path: string): Promise<Budgets> {
  const value = parseJson(await readResultFile(path), path);
  const { schemaVersion, host, budgets, ...others } = asObject(value, path);
  checkVersion(schemaVersion, `${path}.schemaVersion`);
  if (schemaVersion !== 1) {
    throw new BoundaryError(
      'BB_RESULT_FILE_VERSION',
      `${path} has schema version ${schemaVersion}; this version reads 1`,
    );
  }
  requireKnown(['$schema', 'schemaVersion', 'host', 'budgets'], others, path);
  if (host !== undefined) checkHost(host, `${path}.host`);
  checkList(budgets, `${path}.budgets`);
  for (const [place, budget] of (budgets as Budget[]).entries()) {
    budgetCheck(isRatioBudget(budget) ? 'ratio' : 'time')(budget, `${path}.budgets[${place}]`);
  }
  return value as Budgets;
}

/** Compares a run with budgets. */
export function checkBudgets({ host, budgets }: Budgets, run: Run): BudgetCheck {
  const differences = host === undefined ? [] : hardwareDifferences(host, run.context.host);
  const byId = new Map(run.records.map((record) => [record.id, record]));
  const outcomes = budgets.map((budget): BudgetOutcome => {
    const cells = isRatioBudget(budget) ? [budget.cell, budget.over] : [budget.cell];
    const reasons = cells.flatMap((id) => unmeasured(id, byId.get(id)) ?? []);
    if (reasons.length > 0) return { budget, verdict: 'unmeasured', reason: reasons.join('; ') };
    const [cell, over] = cells.map((id) => byId.get(id) as CompletedRecord);
    if (!isRatioBudget(budget) && differences.length > 0) return { budget, verdict: 'other-hardware' };
    const measured = isRatioBudget(budget) ? rateRatio(over!, cell!)! : timeOf(cell!);
    return { budget, measured, verdict: verdictOn(budget, measured) };
  });
  const failed = outcomes.some(({ verdict }) => verdict === 'broken' || verdict === 'unmeasured');
  return { outcomes, hardwareDifferences: differences, failed };
}

/** Why a cell has no figure. `undefined` if it has one. */
function unmeasured(id: string, record: RunRecord | undefined): string | undefined {
  if (record === undefined) return `${id} is not in the run`;
  if (record.outcome === 'failed') return `${id} failed: ${record.error.code}: ${record.error.message}`;
  if (record.outcome === 'skipped') return `${id} was skipped: ${record.reason}`;
  return itemsOf(record) === 0 ? `${id} moved no rows` : undefined;
}

/** The seconds of one row of a cell, with their interval. */
function timeOf(record: CompletedRecord): RatioInterval {
  const forks = secondsPerItem({ items: record.queries ?? itemsOf(record), samples: record.samples });
  return ratioOfForks(
    forks,
    forks.map(() => [1]),
  );
}

function verdictOn(budget: Budget, { low, high }: RatioInterval): BudgetVerdict {
  const [maximum, target] = isRatioBudget(budget)
    ? [budget.maximumRatio, budget.targetRatio ?? budget.maximumRatio]
    : [budget.maximumSeconds, budget.targetSeconds ?? budget.maximumSeconds];
  if (high <= target) return 'target';
  if (high <= maximum) return 'kept';
  return low > maximum ? 'broken' : 'undecided';
}
