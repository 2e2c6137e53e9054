import { builtModule } from '../../built-module.js';
import { BoundaryError, UNSUPPORTED } from '../../errors.js';
import type { Checksum, SimulatedNetwork } from '../../records/record.js';
import { whyUnusable } from '../../clients/optional-package.js';
import { whyNotBuilt } from '../../clients/references.js';
import type { OptionTable } from '../option.js';
import type { Family, FamilyOptions, OpenCell, OpenFamily, PlannedCell, SharedServer } from '../workload.js';
import { crateVersions } from './clients.js';
import { type PlannedRequests, type RequestLane, type RequestMatrix, planRequests } from './grid.js';
import { removeLeft, openNativeRequests } from './native-cell.js';
import { PROCESS_OPTIONS, REQUEST_OPTIONS, type RequestValues, SERVER_OPTIONS } from './options.js';
import type { PartTask } from './parts/part.js';
import { openOnProcesses, openOnThreads } from './parts/parted-cell.js';
import {
  type ServerKind,
  type TargetServer,
  enginesWithKey,
  liveUrl,
  openTarget,
  reachTarget,
  targetSkip,
  targetUrl,
} from './target-server.js';

/** The parts that a family of requests defines itself, besides the parts that all of them share. */
export interface RequestFamilyDefinition<P extends PlannedRequests = PlannedRequests, Own = object> {
  /** Its name in `bench/matrix.json`. */
  readonly name: string;
  /** The URL of the module that exports the family; absent: its cells are measured in the process of the run. */
  readonly module?: string;
  /** The kind of the family's server, which is also the engine of its cells. */
  readonly server: ServerKind;
  /** Further kinds, each an engine with the same cells, which are measured if the engine is named. Absent: none. */
  readonly otherServers?: readonly ServerKind[];
  readonly matrix: RequestMatrix;
  /** The packages that a lane needs for a workload. If one is not installed, its cells are skipped. Absent: none. */
  packagesOf?(lane: RequestLane, workload: string): readonly string[];
  /** Whether a cell can be measured in parts, by several processes or worker threads: a part is a cell like the whole. */
  readonly hasParts?: boolean;
  /** The options that it has besides the options of all families of requests. */
  readonly options?: OptionTable;
  /** The options that a private server gets at its start, besides the usual ones. */
  serverOptions?(cells: readonly P[], options: Partial<Own>): readonly string[];
  /** The server of a cell that needs another than the family's, or one more. It is closed with the cell. */
  serverOf?(planned: P, server: TargetServer, options: FamilyOptions & Partial<Own>): Promise<TargetServer> | undefined;
  /** Reaches or starts servers of another kind than one process; absent: `openTarget` does so. */
  openServer?(
    engines: FamilyOptions['engines'],
    cells: readonly P[],
    shared: SharedServer | undefined,
  ): Promise<TargetServer>;
  /** Asks the user's server something that shows whether its URL and its key are right; default: its version. */
  reach?(url: string, options: FamilyOptions & Partial<Own>): Promise<void>;
  /** The reason why the server can't serve a cell, by what was found out about it: the cell is skipped. Absent: it can serve all. */
  whyUnserved?(planned: P, server: TargetServer): string | undefined;
  /** The checksum that every sample of a cell must return, in closed form. */
  expected(planned: P, server: TargetServer): Checksum | Promise<Checksum>;
  /** The options of the Rust side, beside the cell. */
  nativeOptions?(planned: P, server: TargetServer): Readonly<Record<string, unknown>>;
  /**
   * Opens a cell of the sides `napi` and `js`. Throws a `BoundaryError` with the code `BB_UNSUPPORTED` if the server
   * can't serve it: the cell is then skipped with its message.
   */
  openCell(planned: P, server: TargetServer): Promise<OpenCell>;
  /** The versions of the clients that these cells use. */
  versions(cells: readonly P[]): Readonly<Record<string, string>>;
}

/** A family of requests, measured only if it is asked for. */
export function defineRequestFamily<P extends PlannedRequests = PlannedRequests, Own = object>(
  definition: RequestFamilyDefinition<P, Own>,
): Family<RequestValues & Own> {
  const { name, module, server, otherServers = [], matrix } = definition;
  const kinds = [server, ...otherServers];
  return {
    name,
    ...(module === undefined ? {} : { module }),
    description: matrix.description,
    defaultRows: matrix.defaultOperations,
    onlyIfNamed: true,
    hasOperations: true,
    options: {
      ...Object.assign({}, ...kinds.map((kind) => SERVER_OPTIONS[kind])),
      ...REQUEST_OPTIONS,
      ...(definition.hasParts === true ? PROCESS_OPTIONS : {}),
      ...definition.options,
    },
    plan: (options) =>
      kinds.flatMap((kind) =>
        planRequests(
          matrix,
          {
            family: name,
            engine: kind,
            isOther: kind !== server,
            skip: targetSkip(kind, enginesWithKey(kind, options)),
            laneSkip: (lane, workload) =>
              whyUnusable(...(definition.packagesOf?.(lane, workload) ?? [])) ?? whyNotBuilt(lane),
          },
          options,
        ),
      ),
    reach: async (options, cells) => {
      for (const kind of kindsOf(cells)) {
        const url = targetUrl(kind, enginesWithKey(kind, options));
        if (url !== undefined) await (definition.reach?.(url, options) ?? reachTarget(kind, url));
      }
    },
    open: async (options, cells) => new OpenRequests(definition, options, cells as readonly P[]),
  };
}

/** The kinds of the servers that cells need: their engines. */
function kindsOf(cells: readonly PlannedCell[]): readonly ServerKind[] {
  return [...new Set(cells.map(({ cell }) => cell.engine as ServerKind))];
}

class OpenRequests<P extends PlannedRequests, Own> implements OpenFamily {
  readonly #definition: RequestFamilyDefinition<P, Own>;
  readonly #options: FamilyOptions & Partial<Own>;
  readonly #cells: readonly P[];
  /** The kinds of the servers that the cells need. */
  readonly #kinds: readonly ServerKind[];
  readonly #servers = new Map<ServerKind, Promise<TargetServer>>();

  constructor(definition: RequestFamilyDefinition<P, Own>, options: FamilyOptions & Partial<Own>, cells: readonly P[]) {
    this.#definition = definition;
    this.#options = options;
    this.#cells = cells.filter(({ skip }) => skip === undefined);
    this.#kinds = kindsOf(this.#cells);
  }

  async versions(): Promise<Readonly<Record<string, string>>> {
    const versions = await this.#ofTargets(({ version }) => version);
    return { ...versions, ...crateVersions(this.#cells), ...this.#definition.versions(this.#cells) };
  }

  networks(): Promise<Readonly<Record<string, SimulatedNetwork>>> {
    return this.#ofTargets(({ network }) => network);
  }

  adaptations(): Promise<Readonly<Record<string, readonly string[]>>> {
    return this.#ofTargets(({ adaptations = [] }) => (adaptations.length > 0 ? adaptations : undefined));
  }

  mostConnections(): Promise<Readonly<Record<string, number>>> {
    return this.#ofTargets((target) => target.mostConnections);
  }

  /** The value of each server, by the kinds of the servers. A server without a value is left out. */
  async #ofTargets<T>(valueOf: (target: TargetServer) => T | undefined): Promise<Readonly<Record<string, T>>> {
    const values: Record<string, T> = {};
    for (const kind of this.#kinds) {
      const value = valueOf(await this.#target(kind));
      if (value !== undefined) values[kind] = value;
    }
    return values;
  }

  async shared(): Promise<Partial<FamilyOptions>> {
    const engines = { ...this.#options.engines };
    const servers: Record<string, SharedServer> = {};
    for (const kind of this.#kinds) {
      const target = await this.#runningTarget(kind);
      target.handOver?.();
      engines[kind] = liveUrl(target.url);
      const { isPrivate, processIds, namePrefix } = target;
      servers[kind] = { isPrivate, processIds, namePrefix };
    }
    return { engines, shared: { servers } };
  }

  async openCell(planned: PlannedCell): Promise<OpenCell> {
    const requests = planned as P;
    const server = await this.#runningTarget(requests.cell.engine as ServerKind);
    const reason = this.#definition.whyUnserved?.(requests, server);
    if (reason !== undefined) throw new BoundaryError(UNSUPPORTED, reason);
    const { processes = 1, side, driver } = requests.cell;
    if (processes > 1) return openOnProcesses(await this.#taskOf(requests), processes);
    if (side !== 'rust' && driver === 'all-cores') return openOnThreads(await this.#taskOf(requests));
    const own = await this.#definition.serverOf?.(requests, server, this.#options);
    if (own === undefined) return this.#openCell(requests, server);
    try {
      const cell = await this.#openCell(requests, own);
      const close = async (): Promise<void> => {
        await cell.close();
        await own.close();
      };
      return { ...cell, close };
    } catch (thrown) {
      await own.close();
      throw thrown;
    }
  }

  /** The task with which another thread or process opens the cell, or a part of it, over the servers of this one. */
  async #taskOf(planned: P): Promise<PartTask> {
    const { name, module } = this.#definition;
    if (module === undefined) throw new Error(`the family ${name} names no module by which others can open it`);
    return {
      module: builtModule(module).href,
      family: name,
      options: { ...this.#options, ...(await this.shared()) },
      planned,
    };
  }

  async #openCell(requests: P, server: TargetServer): Promise<OpenCell> {
    const { expected, nativeOptions, openCell } = this.#definition;
    if (requests.cell.side !== 'rust') return openCell(requests, server);
    const options = nativeOptions?.(requests, server);
    return openNativeRequests({
      planned: requests,
      server,
      expected: await expected(requests, server),
      ...(options === undefined ? {} : { options }),
    });
  }

  async removeLeft(hasFailed: boolean): Promise<readonly string[]> {
    // Points stay after every cell that has written some.
    const kinds = this.#kinds.filter((kind) => hasFailed || kind === 'ingest');
    const targets = await Promise.all(kinds.map((kind) => this.#target(kind).catch(() => undefined)));
    const users = targets.flatMap((target) => (target === undefined || target.isPrivate ? [] : [target]));
    return (await Promise.all(users.map(removeLeft))).flatMap((left) => left ?? []);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#servers.keys(), (kind) => this.#closeServer(kind)));
  }

  async #closeServer(kind: ServerKind): Promise<void> {
    const server = this.#servers.get(kind);
    this.#servers.delete(kind);
    // A server that could not be reached has failed its cells, and needs no closing.
    await (await server?.catch(() => undefined))?.close();
  }

  /** The server, if it runs. The first cell after its end fails with the reason. The next cell gets a new server. */
  async #runningTarget(kind: ServerKind): Promise<TargetServer> {
    const server = await this.#target(kind);
    const ending = server.ending();
    if (ending === undefined) return server;
    await this.#closeServer(kind);
    throw new BoundaryError('BB_ENGINE', ending);
  }

  #target(kind: ServerKind): Promise<TargetServer> {
    const known = this.#servers.get(kind);
    if (known !== undefined) return known;
    const { serverOptions, openServer } = this.#definition;
    const cells = this.#cells.filter(({ cell }) => cell.engine === kind);
    const engines = enginesWithKey(kind, this.#options);
    const shared = this.#options.shared?.servers?.[kind];
    const opening =
      openServer?.(engines, cells, shared) ?? openTarget(kind, engines, serverOptions?.(cells, this.#options), shared);
    this.#servers.set(kind, opening);
    return opening;
  }
}
