import { groupBy } from '../compare/cell-groups.js';
import { comparisonsOf } from '../compare/comparisons.js';
import { coresOf } from '../compare/server-bound.js';
import { costModelOf } from '../model/cost-model.js';
import { type Run, type RunContext, type RunRecord, SCHEMA_VERSION } from '../records/record.js';
import type { ForkRecord } from '../records/run-log.js';
import { type NativeBuild, runContext } from '../host/provenance.js';
import type { OpenFamily, PlannedCell, Family } from '../families/workload.js';
import { sumOf } from '../stats/sum.js';
import { ratesOf } from '../stats/summary.js';
import { BoundaryError, toBoundaryError } from '../errors.js';
import { completedRecord, isTriedAgain, lostRecord, unmeasuredRecord } from './cell-record.js';
import type { RunListener } from './events.js';
import { type CollectGarbage, exposedCollector } from '../collect-garbage.js';
import { measureInFork } from './fork.js';
import type { ForkResult, ForkStep } from './fork-message.js';
import { GarbageBetween } from './garbage-collection.js';
import { LostServers } from './lost-servers.js';
import { type Instruments, measureFork } from './measure-fork.js';
import { type FamilyPlan, planRun } from './plan.js';
import { type ResourceReader, nodeResources } from './resources.js';
import { requireSameHost, withVersions } from './resume.js';
import { type RunConfig, type RunRequest, knownOptions, publicConfig, resumeRequest } from './run-config.js';
import { RunDirectory } from './run-directory.js';
import { type ForkPolicy, type SamplingPolicy, forksOf, orderOf, typicalSeconds } from './sampling.js';
import type { WebAbortSignal } from '../platform-types.js';

/** A request, with the services and places of the run. */
export interface RunOptions extends RunRequest {
  readonly families: readonly Family[];
  /** The directory of the result files. Default: `results/runs/<UTC time>`. */
  readonly directory?: string | undefined;
  /**
   * Whether to resume the run in `directory`: cells that completed or were skipped are kept, cells that failed, or whose server had
   * ended, are tried again, and options that the request leaves out are as at the start of the run.
   */
  readonly resume?: boolean | undefined;
  /** The build information of the native addon; absent if it is not built. */
  readonly build?: NativeBuild | undefined;
  /** Aborting it ends the run early: completed records are written, a cell that is under way is not recorded. */
  readonly signal?: WebAbortSignal | undefined;
  readonly onEvent?: RunListener | undefined;
  /** The reader of CPU and memory figures of cells that this process measures itself. Default: `nodeResources`. */
  readonly resources?: ResourceReader | undefined;
  /**
   * The garbage collector between samples that this process takes itself. Default: the one that `--expose-gc` exposes; without it,
   * V8 decides when to collect.
   */
  readonly collectGarbage?: CollectGarbage | undefined;
}

/** What a run has measured, and where it is written. */
export interface RunResult {
  readonly run: Run;
  /** The directory with `run.jsonl`, `run.json`, `run.md` and `run.html`. */
  readonly directory: string;
  readonly aborted: boolean;
  /** The ids of cells without a record; only an aborted run has such cells. */
  readonly unmeasured: readonly string[];
}

/**
 * Measures the requested cells, family by family and group by group, each several times in a process of its own, and writes down
 * what each process measured as soon as it has ended. A cell that fails is recorded as failed and does not stop the others. Throws a `BoundaryError` before anything is measured if the
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
      ...workLeft(session),
      ...(session.config.quick === true && options.resume !== true && { full: fullRun(options) }),
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

/** The processes that are still to measure cells, and how long they take, roughly. */
function workLeft(session: Session): { readonly forks: number; readonly seconds: number } {
  const { planned, directory, policy } = session;
  const left = planned.filter((cell) => cell.skip === undefined && !isDone(session, cell));
  const forks = left.map(({ cell }) => {
    const measured = directory.forksOf(cell.id);
    return forksOf(session.forks, measured[0]?.samples) - measured.length;
  });
  const seconds = left.map(({ cell }, index) => forks[index]! * typicalSeconds(policy, cell.rows));
  return { forks: sumOf(forks), seconds: sumOf(seconds) };
}

/** What a quick run would be if it were none. */
function fullRun(options: RunOptions): { readonly cells: number; readonly seconds: number } {
  const { config, plans } = planRun(options.families, { ...options, quick: undefined });
  const policy = { samples: config.samples, budgetSeconds: config.timeBudgetSeconds };
  const cells = plans.flatMap((plan) => plan.cells).filter(({ skip }) => skip === undefined);
  return {
    cells: cells.length,
    seconds: sumOf(cells.map(({ cell }) => config.forks * typicalSeconds(policy, cell.rows))),
  };
}

interface Session extends Omit<Instruments, 'onStep' | 'verify'> {
  readonly directory: RunDirectory;
  /** The context of this process, without the versions of the families. */
  readonly ownContext: RunContext;
  readonly plans: readonly FamilyPlan[];
  /** The cells of all plans. */
  readonly planned: readonly PlannedCell[];
  readonly config: RunConfig;
  readonly policy: SamplingPolicy;
  readonly forks: ForkPolicy;
  readonly emit: RunListener;
  /** The ids of cells that need no measuring, or have been measured. */
  readonly done: Set<string>;
}

async function startSession(options: RunOptions): Promise<Session> {
  if (options.resume !== true) return sessionIn(options, undefined);
  if (options.directory === undefined) {
    throw new BoundaryError('BB_INVALID_ARGUMENT', 'a run to resume needs its directory');
  }
  const resumed = await RunDirectory.resume(options.directory);
  try {
    return await sessionIn(options, resumed);
  } catch (error) {
    await resumed.close();
    throw error;
  }
}

async function sessionIn(options: RunOptions, resumed: RunDirectory | undefined): Promise<Session> {
  const known = knownOptions(options.families);
  const request = resumed === undefined ? options : resumeRequest(options, resumed.context.config, known);
  const { config, plans } = planRun(options.families, request, options);
  const context = await runContext({
    startedAt: new Date(),
    config: publicConfig(config, known),
    build: options.build,
  });
  if (resumed !== undefined) requireSameHost(resumed.context, context);
  const kept = [...(resumed?.records.values() ?? [])].filter((record) => !isTriedAgain(record));
  const done = new Set(kept.map(({ id }) => id));
  await reachServers(plans, done);
  const directory = resumed ?? (await RunDirectory.create(options.directory, context));
  const collectGarbage = config.leaveGarbage === true ? undefined : (options.collectGarbage ?? exposedCollector());
  const each = config.aa === true ? 2 : 1;
  return {
    directory,
    ownContext: context,
    plans,
    planned: plans.flatMap(({ cells }) => cells),
    config,
    // Each cell stands for two, of which every other process is.
    forks: { forks: config.forks * each, slowForks: config.slowForks * each },
    policy: { samples: config.samples, budgetSeconds: config.timeBudgetSeconds },
    done,
    resources: options.resources ?? nodeResources,
    garbage: collectGarbage && new GarbageBetween(collectGarbage),
    signal: options.signal ?? new AbortController().signal,
    emit: options.onEvent ?? (() => {}),
  };
}

/** Reaches the user's servers once. Throws `BB_SERVER_UNUSABLE`, in place of the same failure of each cell. */
async function reachServers(plans: readonly FamilyPlan[], done: ReadonlySet<string>): Promise<void> {
  for (const { family, options, cells } of plans) {
    const left = cells.filter(({ skip, cell }) => skip === undefined && !done.has(cell.id));
    if (left.length === 0) continue;
    try {
      await family.reach?.(options, left);
    } catch (thrown) {
      const cause = toBoundaryError(thrown);
      throw new BoundaryError('BB_SERVER_UNUSABLE', `the family ${family.name} can't be measured: ${cause.message}`, {
        hint: cause.hint ?? 'Nothing was measured. Check the URL, and the password or key that belong to it.',
        cause,
      });
    }
  }
}

async function measureFamily(session: Session, plan: FamilyPlan): Promise<void> {
  const { family, options, cells } = plan;
  for (const planned of cells) {
    if (planned.skip !== undefined && !isDone(session, planned)) {
      await deliver(session, { ...planned.cell, outcome: 'skipped', reason: planned.skip });
    }
  }
  const left = cells.filter((planned) => !isDone(session, planned));
  if (left.length === 0) return;
  session.emit({ type: 'family-opening', family: family.name });
  const lost = new LostServers(plan, session.signal);
  let open: OpenFamily;
  try {
    open = await family.open(options, left);
  } catch (error) {
    return failAll(session, lost, left, error);
  }
  try {
    let versions: Readonly<Record<string, string>>;
    let networks: RunContext['networks'];
    let adaptations: RunContext['adaptations'];
    try {
      versions = await open.versions();
      networks = await open.networks?.();
      adaptations = await open.adaptations?.();
    } catch (error) {
      return await failAll(session, lost, left, error);
    }
    const { directory, ownContext } = session;
    const context = withVersions(directory.context, versions, ownContext);
    await directory.setContext({
      ...context,
      ...joined('networks', context, networks),
      ...joined('adaptations', context, adaptations),
    });
    const measure = measurer(session, plan, open);
    for (const group of groupBy(left, (planned) => planned.group)) {
      if (!session.signal.aborted) await measureGroup(session, lost, measure, group);
    }
  } finally {
    await closeFamily(session, family, open);
  }
}

/** A field of the context with what a family adds to it by engine; nothing if it adds nothing. */
function joined(name: 'networks' | 'adaptations', context: RunContext, added: object = {}): Partial<RunContext> {
  return Object.keys(added).length === 0 ? {} : { [name]: { ...context[name], ...added } };
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

/** Measures a cell once: opens it, warms it up, takes samples, and closes it. */
type Measure = (planned: PlannedCell, onStep: (step: ForkStep) => void, fork: number) => Promise<ForkResult>;

/** Measures in a new process each time if the family names its module, else in this one. */
function measurer(session: Session, { family, options }: FamilyPlan, open: OpenFamily): Measure {
  const { module, name } = family;
  const { policy, signal, config } = session;
  if (module === undefined) {
    return (planned, onStep, fork) => measureFork(open, planned, policy, { ...session, onStep, verify: fork === 1 });
  }
  return async (planned, onStep, fork) => {
    const shared = { ...options, ...(await open.shared?.()) };
    const leaveGarbage = config.leaveGarbage === true;
    const task = { module, family: name, options: shared, planned, policy, verify: fork === 1, leaveGarbage };
    const { timeoutSeconds } = config;
    const result = await measureInFork(task, { signal, onStep, timeoutSeconds, runtime: planned.runtime });
    return { ...result, samples: result.samples.map((sample) => ({ fork, ...sample })) };
  };
}

/** A cell with what was measured of it so far. */
interface Entry {
  readonly planned: PlannedCell;
  readonly forks: ForkRecord[];
  isOver: boolean;
}

/** Measures the cells of a group in rounds, each cell once a round, in an order that changes from round to round. */
async function measureGroup(
  session: Session,
  lost: LostServers,
  measure: Measure,
  group: readonly PlannedCell[],
): Promise<void> {
  const { directory, forks, signal } = session;
  const entries = group.map((planned): Entry => {
    return { planned, forks: directory.forksOf(planned.cell.id), isOver: false };
  });
  for (let round = 0; round < forks.forks; round++) {
    for (const entry of orderOf(entries, round)) {
      if (signal.aborted) return;
      // A resumed run has measured the first rounds of some cells.
      if (!entry.isOver && entry.forks.length <= round) await measureOnce(session, lost, measure, entry);
      if (!entry.isOver && entry.forks.length >= forksOf(forks, entry.forks[0]?.samples)) {
        entry.isOver = true;
        await deliver(session, completedRecord(entry.planned, entry.forks));
      }
    }
  }
}

async function measureOnce(session: Session, lost: LostServers, measure: Measure, entry: Entry): Promise<void> {
  const { planned, forks } = entry;
  const reason = lost.reasonFor(planned);
  if (reason !== undefined) {
    entry.isOver = true;
    return deliver(session, lostRecord(planned, reason));
  }
  const { cell } = planned;
  const { emit, signal, directory } = session;
  const fork = forks.length + 1;
  emit({ type: 'cell-opening', cell, fork });
  const onStep = (step: ForkStep): void => {
    if (step.type === 'warm-up') return emit({ ...step, cell });
    emit({ ...step, cell, ...ratesOf(cell, step.sample.seconds) });
  };
  let measured: ForkRecord;
  try {
    const { samples, checksum } = await measure(planned, onStep, fork);
    measured = { id: cell.id, samples, checksum };
  } catch (error) {
    if (signal.aborted) return;
    entry.isOver = true;
    return fail(session, lost, planned, error);
  }
  forks.push(measured);
  await directory.appendFork(measured);
}

/** Records what went wrong with a cell, and looks whether its server still answers. */
async function fail(session: Session, lost: LostServers, planned: PlannedCell, error: unknown): Promise<void> {
  const record = unmeasuredRecord(planned, error);
  await deliver(session, record);
  const message = record.outcome === 'failed' ? await lost.look(planned) : undefined;
  if (message !== undefined) session.emit({ type: 'warning', message });
}

async function failAll(
  session: Session,
  lost: LostServers,
  cells: readonly PlannedCell[],
  error: unknown,
): Promise<void> {
  for (const planned of cells) {
    if (session.signal.aborted) return;
    const reason = lost.reasonFor(planned);
    await (reason === undefined ? fail(session, lost, planned, error) : deliver(session, lostRecord(planned, reason)));
  }
}

async function deliver({ directory, done, planned, emit }: Session, record: RunRecord): Promise<void> {
  await directory.append(record);
  done.add(record.id);
  const doneCells = planned.filter(({ cell }) => done.has(cell.id)).length;
  emit({ type: 'record', record, doneCells, totalCells: planned.length });
}

async function writeResults({ directory, planned, signal, config, emit }: Session): Promise<RunResult> {
  const rustLanes = new Map(planned.map(({ cell, rustLane }) => [cell.id, rustLane]));
  // In the order of the matrix, not in the order in which the cells finished.
  const records = planned.flatMap(({ cell }) => directory.records.get(cell.id) ?? []);
  const model = costModelOf(records);
  const run: Run = {
    schemaVersion: SCHEMA_VERSION,
    context: directory.context,
    records,
    comparisons: comparisonsOf(records, {
      rustLaneOf: (id) => rustLanes.get(id),
      margin: config.margin,
      cores: coresOf(directory.context.host),
    }),
    ...(model && { model }),
  };
  await directory.writeResults(run);
  try {
    await directory.writePage(run);
  } catch (error) {
    const { code, message } = toBoundaryError(error);
    const again = `boundary-bench report ${directory.path}`;
    emit({
      type: 'warning',
      message: `run.html could not be made, which \`${again}\` tries again: ${code}: ${message}`,
    });
  }
  const unmeasured = planned.filter(({ cell }) => !directory.records.has(cell.id)).map(({ cell }) => cell.id);
  return { run, directory: directory.path, aborted: signal.aborted, unmeasured };
}

function isDone({ done }: Session, { cell }: PlannedCell): boolean {
  return done.has(cell.id);
}
