import { groupBy } from '../compare/cell-groups.js';
import { comparisonsOf } from '../compare/comparisons.js';
import { coresOf } from '../compare/server-bound.js';
import { costModelOf } from '../model/cost-model.js';
import { type Run, type RunContext, type RunRecord, SCHEMA_VERSION } from '../records/record.js';
import type { ForkRecord } from '../records/run-log.js';
import { riskOf } from '../compare/rate-ratio.js';
import { type NativeBuild, runContext } from '../host/provenance.js';
import type { OpenFamily, PlannedCell, Family } from '../families/workload.js';
import { sumOf } from '../stats/sum.js';
import { LOOKS } from '../stats/looks.js';
import { ratesOf } from '../stats/summary.js';
import { BoundaryError, toBoundaryError } from '../errors.js';
import { completedRecord, isTriedAgain, lostRecord, unmeasuredRecord } from './cell-record.js';
import type { RunListener } from './events.js';
import { type CollectGarbage, exposedCollector } from '../collect-garbage.js';
import { type Deciding, Entry, finishedOf, nextEntries, processesLeft } from './deciding.js';
import { openInFork } from './fork.js';
import { GarbageBetween } from './garbage-collection.js';
import { LostServers } from './lost-servers.js';
import { type FamilyPlan, planRun } from './plan.js';
import { type ResourceReader, nodeResources } from './resources.js';
import { requireSameHost, withVersions } from './resume.js';
import { type RunConfig, type RunRequest, knownOptions, publicConfig, resumeRequest } from './run-config.js';
import { RunDirectory } from './run-directory.js';
import { type CellSampler, type Instruments, type WarmUpStep, openSampler } from './sampler.js';
import { type SamplingPolicy, orderOf, typicalSeconds } from './sampling.js';
import { type Turn, type TurnOptions, takeTurns } from './turns.js';
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
  /** Looks at the noise of the machine before the run, and says which part is the smallest difference that it can tell from none. */
  readonly probe?: ((forks: number | undefined, signal: WebAbortSignal) => Promise<number>) | undefined;
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
    const left = workLeft(session);
    const resolution =
      left.forks === 0 || signal.aborted
        ? undefined
        : await options.probe?.(session.forks, signal).catch(() => undefined);
    emit({
      type: 'run-started',
      directory: directory.path,
      totalCells: planned.length,
      resumedCells: planned.filter((cell) => isDone(session, cell)).length,
      ...left,
      ...(resolution !== undefined && { resolution }),
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
  const forks = left.map((cell) => processesLeft(new Entry(cell, directory.forksOf(cell.cell.id)), session));
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
    seconds: sumOf(cells.map(({ cell }) => (config.forks ?? LOOKS[0]!) * typicalSeconds(policy, cell.rows))),
  };
}

interface Session extends Omit<Instruments, 'onStep'>, Deciding {
  readonly directory: RunDirectory;
  /** The context of this process, without the versions of the families. */
  readonly ownContext: RunContext;
  readonly plans: readonly FamilyPlan[];
  /** The cells of all plans. */
  readonly planned: readonly PlannedCell[];
  readonly config: RunConfig;
  readonly policy: SamplingPolicy;
  /** The number of the last block of samples. */
  block: number;
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
  return {
    directory,
    ownContext: context,
    plans,
    planned: plans.flatMap(({ cells }) => cells),
    config,
    ...decidingBy(config, plans, context),
    block: directory.lastBlock,
    policy: { samples: config.samples, budgetSeconds: config.timeBudgetSeconds },
    done,
    resources: options.resources ?? nodeResources,
    garbage: collectGarbage && new GarbageBetween(collectGarbage),
    signal: options.signal ?? new AbortController().signal,
    emit: options.onEvent ?? (() => {}),
  };
}

/** How a run decides how often cells are measured, by its configuration. */
function decidingBy(config: RunConfig, plans: readonly FamilyPlan[], { host }: RunContext): Deciding {
  const rustLanes = new Map(plans.flatMap(({ cells }) => cells).map(({ cell, rustLane }) => [cell.id, rustLane]));
  const each = config.aa === true ? 2 : 1;
  const forks = config.forks ?? (config.aa === true ? AA_FORKS : undefined);
  const startedAt = performance.now();
  return {
    // Each cell stands for two, of which every other process is.
    forks: forks && forks * each,
    slowForks: config.slowForks * each,
    mayGoOn: () => performance.now() < startedAt + 1000 * config.decideSeconds,
    comparing: {
      rustLaneOf: (id) => rustLanes.get(id),
      margin: config.margin,
      risk: riskOf({ config: { ...config } }),
      cores: coresOf(host),
    },
  };
}

/** The number of processes of a cell that stands for two, where none is given. */
const AA_FORKS = 5;

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
    const opener = openerOf(session, plan, open);
    let groups = groupBy(left, (planned) => planned.group).map((group) => entriesOf(session, group));
    // All groups come to their first look before any comparison gets more, so that time is short for all of them alike.
    while (groups.length > 0 && !session.signal.aborted) {
      for (const entries of groups) await measureToLook(session, lost, plan, opener, entries);
      groups = groups.filter((entries) => [...entries.values()].some(({ isOver }) => !isOver));
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

/** Opens a cell and warms it up, in a process of its own if the family names its module, else in this one. */
type OpenTurn = (turn: Turn, onStep: (step: WarmUpStep) => void) => Promise<CellSampler>;

function openerOf(session: Session, { family, options }: FamilyPlan, open: OpenFamily): OpenTurn {
  const { module, name } = family;
  const { policy, signal, config } = session;
  if (module === undefined) {
    return ({ planned }, onStep) => openSampler(open, planned, policy, { ...session, onStep });
  }
  return async ({ planned }, onStep) => {
    const shared = { ...options, ...(await open.shared?.()) };
    const leaveGarbage = config.leaveGarbage === true;
    const task = { module, family: name, options: shared, planned, policy, leaveGarbage };
    const { timeoutSeconds } = config;
    return openInFork(task, { signal, onStep, timeoutSeconds, runtime: planned.runtime });
  };
}

/** The cells of a group, with what was measured of each, by their ids. */
type Entries = ReadonlyMap<string, Entry>;

function entriesOf({ directory }: Session, group: readonly PlannedCell[]): Entries {
  const entries = group.map((planned) => new Entry(planned, directory.forksOf(planned.cell.id)));
  return new Map(entries.map((entry) => [entry.planned.cell.id, entry]));
}

/**
 * Measures the cells of a group in rounds up to the next look at their comparisons: in each, a new process of each cell that is to have one
 * more. They take turns. Cells that need no more are recorded.
 */
async function measureToLook(
  session: Session,
  lost: LostServers,
  plan: FamilyPlan,
  open: OpenTurn,
  entries: Entries,
): Promise<void> {
  const { signal, config } = session;
  const all = [...entries.values()];
  // Cells of this process change each other, so that one is closed before the next is opened.
  const isExclusive = plan.family.module === undefined;
  for (let next = nextEntries(all, session); next.length > 0; next = nextEntries(all, session)) {
    const turns = orderOf(next, next[0]!.forks.length).flatMap(({ planned, forks }) =>
      // Of a cell that stands for two, a process of each.
      Array.from({ length: config.aa === true ? 2 : 1 }, (_, twin): Turn => {
        return { planned: isExclusive ? { ...planned, isExclusive } : planned, fork: forks.length + 1 + twin };
      }),
    );
    await takeTurns(
      turns,
      turnOptions(session, lost, plan, open, (id) => entries.get(id)!),
    );
    if (signal.aborted) return;
  }
  for (const entry of finishedOf(all, session)) await complete(session, entry);
  const added = sumOf(all.map((entry) => (entry.isOver ? 0 : processesLeft(entry, session))));
  if (added > 0) session.emit({ type: 'processes-added', forks: added });
}

/** Writes the record of a cell that all its processes have measured. */
async function complete(session: Session, entry: Entry): Promise<void> {
  entry.isOver = true;
  await deliver(session, completedRecord(entry.planned, entry.forks));
}

function turnOptions(
  session: Session,
  lost: LostServers,
  { family }: FamilyPlan,
  open: OpenTurn,
  entryOf: (id: string) => Entry,
): TurnOptions {
  const { emit, signal, directory } = session;
  return {
    signal,
    isLost: async ({ planned }) => {
      const entry = entryOf(planned.cell.id);
      const reason = lost.reasonFor(planned);
      if (reason === undefined || entry.isOver) return entry.isOver;
      entry.isOver = true;
      await deliver(session, lostRecord(planned, reason));
      return true;
    },
    open: (turn) => {
      const { cell } = turn.planned;
      emit({ type: 'cell-opening', cell, fork: turn.fork });
      return open(turn, (step) => emit({ ...step, cell }));
    },
    onSample: ({ planned: { cell } }, number, sample) => {
      emit({ type: 'sample', cell, number, sample, ...ratesOf(cell, sample.seconds) });
    },
    verifies: ({ fork }) => fork === 1,
    onMeasured: async ({ turn: { planned, fork }, sampler, samples, checksum }) => {
      const { noVerdict } = sampler.ready;
      const measured: ForkRecord = {
        id: planned.cell.id,
        // The samples of this process belong to no fork.
        samples: family.module === undefined ? samples : samples.map((sample) => ({ fork, ...sample })),
        checksum,
        ...(noVerdict === undefined ? {} : { noVerdict }),
      };
      const entry = entryOf(planned.cell.id);
      entry.forks.push(measured);
      await directory.appendFork(measured);
      if (session.forks !== undefined && processesLeft(entry, session) === 0) await complete(session, entry);
    },
    onFailure: async ({ planned }, error) => {
      const entry = entryOf(planned.cell.id);
      if (signal.aborted || entry.isOver) return;
      entry.isOver = true;
      await fail(session, lost, entry.planned, error);
    },
    nextBlock: () => (session.block += 1),
  };
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

async function writeResults({ directory, planned, signal, comparing, emit }: Session): Promise<RunResult> {
  // In the order of the matrix, not in the order in which the cells finished.
  const records = planned.flatMap(({ cell }) => directory.records.get(cell.id) ?? []);
  const model = costModelOf(records);
  const run: Run = {
    schemaVersion: SCHEMA_VERSION,
    context: directory.context,
    records,
    comparisons: comparisonsOf(records, comparing),
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
