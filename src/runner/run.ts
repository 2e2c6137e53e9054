import { groupBy } from '../compare/cell-groups.js';
import { comparisonsOf } from '../compare/comparisons.js';
import { costModelOf } from '../model/cost-model.js';
import { type Run, type RunContext, type RunRecord, SCHEMA_VERSION } from '../records/record.js';
import type { ForkRecord } from '../records/run-log.js';
import type { Family, OpenFamily, PlannedCell } from '../families/workload.js';
import { sumOf } from '../stats/sum.js';
import { LOOKS } from '../stats/looks.js';
import { ratesOf } from '../stats/summary.js';
import { toBoundaryError } from '../errors.js';
import { completedRecord, lostRecord, unmeasuredRecord } from './cell-record.js';
import { DECIDED, Entry, closestOf, finishedOf, losersOf, nextEntries, processesLeft } from './deciding.js';
import { type ForkedSampler, openInFork } from './fork.js';
import { LostServers } from './lost-servers.js';
import type { RunStarted } from './events.js';
import { type FamilyPlan, leftOut, planRun } from './plan.js';
import { profileCells } from './profiling.js';
import { withVersions } from './resume.js';
import { type CellSampler, type WarmUpStep, openSampler } from './sampler.js';
import type { RunOptions } from './run-options.js';
import { type Session, startSession } from './session.js';
import { PRELOADING } from './swap-build.js';
import { orderOf, typicalSeconds } from './sampling.js';
import { type Turn, type TurnOptions, takeTurns } from './turns.js';

export type { RunOptions };

/** The results of a run, and where they are written. */
export interface RunResult {
  readonly run: Run;
  /** The directory with `run.jsonl`, `run.json`, `run.md` and `run.html`. */
  readonly directory: string;
  readonly aborted: boolean;
  /** The ids of cells without a record. Only an aborted run has such cells. */
  readonly unmeasured: readonly string[];
}

/**
 * Measures the requested cells, family by family and group by group, each several times in a process of its own. It writes down the
 * measurements of each process as soon as the process has ended. A cell that fails is recorded as failed and does not stop the
 * others. Throws a `BoundaryError` before anything is measured if the request is invalid or can't be resumed.
 */
export async function run(options: RunOptions): Promise<RunResult> {
  const session = await startSession(options);
  const { directory, plans, planned, emit, signal } = session;
  try {
    const left = workLeft(session);
    const probed =
      left.forks === 0 || signal.aborted
        ? undefined
        : await options.probe?.(session.forks, left.seconds, signal).catch(() => undefined);
    const { context } = directory;
    if (probed !== undefined && context.loopSeconds === undefined) {
      await directory.setContext({ ...context, loopSeconds: probed.loopSeconds });
    }
    emit({
      type: 'run-started',
      directory: directory.path,
      totalCells: planned.length,
      resumedCells: planned.filter((cell) => isDone(session, cell)).length,
      ...left,
      ...(probed !== undefined && { resolution: probed.resolution }),
      ...(session.config.quick === true && options.resume !== true && { full: fullRun(options, planned) }),
    });
    if (session.withoutPerf !== undefined) {
      emit({ type: 'warning', message: `the flame graphs have no frames of Rust: ${session.withoutPerf}` });
    }
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
  const seconds = left.map(({ cell }, index) => forks[index]! * typicalSeconds(policy, cell));
  return { forks: sumOf(forks), seconds: sumOf(seconds) };
}

/** The cells and the seconds of a quick run if it were a full one, and what the quick run leaves out. */
function fullRun(options: RunOptions, quick: readonly PlannedCell[]): NonNullable<RunStarted['full']> {
  const { config, plans } = planRun(options.families, { ...options, quick: undefined });
  const policy = { samples: config.samples, budgetSeconds: config.timeBudgetSeconds };
  const cells = plans.flatMap((plan) => plan.cells).filter(({ skip }) => skip === undefined);
  return {
    cells: cells.length,
    seconds: sumOf(cells.map(({ cell }) => (config.forks ?? LOOKS[0]!) * typicalSeconds(policy, cell))),
    leftOut: leftOut(cells, quick),
  };
}

async function measureFamily(session: Session, plan: FamilyPlan): Promise<void> {
  const { family, options, cells } = plan;
  for (const planned of cells) {
    if (planned.skip !== undefined && !isDone(session, planned)) {
      await deliver(session, { ...planned.cell, outcome: 'skipped', reason: planned.skip });
    }
  }
  const left = cells.filter((planned) => !isDone(session, planned));
  if (left.length === 0 && session.config.profile !== true) return;
  session.emit({ type: 'family-opening', family: family.name });
  const lost = new LostServers(plan, session.signal);
  let open: OpenFamily;
  try {
    // Cells that were measured before are only profiled.
    open = await family.open(options, left.length === 0 ? cells : left);
  } catch (error) {
    return failAll(session, lost, left, error);
  }
  try {
    let versions: Readonly<Record<string, string>>;
    let networks: RunContext['networks'];
    let adaptations: RunContext['adaptations'];
    let mostConnections: Readonly<Record<string, number>> | undefined;
    try {
      versions = await open.versions();
      networks = await open.networks?.();
      adaptations = await open.adaptations?.();
      mostConnections = await open.mostConnections?.();
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
    const groups = groupBy(left, (planned) => planned.group).map((group) => entriesOf(session, group));
    for (const now of DECIDED) {
      // All groups come to one look before any of them gets more, so that time is short for all of them alike.
      for (let open = groups; open.length > 0 && !session.signal.aborted;) {
        for (const entries of open) {
          await measureToLook(
            session,
            lost,
            { ...plan, ...(mostConnections && { mostConnections }) },
            opener,
            entries,
            now,
          );
        }
        open = open.filter((entries) => nextEntries([...entries.values()], session).length > 0);
      }
    }
    if (session.config.profile === true) await profileFamily(session, plan, open);
    const hasFailed = cells.some(({ cell }) => session.directory.records.get(cell.id)?.outcome === 'failed');
    const kept = (await open.removeLeft?.(hasFailed).catch(() => [])) ?? [];
    for (const message of kept) session.emit({ type: 'warning', message });
  } finally {
    await closeFamily(session, family, open);
  }
}

/** A field of the context with the additions of a family by engine. Nothing if it adds nothing. */
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

/** The time budgets of a process that the cells take together which decide what is close, in blocks of their own. */
const CLOSE_BUDGETS = 20;
/** The fewest of these blocks of a run that is not quick. */
const FEWEST_CLOSE_BLOCKS = 4;

/** Opens a cell and warms it up, in a process of its own if the family names its module, else in this one. */
type OpenTurn = (turn: Turn, onStep: (step: WarmUpStep) => void) => Promise<CellSampler>;

function openerOf(session: Session, { family, options }: FamilyPlan, open: OpenFamily): OpenTurn {
  const { module } = family;
  if (module === undefined) {
    return (turn, onStep) => openSampler(open, turn.planned, session.policy, { ...session, onStep });
  }
  return ({ planned }, onStep) => openForked(session, { family, module, options }, open, { planned, onStep });
}

/** A family whose cells other processes can open. */
interface Forkable extends Pick<FamilyPlan, 'family' | 'options'> {
  readonly module: string;
}

/** A cell to open in a process of its own. */
interface CellToFork {
  readonly planned: PlannedCell;
  readonly onStep?: (step: WarmUpStep) => void;
  /** Flags of V8 for the process. */
  readonly flags?: readonly string[];
}

async function openForked(
  { policy, signal, config }: Session,
  { family, module, options }: Forkable,
  open: OpenFamily,
  { planned, onStep = () => {}, flags = [] }: CellToFork,
): Promise<ForkedSampler> {
  const shared = { ...options, ...(await open.shared?.()) };
  const { timeoutSeconds, leaveGarbage = false } = config;
  const task = { module, family: family.name, options: shared, planned, policy, leaveGarbage };
  const preloading = planned.build === undefined ? [] : PRELOADING;
  return openInFork(task, {
    signal,
    onStep,
    timeoutSeconds,
    flags: [...flags, ...preloading],
    runtime: planned.runtime,
  });
}

/** Profiles the cells of a family that were measured on this runtime. */
async function profileFamily(
  session: Session,
  { family, options, cells }: FamilyPlan,
  open: OpenFamily,
): Promise<void> {
  const { module } = family;
  const { directory, signal, emit, profiles, withoutPerf } = session;
  if (module === undefined) return;
  const measured = cells.filter(({ cell: { id, runtime }, isElsewhere }) => {
    return runtime === undefined && isElsewhere !== true && directory.records.get(id)?.outcome === 'completed';
  });
  const made = await profileCells({
    cells: measured,
    directory: directory.path,
    signal,
    emit,
    withoutPerf,
    open: (planned, flags) => openForked(session, { family, module, options }, open, { planned, flags }),
  });
  profiles.push(...made);
}

/** The cells of a group, with what was measured of each, by their ids. */
type Entries = ReadonlyMap<string, Entry>;

function entriesOf({ directory }: Session, group: readonly PlannedCell[]): Entries {
  const entries = group.map((planned) => new Entry(planned, directory.forksOf(planned.cell.id)));
  return new Map(entries.map((entry) => [entry.planned.cell.id, entry]));
}

/**
 * Measures the cells of a group in rounds up to the next look at their comparisons. In each round, each cell that is to have one
 * more process gets a new one. They take turns. Cells that need no more are recorded.
 */
async function measureToLook(
  session: Session,
  lost: LostServers,
  plan: FamilyPlan,
  open: OpenTurn,
  entries: Entries,
  now: (typeof DECIDED)[number],
): Promise<void> {
  const { signal, config } = session;
  const all = [...entries.values()];
  // Cells of this process change each other, so that one is closed before the next is opened.
  const isExclusive = plan.family.module === undefined;
  for (let next = nextEntries(all, session); next.length > 0; next = nextEntries(all, session)) {
    const turns = orderOf(next, next[0]!.forks.length).flatMap((entry) =>
      // Of a cell that stands for two, a process of each.
      Array.from({ length: config.aa === true ? 2 : 1 }, (_, twin): Turn => {
        const { planned, forks } = entry;
        return {
          planned: isExclusive ? { ...planned, isExclusive } : planned,
          fork: forks.length + 1 + twin,
        };
      }),
    );
    await takeTurns(
      turns,
      turnOptions(session, lost, plan, open, (id) => entries.get(id)!),
    );
    if (signal.aborted) return;
    const losers = losersOf(all, session);
    const spared = sumOf(losers.map((entry) => processesLeft(entry, session)));
    for (const entry of losers) await complete(session, entry);
    if (spared > 0) session.emit({ type: 'processes-changed', forks: -spared });
  }
  for (const entry of finishedOf(all, session, now)) await complete(session, entry);
  const added = sumOf(all.map((entry) => (entry.isOver ? 0 : processesLeft(entry, session))));
  if (added > 0) session.emit({ type: 'processes-changed', forks: added });
}

/** Writes the record of a cell that all its processes have measured. */
async function complete(session: Session, entry: Entry): Promise<void> {
  entry.isOver = true;
  await deliver(session, completedRecord(entry.planned, entry.forks));
}

function turnOptions(
  session: Session,
  lost: LostServers,
  { family, mostConnections }: FamilyPlan,
  open: OpenTurn,
  entryOf: (id: string) => Entry,
): TurnOptions {
  const { emit, signal, directory, policy } = session;
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
    closest: (alive) => {
      const sampled = alive.map(({ turn, samples }) => {
        const { planned } = turn;
        return { turn, planned, samples: [...entryOf(planned.cell.id).samples, ...samples] };
      });
      return new Set(Array.from(closestOf(sampled), ({ turn }) => turn));
    },
    mostConnections: ({ planned }) => mostConnections?.[planned.cell.engine],
    closeSeconds: policy.samples === undefined ? CLOSE_BUDGETS * policy.budgetSeconds : 0,
    fewestCloseBlocks: session.config.quick === true ? 1 : FEWEST_CLOSE_BLOCKS,
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

async function writeResults(session: Session): Promise<RunResult> {
  const { directory, planned, signal, comparing, emit } = session;
  // In the order of the matrix, not in the order in which the cells finished.
  const records = planned.flatMap(({ cell }) => directory.records.get(cell.id) ?? []);
  const model = costModelOf(records);
  const { seconds = 0 } = directory.context;
  await directory.setContext({
    ...directory.context,
    seconds: seconds + (performance.now() - session.startedAt) / 1000,
  });
  const run: Run = {
    schemaVersion: SCHEMA_VERSION,
    context: directory.context,
    records,
    comparisons: comparisonsOf(records, comparing),
    ...(model && { model }),
    ...(session.profiles.length > 0 && { profiles: session.profiles }),
  };
  await directory.writeResults(run);
  try {
    await directory.writePage(run);
  } catch (error) {
    const { code, message } = toBoundaryError(error);
    const again = `npx boundary-bench report ${directory.path}`;
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
