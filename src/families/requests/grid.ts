/** The cells of a family of requests: the lanes of `bench/matrix.json`, over its grid of connections and batches. */
import { availableParallelism } from 'node:os';

import { type Cell, type Driver, type Side, type Counted, itemsOf } from '../../records/record.js';
import { userClientOf } from '../user-client.js';
import type { AskedBy, LaneRuns, PlannedCell } from '../workload.js';
import type { RequestOptions, RequestValues } from './options.js';

/** A piece of work done by one request, or by many. */
export interface RequestWorkload {
  /** `in`: requests write, and an untimed read verifies it. `out`: the values that requests return are verified. */
  readonly direction: 'in' | 'out';
  /** The default operations of a sample; absent: the family's. */
  readonly operations?: number;
  /** The most connections with which the workload makes sense; absent: any number. */
  readonly mostConnections?: number;
  /** `named`: usual runs leave it out, since it shows little that others do not; absent: they measure it. */
  readonly runs?: 'named';
  /** The part of the grid that is measured by default; absent dimensions are the family's. */
  readonly default?: Partial<Grid>;
}

/** One way to send the requests. */
export interface RequestLane {
  readonly side: Side;
  /**
   * `call`: one operation per request. `batch`: as many as the cell's batch. The addon has two more lanes of one operation, whose
   * calls cross one by one: `call-async` as futures on tokio's threads, `call-blocking` on libuv's pool.
   */
  readonly lane: 'call' | 'call-async' | 'call-blocking' | 'batch';
  /** The lane of the `rust` side that this one is compared with; absent on the `rust` side. */
  readonly rustLane?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  /** The way of using the client, such as `pipelined`, if several lanes have one client. */
  readonly setting?: string;
  /** The driver of the connections; absent: threads for half of the cores in Rust, one thread in Node. */
  readonly driver?: Driver;
  /** The client library, if it is not our own. */
  readonly client?: string;
  /** The only engine of the family that the lane is for, if the lane differs between engines; absent: each. */
  readonly engine?: string;
  readonly runs?: LaneRuns;
  /** Whether the client is planned only if peers are asked for. */
  readonly peer?: boolean;
  /** The path of the module that has the client, if it is the user's own. */
  readonly module?: string;
}

/** The part of `bench/matrix.json` that defines a family of requests. */
export interface RequestMatrix<W extends RequestWorkload = RequestWorkload> {
  readonly description: string;
  /** The default operations of a sample of single operations. */
  readonly defaultOperations: number;
  /**
   * The highest factor of a batch sample's operations over `defaultOperations`. Up to it, the factor is the batch size. Default: 1.
   */
  readonly mostTimesOperations?: number;
  readonly grid: Grid;
  /** The part of the grid that is measured by default. */
  readonly default: Grid;
  readonly workloads: Readonly<Record<string, W>>;
  readonly lanes: readonly RequestLane[];
  /** The workloads that a client of the user's does; absent: the workloads of the family's first client in JavaScript. */
  readonly clientWorkloads?: readonly string[];
}

export interface Grid {
  /** Numbers of connections, each with one request in flight. */
  readonly connections: readonly number[];
  /** Operations of one request. */
  readonly batch: readonly number[];
}

/** A planned cell of a family of requests. */
export interface PlannedRequests extends PlannedCell {
  readonly cell: Cell & { readonly lane: RequestLane['lane']; readonly connections: number; readonly batch: number };
  readonly setting?: string;
  /** The path of the module that has the client, if it is the user's own. */
  readonly clientModule?: string;
}

/** The place where the cells of a family run. */
export interface GridTarget {
  readonly family: string;
  readonly engine: string;
  /** Whether it is not the engine that the family is measured on if none is named. */
  readonly isOther?: boolean;
  /** The reason why no cell can run here. */
  readonly skip?: string | undefined;
  /** The reason why a lane can't be measured here; `undefined` if it can. */
  laneSkip(lane: RequestLane, workload: string): string | undefined;
}

/** Every cell of the family for these options: workload by workload, with few connections and small batches first. */
export function planRequests(matrix: RequestMatrix, place: GridTarget, options: RequestOptions): PlannedRequests[] {
  const own = options.client === undefined ? [] : lanesOfUser(matrix, options.client);
  const lanes = [...matrix.lanes, ...own].filter(
    ({ peer, engine = place.engine }) => engine === place.engine && (peer !== true || options.peers === true),
  );
  return Object.keys(matrix.workloads).flatMap((workload) => {
    const ofWorkload = lanes.filter((lane) => lane.workloads.includes(workload));
    const hasCalls = ofWorkload.some(({ lane }) => lane !== 'batch');
    const { mostConnections = Infinity, default: own } = matrix.workloads[workload]!;
    const connections = chosen(
      options.connections,
      own?.connections ?? matrix.default.connections,
      matrix.grid.connections,
    );
    const batches = chosen(options.batch, own?.batch ?? matrix.default.batch, matrix.grid.batch);
    return connections
      .filter((count) => count <= mostConnections)
      .flatMap((count) =>
        batches.flatMap((batch) =>
          ofWorkload
            .filter(({ lane }) => (batch === 1 ? lane !== 'batch' || !hasCalls : lane === 'batch'))
            .map((lane) => plannedCell(matrix, place, lane, { workload, connections: count, batch }, options)),
        ),
      );
  });
}

/** The lanes of the user's client, which is given as `side:file`. It does the work of all lanes of the family's first client in JavaScript. */
function lanesOfUser({ lanes, clientWorkloads }: RequestMatrix, given: string): RequestLane[] {
  const { side, file, name } = userClientOf(
    given,
    lanes.map(({ client }) => client),
  );
  const ofJavaScript = lanes.filter((lane) => lane.side === 'js');
  const ofFirst = ofJavaScript.filter(({ client }) => client === ofJavaScript[0]!.client);
  const workloadsOf = (of: RequestLane['lane']): string[] => {
    const all = ofFirst.filter(({ lane }) => lane === of).flatMap(({ workloads }) => workloads);
    return [...new Set(all)].filter((workload) => clientWorkloads?.includes(workload) ?? true);
  };
  return [...new Set(ofFirst.map(({ lane }) => lane))].map((lane) => ({
    side,
    lane,
    rustLane: lane,
    variant: name,
    workloads: workloadsOf(lane),
    client: name,
    module: file,
  }));
}

function chosen(
  asked: readonly number[] | 'all' | undefined,
  byDefault: readonly number[],
  all: readonly number[],
): readonly number[] {
  const values = asked === undefined ? byDefault : asked === 'all' ? all : asked;
  return [...new Set(values)].toSorted((a, b) => a - b);
}

interface Dimensions {
  readonly workload: string;
  readonly connections: number;
  readonly batch: number;
}

function plannedCell(
  matrix: RequestMatrix,
  { family, engine, isOther, skip: placeSkip, laneSkip }: GridTarget,
  requestLane: RequestLane,
  { workload, connections, batch }: Dimensions,
  { operations, rate, processes = 1 }: RequestValues,
): PlannedRequests {
  const { side, lane, rustLane, variant, setting, driver, client, runs, module } = requestLane;
  const way = [client, setting, driver].filter((part) => part !== undefined);
  const several = processes === 1 ? [] : [`p${processes}`];
  const skip = placeSkip ?? laneSkip(requestLane, workload);
  const askedBy: AskedBy[] = [
    ...(isOther === true ? ['engine' as const] : []),
    ...(matrix.workloads[workload]?.runs === 'named' ? ['workload' as const] : []),
    ...(runs === 'named' ? ['lane' as const] : []),
  ];
  return {
    cell: {
      id: [family, workload, lane, side, engine, ...way, `c${connections}`, `b${batch}`, ...several].join('/'),
      family,
      workload,
      lane,
      side,
      variant,
      engine,
      batch,
      connections,
      ...(driver === undefined ? {} : { driver }),
      ...(rate === undefined ? {} : { rate }),
      ...(processes > 1 && { processes }),
      operations: processes * (operations ?? defaultOperations(matrix, workload, batch)),
    },
    group: `${workload}|${engine}|${connections}|${batch}`,
    usesServer: true,
    // Each part has one more, for its untimed work, and another two while it opens.
    connectionsHeld: processes * connections + 3 * partsOf({ side, driver, processes, connections }),
    ...(rustLane === undefined ? {} : { rustLane }),
    ...(setting === undefined ? {} : { setting }),
    ...(client === undefined ? {} : { client }),
    ...(module === undefined ? {} : { clientModule: module }),
    ...(askedBy.length > 0 && { askedBy }),
    ...(runs === 'quick' && { isQuick: true }),
    ...(skip === undefined ? {} : { skip }),
  };
}

/** The number of processes or threads of a Node side that send the requests of a cell. */
function partsOf({
  side,
  driver,
  processes,
  connections,
}: Pick<Cell, 'side' | 'driver' | 'processes' | 'connections'>): number {
  if (processes !== 1) return processes!;
  return side !== 'rust' && driver === 'all-cores' ? Math.min(availableParallelism(), connections!) : 1;
}

function defaultOperations(matrix: RequestMatrix, workload: string, batch: number): number {
  const single = matrix.workloads[workload]?.operations ?? matrix.defaultOperations;
  return single * Math.min(batch, matrix.mostTimesOperations ?? 1);
}

/** The number of requests that a sample of the cell sends. */
export function requestsOf({ batch = 1, ...cell }: Counted & Pick<Cell, 'batch'>): number {
  return Math.ceil(itemsOf(cell) / batch);
}

/** The operations of request `index`: from the first to the last, exclusive. */
export function operationsOf(
  { batch = 1, ...cell }: Counted & Pick<Cell, 'batch'>,
  index: number,
): { readonly from: number; readonly to: number } {
  const operations = itemsOf(cell);
  return { from: Math.min(index * batch, operations), to: Math.min((index + 1) * batch, operations) };
}
