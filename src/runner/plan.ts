import type { Family, FamilyOptions, PlannedCell } from '../workloads/workload.js';
import { type CellFilters, filterCells, unknownWord, valuesNamedBy } from './filters.js';
import type { RunConfig } from './run-config.js';

/** The cells of one family that a run measures, and what the family is opened with. */
export interface FamilyPlan {
  readonly family: Family;
  readonly options: FamilyOptions;
  readonly cells: readonly PlannedCell[];
}

/**
 * The families that `filters` name; all of them where none is named. Throws a `BoundaryError` with the code
 * `BB_FILTER_UNKNOWN` for a name there is not.
 */
export function chooseFamilies(families: readonly Family[], filters: CellFilters): Family[] {
  const words = filters.family ?? [];
  if (words.length === 0) return [...families];
  const names = valuesNamedBy(
    words,
    families.map(({ name }) => name),
    'family',
  );
  return families.filter(({ name }) => names.has(name));
}

/**
 * The matrix of the chosen families, filtered. Throws what `filterCells` throws, and `BB_FILTER_UNKNOWN` for a URI of an
 * engine that no cell runs on.
 */
export function planRun(families: readonly Family[], config: RunConfig): FamilyPlan[] {
  const plans = families.map((family) => expand(family, config));
  const all = plans.flatMap(({ cells }) => cells);
  const engines = [...new Set(all.map(({ cell }) => cell.engine))];
  for (const name of Object.keys(config.engines)) {
    if (!engines.includes(name)) throw unknownWord(name, engines, 'engine');
  }
  const chosen = new Set(filterCells(all, config.filters));
  return plans
    .map((plan) => ({ ...plan, cells: plan.cells.filter((cell) => chosen.has(cell)) }))
    .filter(({ cells }) => cells.length > 0);
}

/** A family plans for one number of workers beside one, so it is asked once for each, and the cells in common kept once. */
function expand(family: Family, config: RunConfig): FamilyPlan {
  const optionsFor = (workers: number): FamilyOptions => ({
    rows: config.rows[family.name] ?? family.defaultRows,
    workers,
    engines: config.engines,
    peers: config.peers ?? false,
  });
  const cells = new Map<string, PlannedCell>();
  for (const workers of config.workers) {
    for (const planned of family.plan(optionsFor(workers))) {
      // A cell without workers is the work of one.
      if (config.workers.includes(planned.cell.workers ?? 1)) cells.set(planned.cell.id, planned);
    }
  }
  return { family, options: optionsFor(Math.max(...config.workers)), cells: [...cells.values()] };
}
