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

/** A request, and what it runs with. */
export interface RunOptions extends RunRequest {
  readonly families: readonly Family[];
  /** Where the result files go; default `results/runs/<UTC time>`. */
  readonly directory?: string | undefined;
  /**
   * Go on with the run in `directory`: cells that completed or were skipped are kept, cells that failed are tried again,
   * and what the request leaves out is as the run was started.
   */
  readonly resume?: boolean | undefined;
  /** What the native addon says of itself; absent where it is not built. */
  readonly build?: NativeBuild | undefined;
  /** Ends the run early: what is done is written, a cell that was under way is not recorded. */
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: RunListener | undefined;
  /** Default: `nodeResources`. */
  readonly resources?: ResourceReader | undefined;
  /** Default: the collector that `--expose-gc` exposes; without one, garbage is collected when it pleases V8. */
  readonly collectGarbage?: CollectGarbage | undefined;
}

export interface RunResult {
  readonly run: Run;
  /** Holds `run.jsonl`, `run.json` and `run.md`. */
  readonly directory: string;
  readonly aborted: boolean;
  /** The ids of the cells without a record, which only an aborted run has. */
  readonly unmeasured: readonly string[];
}

/**
 * Measures the cells that the request asks for, family by family and group by group, and writes each record as soon as
 * it is complete. A cell that fails is recorded as such and stops no other. Throws a `BoundaryError`
 * before anything is measured where the request makes no sense or can't be resumed.
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
  /** The context as this process sees it, before the families told their versions. */
  readonly ownContext: RunContext;
  readonly plans: readonly FamilyPlan[];
  /** The cells of all plans. */
  readonly planned: readonly PlannedCell[];
  readonly policy: SamplingPolicy;
  /** Ids of the cells that need no measuring, or have been measured. */
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

/** What was measured counts, whatever goes wrong after it. */
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
    // Only cells that an abort cut short are still open, and they are not recorded.
    await Promise.allSettled(measurements.map((measurement) => measurement.close()));
  }
}

/** A cell that its server or engine says it can't serve is left out; any other that can't be opened has failed. */
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
  // In the order of the matrix, not in that in which the cells happened to finish.
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
