/** The start of a run: its plan, its directory, and how it decides. */
import { exposedCollector } from '../collect-garbage.js';
import { riskOf } from '../compare/rate-ratio.js';
import { coresOf } from '../compare/server-bound.js';
import { BoundaryError, toBoundaryError } from '../errors.js';
import { requireClientFile } from '../families/user-client.js';
import type { PlannedCell } from '../families/workload.js';
import { runContext } from '../host/provenance.js';
import { whyNoPerf } from '../profile/perf.js';
import type { Profile, RunContext } from '../records/record.js';
import { isTriedAgain } from './cell-record.js';
import type { Deciding } from './deciding.js';
import type { RunListener } from './events.js';
import { GarbageBetween } from './garbage-collection.js';
import { type FamilyPlan, planRun } from './plan.js';
import { nodeResources } from './resources.js';
import { requireSameFamilies, requireSameHost } from './resume.js';
import { type RunConfig, knownOptions, publicConfig, resumeRequest } from './run-config.js';
import { RunDirectory } from './run-directory.js';
import type { RunOptions } from './run-options.js';
import type { Instruments } from './sampler.js';
import type { SamplingPolicy } from './sampling.js';

/** A run under way. */
export interface Session extends Omit<Instruments, 'onStep'>, Deciding {
  readonly directory: RunDirectory;
  /** The time by `performance.now()` at which this process began the run. */
  readonly startedAt: number;
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
  /** The profiles of cells so far. */
  readonly profiles: Profile[];
  /** The reason why profiles have no frames of Rust. `undefined` if they have, or if the run makes none. */
  readonly withoutPerf: string | undefined;
}

/**
 * Plans a run, reaches its servers, and opens its directory. For a resumed run, the directory has what was measured before. Throws
 * the errors of `run`.
 */
export async function startSession(options: RunOptions): Promise<Session> {
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
  if (config.client !== undefined) requireClientFile(config.client);
  const context: RunContext = {
    ...(await runContext({ startedAt: new Date(), config: publicConfig(config, known), build: options.build })),
    ...(options.files && { files: options.files }),
  };
  if (resumed !== undefined) {
    requireSameHost(resumed.context, context);
    requireSameFamilies(resumed, plans);
  }
  const kept = [...(resumed?.records.values() ?? [])].filter((record) => !isTriedAgain(record));
  const done = new Set(kept.map(({ id }) => id));
  await reachServers(plans, done);
  const directory = resumed ?? (await RunDirectory.create(options.directory, context));
  const collectGarbage = config.leaveGarbage === true ? undefined : (options.collectGarbage ?? exposedCollector());
  return {
    directory,
    startedAt: performance.now(),
    ownContext: context,
    plans,
    planned: plans.flatMap(({ cells }) => cells),
    config,
    ...decidingBy(config, plans, context),
    block: directory.lastBlock,
    policy: { samples: config.samples, budgetSeconds: config.timeBudgetSeconds },
    done,
    profiles: [],
    withoutPerf: config.profile === true ? whyNoPerf() : undefined,
    resources: options.resources ?? nodeResources,
    garbage: collectGarbage && new GarbageBetween(collectGarbage),
    signal: options.signal ?? new AbortController().signal,
    emit: options.onEvent ?? (() => {}),
  };
}

/** How a run decides how often cells are measured, by its configuration. */
function decidingBy(config: RunConfig, plans: readonly FamilyPlan[], { host }: RunContext): Deciding {
  const planned = plans.flatMap(({ cells }) => cells);
  const rustLanes = new Map(planned.map(({ cell, rustLane }) => [cell.id, rustLane]));
  const rivals = new Map(planned.map(({ cell, rival }) => [cell.id, rival]));
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
      rivalOf: (id) => rivals.get(id),
      margin: config.margin,
      risk: riskOf({ config: { ...config } }),
      cores: coresOf(host),
    },
  };
}

/** The number of processes of a cell that stands for two, if no number is given. */
const AA_FORKS = 5;

/** Reaches the user's servers once. Throws `BB_SERVER_UNUSABLE`, instead of the same failure of each cell. */
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
