import { BoundaryError } from '../../errors.js';
import type { Checksum, SimulatedNetwork } from '../../records/record.js';
import { whyUnusable } from '../../clients/optional-package.js';
import type { Family, FamilyOptions, OpenCell, OpenFamily, PlannedCell } from '../workload.js';
import { type PlannedRequests, type RequestMatrix, planRequests } from './grid.js';
import { openNativeRequests } from './native-cell.js';
import { type ServerKind, type TargetServer, openTarget, targetSkip } from './target-server.js';

/** The definition of one family of requests, beside the parts that all share. */
export interface RequestFamilyDefinition<P extends PlannedRequests = PlannedRequests> {
  /** The name of the family in `bench/matrix.json`. */
  readonly name: string;
  /** The kind of the family's server, which is also the engine of its cells. */
  readonly server: ServerKind;
  readonly matrix: RequestMatrix;
  /** The packages of optional clients, by the names of their targets in the matrix. */
  readonly peers: Readonly<Record<string, string>>;
  /** The options of a private server, beside the default ones. */
  serverOptions?(cells: readonly P[]): readonly string[];
  /** The server of a cell that needs another than the family's, or one more; it is closed with the cell. */
  serverOf?(planned: P, server: TargetServer): Promise<TargetServer> | undefined;
  /** Connects to or starts servers that are not one process. Default: `openTarget`. */
  openServer?(engines: FamilyOptions['engines'], cells: readonly P[]): Promise<TargetServer>;
  /** The checksum that every sample of a cell must return, in closed form. */
  expected(planned: P, server: TargetServer): Checksum | Promise<Checksum>;
  /** The options of the Rust side, beside the cell. */
  nativeOptions?(planned: P): Readonly<Record<string, unknown>>;
  /**
   * Opens a cell of the sides `napi` and `js`. Throws a `BoundaryError` with the code `BB_UNSUPPORTED` if the server can't serve
   * it: the cell is then skipped with its message.
   */
  openCell(planned: P, server: TargetServer): Promise<OpenCell>;
  /** The versions of the clients that these cells use. */
  versions(cells: readonly P[]): Readonly<Record<string, string>>;
}

/** Makes a family of requests, measured only if it is asked for. */
export function defineRequestFamily<P extends PlannedRequests = PlannedRequests>(
  definition: RequestFamilyDefinition<P>,
): Family {
  const { name, server, matrix, peers } = definition;
  return {
    name,
    description: matrix.description,
    defaultRows: matrix.defaultOperations,
    onlyIfNamed: true,
    hasOperations: true,
    plan: (options) =>
      planRequests(
        matrix,
        {
          family: name,
          engine: server,
          skip: targetSkip(server, options.engines),
          peerSkip: (target) => whyUnusable(peers[target] ?? target),
        },
        options,
      ),
    open: async (options, cells) => new OpenRequests(definition, options, cells as readonly P[]),
  };
}

class OpenRequests<P extends PlannedRequests> implements OpenFamily {
  readonly #definition: RequestFamilyDefinition<P>;
  readonly #engines: FamilyOptions['engines'];
  readonly #cells: readonly P[];
  #server: Promise<TargetServer> | undefined;

  constructor(definition: RequestFamilyDefinition<P>, { engines }: FamilyOptions, cells: readonly P[]) {
    this.#definition = definition;
    this.#engines = engines;
    this.#cells = cells;
  }

  async versions(): Promise<Readonly<Record<string, string>>> {
    const cells = this.#cells.filter(({ skip }) => skip === undefined);
    if (cells.length === 0) return {};
    const { kind, version } = await this.#target();
    return { [kind]: version, ...this.#definition.versions(cells) };
  }

  async networks(): Promise<Readonly<Record<string, SimulatedNetwork>>> {
    if (this.#cells.every(({ skip }) => skip !== undefined)) return {};
    const { kind, network } = await this.#target();
    return network === undefined ? {} : { [kind]: network };
  }

  async openCell(planned: PlannedCell): Promise<OpenCell> {
    const requests = planned as P;
    const server = await this.#runningTarget();
    const own = await this.#definition.serverOf?.(requests, server);
    if (own === undefined) return this.#openCell(requests, server);
    try {
      const cell = await this.#openCell(requests, own);
      const close = async (): Promise<void> => {
        await cell.close();
        await own.close();
      };
      return { expected: cell.expected, sample: (stopwatch, signal) => cell.sample(stopwatch, signal), close };
    } catch (thrown) {
      await own.close();
      throw thrown;
    }
  }

  async #openCell(requests: P, server: TargetServer): Promise<OpenCell> {
    const { expected, nativeOptions, openCell } = this.#definition;
    if (requests.cell.side !== 'rust') return openCell(requests, server);
    const options = nativeOptions?.(requests);
    return openNativeRequests({
      planned: requests,
      server,
      expected: await expected(requests, server),
      ...(options === undefined ? {} : { options }),
    });
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    // A server that could not be reached has failed its cells, and needs no closing.
    await (await server?.catch(() => undefined))?.close();
  }

  /** The server, if it runs. The first cell after its end fails with the reason; the next one gets a new server. */
  async #runningTarget(): Promise<TargetServer> {
    const server = await this.#target();
    const ending = server.ending();
    if (ending === undefined) return server;
    await this.close();
    throw new BoundaryError('BB_ENGINE', ending);
  }

  #target(): Promise<TargetServer> {
    const { server, serverOptions, openServer } = this.#definition;
    this.#server ??=
      openServer?.(this.#engines, this.#cells) ?? openTarget(server, this.#engines, serverOptions?.(this.#cells));
    return this.#server;
  }
}
