import { availableParallelism } from 'node:os';

import type { AskedBy, Family, FamilyOptions, PlannedCell } from '../families/workload.js';
import { BoundaryError } from '../errors.js';
import { flatten } from '../families/option.js';
import { findRuntime } from '../host/runtimes.js';
import { groupBy, placeAndWorkOf } from '../compare/cell-groups.js';
import type { Cell } from '../records/record.js';
import { LOOKS } from '../stats/looks.js';
import { sumOf } from '../stats/sum.js';
import { type FilterName, filterCells, unknownWord, valuesNamedBy, wordsAreKnown } from './filters.js';
import { type RunConfig, type RunRequest, configOf, knownOptions } from './run-config.js';
import { typicalSeconds } from './sampling.js';

/** The cells of one family that a run measures, and the options with which the family is opened. */
export interface FamilyPlan {
  readonly family: Family;
  readonly options: FamilyOptions;
  readonly cells: readonly PlannedCell[];
  /** The connections that all cells together may hold open, by the engine whose server tells it. */
  readonly mostConnections?: Readonly<Record<string, number>>;
}

/** The plan of a run. */
export interface RunPlan {
  readonly config: RunConfig;
  readonly plans: readonly FamilyPlan[];
}

/**
 * The matrix of the families that the request names, filtered. If it names none, families that are measured only by name are left
 * out, unless a filter word matches nothing in the others. `given` is the part of the request that the user gave. Throws the errors
 * of `configOf` and `filterCells`, and:
 *
 * - `BB_FILTER_UNKNOWN` for an unknown family, or the URI of an engine on which no cell runs.
 * - `BB_USAGE` for a word that names a workload of a family that is measured only by name, and is the first part of another's name.
 * - `BB_USAGE` for a part of `given` that changes nothing: an option of families that are not measured, or the URI of an engine that
 *   is not.
 */
export function planRun(families: readonly Family[], request: RunRequest, given = request): RunPlan {
  const plan = planOfAll(families, request);
  requireTakers(families, plan, given);
  requireEngines(families, plan, given);
  return plan;
}

function planOfAll(families: readonly Family[], request: RunRequest): RunPlan {
  const known = knownOptions(families);
  const planOf = (chosen: readonly Family[]): RunPlan => {
    const config = configOf(request, chosen, known);
    return { config, plans: chosen.map((family) => onRuntimes(expand(family, config), config)) };
  };
  const named = familiesNamed(families, request.filters?.family ?? []);
  if (named !== undefined) return filterPlan(planOf(named));
  const usual = planOf(families.filter(({ onlyIfNamed }) => onlyIfNamed !== true));
  const cells = usual.plans.flatMap((plan) => plan.cells);
  if (cells.length > 0 && wordsAreKnown(cells, usual.config.filters)) return filterPlan(usual);
  const wider = filterPlan(planOf(families));
  requireClearWords(usual, wider);
  return wider;
}

/** Throws if a word names a workload of families that are measured only by name, and is the first part of a usual workload's name. */
function requireClearWords(usual: RunPlan, { config, plans }: RunPlan): void {
  const workloads = usual.plans.flatMap(({ cells }) => cells.map(({ cell }) => cell.workload));
  for (const word of config.filters.workload ?? []) {
    const longer = workloads.find((workload) => workload.startsWith(`${word}.`));
    const other = plans.find(({ cells }) => cells.some(({ cell }) => cell.workload === word));
    if (longer === undefined || other === undefined) continue;
    throw new BoundaryError(
      'BB_USAGE',
      `--workload ${word} may mean ${longer}, or ${word} of the ${other.family.name} family`,
      {
        hint: `Name one: --workload ${longer}, or --family ${other.family.name} --workload ${word}.`,
      },
    );
  }
}

/** Throws for an option that only other families take than those that are measured: it would change nothing. */
function requireTakers(families: readonly Family[], { plans }: RunPlan, given: RunRequest): void {
  const general = knownOptions([]);
  for (const name of Object.keys(flatten(given))) {
    const flag = families.flatMap(({ options }) => options?.[name]?.flag ?? [])[0];
    if (flag === undefined || general[name] !== undefined) continue;
    const takers = families.filter(({ options = {} }) => Object.values(options).some((other) => other.flag === flag));
    if (takers.some((family) => plans.some((plan) => plan.family === family))) continue;
    const names = takers.map((family) => family.name);
    const what = names.length === 1 ? `the family ${names[0]}, which is not` : `${names.join(', ')}, of which none is`;
    throw new BoundaryError('BB_USAGE', `${flag.split(' ')[0]} is an option of ${what} measured here`, {
      hint: `Name what to measure, as by --family ${names[0]}, or leave the option out.`,
    });
  }
}

/** Throws for the URI of an engine on which nothing is measured. */
function requireEngines(families: readonly Family[], { plans, config }: RunPlan, given: RunRequest): void {
  const enginesOf = (some: readonly FamilyPlan[]): string[] => [
    ...new Set(some.flatMap(({ cells }) => cells.map(({ cell }) => cell.engine))),
  ];
  const measured = enginesOf(plans);
  for (const name of Object.keys(given.engines ?? {})) {
    if (measured.includes(name)) continue;
    const known = enginesOf(families.map((family) => expand(family, config)));
    if (!known.includes(name)) throw unknownWord(name, known, 'engine');
    throw new BoundaryError('BB_USAGE', `the engine ${name} has a URI, and nothing is measured on it here`, {
      hint: `Name it, as by --engine ${name}, or leave its URI out.`,
    });
  }
}

/** The families that words name. `undefined` if there are no words. */
function familiesNamed(families: readonly Family[], words: readonly string[]): Family[] | undefined {
  if (words.length === 0) return undefined;
  const names = valuesNamedBy(
    words,
    families.map(({ name }) => name),
    'family',
  );
  return families.filter(({ name }) => names.has(name));
}

function filterPlan({ config, plans }: RunPlan): RunPlan {
  const all = plans.flatMap(({ cells }) => cells);
  const chosen = new Set(usualOf(filterCells(all, config.filters), config));
  return {
    config,
    plans: plans
      .map((plan) => ({ ...plan, cells: plan.cells.filter((cell) => chosen.has(cell)) }))
      .filter(({ cells }) => cells.length > 0),
  };
}

/**
 * The cells that a request asks for, among the cells that its filters leave. Without `all`, a cell that must be asked for by a name
 * is left out unless it is named. If the filters leave no such cell, they have named the others, and these are kept.
 *
 * A quick run keeps some cells of each family, and of each value that the request names: each workload, batch, lane and so on. They are
 * the quick cells or, if there are none, as many as it has time for.
 */
function usualOf(cells: readonly PlannedCell[], config: RunConfig): readonly PlannedCell[] {
  if (config.all === true) return cells;
  const usual = cells.filter(({ cell, askedBy = [] }) => askedBy.every((what) => isNamed(what, cell, config)));
  if (usual.length === 0) return cells;
  if (config.quick !== true) return usual;
  const marked = usual.filter(({ isQuick }) => isQuick === true);
  const have = new Set(marked.flatMap(({ cell }) => [namedOf(cell, config), cell.family]));
  const others = usual.filter(({ cell }) => !have.has(namedOf(cell, config)));
  return [...marked, ...withinAMinute(others, config)];
}

/** The family of a cell, with the values of the cell that the request names: a quick run leaves out none of them. */
function namedOf(cell: Cell, config: RunConfig): string {
  const { filters, runtimes, workers, connections, batch } = config;
  const { family, workload, lane, side } = cell;
  const named = {
    ...(filters.workload && { workload }),
    ...(filters.lane && { lane }),
    ...(filters.side && { side }),
    ...(isNamed('engine', cell, config) && { engine: cell.engine, transport: cell.transport }),
    ...(runtimes && { runtime: cell.runtime }),
    ...(workers && { workers: cell.workers }),
    ...(connections && { connections: cell.connections }),
    ...(batch && { batch: cell.batch }),
  };
  return Object.keys(named).length === 0 ? family : JSON.stringify([family, named]);
}

/** The seconds that the processes of a quick run may take together, typically. */
const QUICK_SECONDS = 60;

/**
 * As many cells as a quick run has time for: contest by contest, one of each workload before the second of any. In each, one cell of
 * each client of a side: the first that is known as its fastest, or else the first. Values that the request names have a contest each,
 * also if that takes longer.
 */
function withinAMinute(cells: readonly PlannedCell[], config: RunConfig): readonly PlannedCell[] {
  const { samples, timeBudgetSeconds } = config;
  const policy = { samples, budgetSeconds: timeBudgetSeconds };
  const secondsOf = (some: readonly PlannedCell[]): number =>
    LOOKS[0]! * sumOf(some.map(({ cell, skip }) => (skip === undefined ? typicalSeconds(policy, cell) : 0)));
  if (secondsOf(cells) <= QUICK_SECONDS) return cells;
  const contests = groupBy(cells, ({ cell }) => placeAndWorkOf(cell)).map((contest) =>
    groupBy(contest, ({ cell, client }) => JSON.stringify([cell.side, client, namedOf(cell, config)])).map(
      (ofClient) => ofClient.find(({ isFastest }) => isFastest === true) ?? ofClient[0]!,
    ),
  );
  const ofWorkloads = groupBy(contests, ([first]) => JSON.stringify([first!.cell.family, first!.cell.workload]));
  const rounds = ofWorkloads.flatMap((all) => all.map((contest, round) => ({ contest, round })));
  const ordered = rounds.toSorted((a, b) => a.round - b.round).map(({ contest }) => contest);
  const seen = new Set<string>();
  const isFirst = (contest: readonly PlannedCell[]): boolean => {
    const fresh = contest.map(({ cell }) => namedOf(cell, config)).filter((named) => !seen.has(named));
    for (const named of fresh) seen.add(named);
    return fresh.length > 0;
  };
  const first = new Set(ordered.filter(isFirst));
  const fitting = [...first].flat();
  for (const contest of ordered) {
    if (!first.has(contest) && secondsOf([...fitting, ...contest]) <= QUICK_SECONDS) fitting.push(...contest);
  }
  return fitting;
}

/** The dimensions of cells in which a quick run may leave something out, with the words for their values. */
const DIMENSIONS: Readonly<Record<string, (planned: PlannedCell) => string | undefined>> = {
  workloads: ({ cell }) => cell.workload,
  lanes: ({ cell }) => cell.lane,
  clients: ({ client }) => client,
  transports: ({ cell }) => cell.transport,
  'numbers of workers': ({ cell }) => cell.workers?.toString(),
  'numbers of connections': ({ cell }) => cell.connections?.toString(),
  batches: ({ cell }) => cell.batch?.toString(),
};

/** The things of which a run measures nothing, though another run does: `lanes naive-row, stream; transports ipc`. */
export function leftOut(all: readonly PlannedCell[], measured: readonly PlannedCell[]): string {
  const parts = Object.entries(DIMENSIONS).flatMap(([what, valueOf]) => {
    const found = new Set(measured.map(valueOf));
    const left = [...new Set(all.flatMap((planned) => valueOf(planned) ?? []))].filter((value) => !found.has(value));
    return left.length === 0 ? [] : [`${what} ${left.join(', ')}`];
  });
  return parts.join('; ');
}

/** Whether the request names what a cell is asked by. Its filters match the cell. */
function isNamed(what: AskedBy, { engine }: Cell, { filters, engines, workers }: RunConfig): boolean {
  const hasWords = (name: FilterName): boolean => (filters[name] ?? []).length > 0;
  switch (what) {
    case 'engine':
      return engines[engine] !== undefined || hasWords('engine') || hasWords('transport');
    case 'workload':
    case 'lane':
      return hasWords(what);
    case 'workers':
      return workers !== undefined;
    case 'all':
      return false;
  }
}

/** The plan of one family. It plans for one number of workers at a time, along with one worker, so cells in common are kept once. */
function expand(family: Family, config: RunConfig): FamilyPlan {
  const optionsFor = (workers: number): FamilyOptions => ({
    ...config,
    rows: config.rows[family.name] ?? family.defaultRows,
    workers,
  });
  const cells = new Map<string, PlannedCell>();
  // Request work has connections instead of workers.
  if (family.hasOperations === true) {
    const options = optionsFor(1);
    return { family, options, cells: family.plan(options) };
  }
  const counts = config.workers ?? [1, availableParallelism()];
  for (const workers of counts) {
    for (const planned of family.plan(optionsFor(workers))) {
      // A cell without workers counts as one worker.
      if (counts.includes(planned.cell.workers ?? 1)) cells.set(planned.cell.id, planned);
    }
  }
  return { family, options: optionsFor(Math.max(...counts)), cells: [...cells.values()] };
}

/** The plan with the cells of the Node sides on each further runtime too, next to themselves. */
function onRuntimes(plan: FamilyPlan, { runtimes = [] }: RunConfig): FamilyPlan {
  // Without a module, no other process can open the family.
  if (runtimes.length === 0 || plan.family.module === undefined) return plan;
  const found = runtimes.map((name) => [name, findRuntime(name)] as const);
  const cells = plan.cells.flatMap((planned) => {
    if (planned.cell.side === 'rust') return [planned];
    const others = found.map(([name, runtime]): PlannedCell => {
      const onIt = (id: string): string => `${id}/${name.replaceAll('/', '_')}`;
      const cell: Cell = { ...planned.cell, id: onIt(planned.cell.id), runtime: name };
      const other = { ...planned, cell, ...(planned.rival !== undefined && { rival: onIt(planned.rival) }) };
      return 'missing' in runtime ? { ...other, skip: planned.skip ?? runtime.missing } : { ...other, runtime };
    });
    return [planned, ...others];
  });
  return { ...plan, cells };
}
