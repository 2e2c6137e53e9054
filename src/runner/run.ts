import { groupBy } from '../compare/cell-groups.js';
import { comparisonsOf } from '../compare/comparisons.js';
import { type Run, type RunContext, type RunRecord, SCHEMA_VERSION } from '../records/record.js';
import { type NativeBuild, runContext } from '../host/provenance.js';
import type { Family, OpenFamily, PlannedCell } from '../families/workload.js';
import { UNSUPPORTED, toBoundaryError } from '../errors.js';
import { CellMeasurement, type Instruments, failedRecord } from './cell-measurement.js';
import type { RunListener } from './events.js';
import { type CollectGarbage, exposedCollector } from '../collect-garbage.js';
import { GarbageBetween } from './garbage-collection.js';
import { type FamilyPlan, planRun } from './plan.js';
import { type ResourceReader, nodeResources } from './resources.js';
import { requireSameHost, withVersions } from './resume.js';
import { type RunRequest, knownOptions, publicConfig, resumeRequest } from './run-config.js';
import { RunDirectory, defaultDirectory } from './run-directory.js';
import { type SamplingPolicy, measureInterleaved, samplingPolicy } from './schedule.js';

/** A request, with the services and places of the run. */
export interface RunOptions extends RunRequest {
  readonly families: readonly Family[];
  /** The directory of the result files. Default: `results/runs/<UTC time>`. */
  readonly directory?: string | undefined;
  /**
   * Whether to resume the run in `directory`: cells that completed or were skipped are kept, cells that failed are tried again,
   * and options that the request leaves out are as at the start of the run.
   */
  readonly resume?: boolean | undefined;
  /** The build information of the native addon; absent if it is not built. */
  readonly build?: NativeBuild | undefined;
  /** Aborting it ends the run early: completed records are written, a cell that is under way is not recorded. */
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: RunListener | undefined;
  /** The reader of CPU and memory figures. Default: `nodeResources`. */
  readonly resources?: ResourceReader | undefined;
  /** The garbage collector. Default: the one that `--expose-gc` exposes; without it, V8 decides when to collect. */
  readonly collectGarbage?: CollectGarbage | undefined;
}

export interface RunResult {
  readonly run: Run;
  /** The directory with `run.jsonl`, `run.json` and `run.md`. */
  readonly directory: string;
  readonly aborted: boolean;
  /** The ids of cells without a record; only an aborted run has such cells. */
  readonly unmeasured: readonly string[];
}

/**
 * Measures the requested cells, family by family and group by group, and writes each record as soon as it is complete. A cell
 * that fails is recorded as failed and does not stop the others. Throws a `BoundaryError` before anything is measured if the
 * request is invalid or can't be resumed.
 */
export async function run(options: RunOptions): Promise<RunResult> {
  const session = await startSession(options);
  const { directory, plans, planned, emit, signal } = session;
  try {
    emit({
      type: 'run-started',
      directory: directory.path,
      totalCells: planned.length,
      resumedCells: planned.filter((cell) => isDone(session, cell)).length,
    });
    for (const plan of plans) {
      if (!signal.aborted) await measureFamily(session, plan);
    }
    const result = await writeResults(session);
    emit({ type: 'run-finished', aborted: result.aborted, unmeasuredCells: result.unmeasured.length });
    return result;
  } finally {
    await directory.close();
  }
}

interface Session extends Instruments {
  readonly directory: RunDirectory;
  /** The context of this process, without the versions of the families. */
  readonly ownContext: RunContext;
  readonly plans: readonly FamilyPlan[];
  /** The cells of all plans. */
  readonly planned: readonly PlannedCell[];
  readonly policy: SamplingPolicy;
  /** The ids of cells that need no measuring, or have been measured. */
  readonly done: Set<string>;
}

async function startSession(options: RunOptions): Promise<Session> {
  const startedAt = new Date();
  const path = options.directory ?? defaultDirectory(startedAt);
  const resumed = options.resume ? await RunDirectory.resume(path) : undefined;
  const known = knownOptions(options.families);
  const request = resumed === undefined ? options : resumeRequest(options, resumed.context.config, known);
  const { config, plans } = planRun(options.families, request);
  const context = await runContext({ startedAt, config: publicConfig(config, known), build: options.build });
  if (resumed !== undefined) requireSameHost(resumed.context, context);
  const directory = resumed ?? (await RunDirectory.create(path, context));
  const collectGarbage = options.collectGarbage ?? exposedCollector();
  const kept = [...directory.records.values()].filter(({ outcome }) => outcome !== 'failed');
  return {
    directory,
    ownContext: context,
    plans,
    planned: plans.flatMap(({ cells }) => cells),
    policy: samplingPolicy(config.samples, config.timeBudgetSeconds),
    done: new Set(kept.map(({ id }) => id)),
    resources: options.resources ?? nodeResources,
    garbage: collectGarbage && new GarbageBetween(collectGarbage),
    signal: options.signal ?? new AbortController().signal,
    emit: options.onEvent ?? (() => {}),
  };
}

async function measureFamily(session: Session, { family, options, cells }: FamilyPlan): Promise<void> {
  for (const planned of cells) {
    if (planned.skip !== undefined && !isDone(session, planned)) {
      await deliver(session, { ...planned.cell, outcome: 'skipped', reason: planned.skip });
    }
  }
  const left = cells.filter((planned) => !isDone(session, planned));
  if (left.length === 0) return;
  session.emit({ type: 'family-opening', family: family.name });
  let open: OpenFamily;
  try {
    open = await family.open(options, left);
  } catch (error) {
    return failAll(session, left, error);
  }
  try {
    let versions: Readonly<Record<string, string>>;
    let networks: RunContext['networks'];
    try {
      versions = await open.versions();
      networks = await open.networks?.();
    } catch (error) {
      return await failAll(session, left, error);
    }
    const { directory, ownContext } = session;
    await directory.setContext(withNetworks(withVersions(directory.context, versions, ownContext), networks));
    for (const group of groupBy(left, (planned) => planned.group)) {
      if (!session.signal.aborted) await measureGroup(session, open, group);
    }
  } finally {
    await closeFamily(session, family, open);
  }
}

function withNetworks(context: RunContext, networks: RunContext['networks'] = {}): RunContext {
  if (Object.keys(networks).length === 0) return context;
  return { ...context, networks: { ...context.networks, ...networks } };
}

/** Closes a family. An error is only a warning, since the records are already complete. */
async function closeFamily({ emit }: Session, family: Family, open: OpenFamily): Promise<void> {
  try {
    await open.close();
  } catch (error) {
    const { code, message } = toBoundaryError(error);
    emit({ type: 'warning', message: `closing the family ${family.name} failed: ${code}: ${message}` });
  }
}

async function measureGroup(session: Session, family: OpenFamily, group: readonly PlannedCell[]): Promise<void> {
  const measurements: CellMeasurement[] = [];
  try {
    for (const planned of group) {
      if (session.signal.aborted) return;
      session.emit({ type: 'cell-opening', cell: planned.cell });
      try {
        const open = await family.openCell(planned);
        measurements.push(new CellMeasurement(planned, open, session, (record) => deliver(session, record)));
      } catch (error) {
        if (!session.signal.aborted) await deliver(session, unopenedRecord(planned, error));
      }
    }
    await measureInterleaved(measurements, session.policy, session.signal);
  } finally {
    // Only cells that an abort interrupted are still open; they are not recorded.
    await Promise.allSettled(measurements.map((measurement) => measurement.close()));
  }
}

/** The record of a cell that can't be opened: skipped if its server or engine does not support it, else failed. */
function unopenedRecord(planned: PlannedCell, error: unknown): RunRecord {
  const { code, message } = toBoundaryError(error);
  return code === UNSUPPORTED ? { ...planned.cell, outcome: 'skipped', reason: message } : failedRecord(planned, error);
}

async function failAll(session: Session, cells: readonly PlannedCell[], error: unknown): Promise<void> {
  if (session.signal.aborted) return;
  for (const planned of cells) await deliver(session, failedRecord(planned, error));
}

async function deliver({ directory, done, planned, emit }: Session, record: RunRecord): Promise<void> {
  await directory.append(record);
  done.add(record.id);
  const doneCells = planned.filter(({ cell }) => done.has(cell.id)).length;
  emit({ type: 'record', record, doneCells, totalCells: planned.length });
}

async function writeResults({ directory, planned, signal }: Session): Promise<RunResult> {
  const rustLanes = new Map(planned.map(({ cell, rustLane }) => [cell.id, rustLane]));
  // In the order of the matrix, not in the order in which the cells finished.
  const records = planned.flatMap(({ cell }) => directory.records.get(cell.id) ?? []);
  const run: Run = {
    schemaVersion: SCHEMA_VERSION,
    context: directory.context,
    records,
    comparisons: comparisonsOf(records, (id) => rustLanes.get(id)),
  };
  await directory.writeResults(run);
  const unmeasured = planned.filter(({ cell }) => !directory.records.has(cell.id)).map(({ cell }) => cell.id);
  return { run, directory: directory.path, aborted: signal.aborted, unmeasured };
}

function isDone({ done }: Session, { cell }: PlannedCell): boolean {
  return done.has(cell.id);
}
