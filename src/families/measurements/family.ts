import type { JsTableClient } from '../../clients/measurement-table.js';
import { type Connection, connect, engineOf } from '../../library/engine/connection.js';
import { useHyperd } from '../../host/hyperd.js';
import { SERVER_OPTIONS } from '../requests/options.js';
import { openTarget, reachTarget, type TargetServer } from '../requests/target-server.js';
import { ownDatabase } from '../sql/server.js';
import type { Family, FamilyOptions, OpenCell, OpenFamily } from '../workload.js';
import { openNapiCell, queryTables } from './addon-cells.js';
import { columnTables } from './column-table-cells.js';
import { ConnectedEngine, DatabaseFolder } from './connected-engine.js';
import { driverPlace } from './driver-cells.js';
import { defaultUri, defaultTransport, isBareUri, isServer } from './engine-uris.js';
import { PIECE_ROWS, duckDbPlace } from './duckdb-cells.js';
import { matrix } from './matrix.js';
import { MEASUREMENTS_OPTIONS, type MeasurementsValues } from './options.js';
import { PEERS } from './peers.js';
import { type CellOpener, tablePlace } from './table-cells.js';
import { FAMILY_NAME, type PlannedMeasurement, planMeasurements } from './plan.js';
import { unloadTables } from './query-tables.js';
import { RowBatch, bigintRows } from './rows.js';
import { openRustPlace } from './rust-cells.js';

/** Bulk insert, scan, filter and aggregate of one table, on all sides. */
export const measurementsFamily: Family<MeasurementsValues> = {
  name: FAMILY_NAME,
  module: import.meta.url,
  description: matrix.description,
  defaultRows: matrix.defaultRows,
  quickRows: matrix.defaultRows / 4,
  options: { ...MEASUREMENTS_OPTIONS, ...SERVER_OPTIONS.mysql },
  plan: (options) => {
    const hyperd = useHyperd(options.hyperd);
    try {
      return planMeasurements(options);
    } finally {
      hyperd[Symbol.dispose]();
    }
  },
  reach: async ({ engines, hyperd: path }, cells) => {
    using _ = useHyperd(path);
    for (const name of new Set(cells.map(({ cell }) => cell.engine))) {
      const named = engines[name];
      const uri = named === undefined || isBareUri(name, named) ? privateServers.get(name) : named;
      if (uri === undefined) continue;
      if (name === MYSQL) await reachTarget(MYSQL, uri);
      else await (await connect(matrix.engines[name]?.shared === true ? withTimeout(uri) : uri)).close();
    }
  },
  open: async (options, cells) => new OpenMeasurements(options, cells as readonly PlannedMeasurement[]),
};

/** The addresses of the private servers of the runs in this process, by the names of their engines. */
const privateServers = new Map<string, string>();

/** The URI with a time-out, which a server that still works on a query that was given up may need: it then answers no other query. */
function withTimeout(uri: string): string {
  return /[?&]timeout=/.test(uri) ? uri : `${uri}${uri.includes('?') ? '&' : '?'}timeout=${REACH_SECONDS}`;
}

/** The time in which a server answers a query of nothing, in seconds. */
const REACH_SECONDS = 10;

class OpenMeasurements implements OpenFamily {
  readonly #engineUris: FamilyOptions['engines'];
  readonly #sharedTables: readonly string[];
  readonly #cells: readonly PlannedMeasurement[];
  readonly #places = new Map<string, Promise<CellOpener>>();
  readonly #hyperd: Disposable;
  #folder: Promise<DatabaseFolder> | undefined;
  /** The URIs of the engines over which other processes measure, once there are any. */
  #sharedUris: Readonly<Record<string, string>> | undefined;
  /** The connections that keep the private servers of the run alive, by the names of their engines. */
  readonly #servers = new Map<string, Promise<Connection>>();
  #mysql: Promise<{ readonly server: TargetServer; readonly url: string }> | undefined;

  constructor({ engines, hyperd, shared }: FamilyOptions & MeasurementsValues, cells: readonly PlannedMeasurement[]) {
    this.#engineUris = engines;
    this.#sharedTables = shared?.tables ?? [];
    this.#hyperd = useHyperd(hyperd);
    this.#cells = cells;
  }

  async versions(): Promise<Readonly<Record<string, string>>> {
    const usable = this.#cells.filter(({ skip }) => skip === undefined);
    const used = new Map(usable.map((planned) => [placeOf(planned), planned]));
    // A place that can't be opened fails its own cells, with the reason. Other cells go on.
    const places = opened(await Promise.allSettled(Array.from(used, ([name, planned]) => this.#place(name, planned))));
    return Object.assign({}, ...places.map(({ versions }) => versions)) as Record<string, string>;
  }

  async shared(): Promise<Partial<FamilyOptions>> {
    // A database in this process would keep its file from others, and memory from what they measure.
    await this.#closePlaces();
    this.#sharedUris ??= await this.#shareable();
    return {
      engines: { ...this.#engineUris, ...this.#sharedUris },
      shared: { tables: Object.keys(this.#sharedUris) },
    };
  }

  /** The engines that keep their tables when a process ends: a server that runs on, and a database in a file. */
  async #shareable(): Promise<Readonly<Record<string, string>>> {
    const uris: Record<string, string> = {};
    for (const name of new Set(this.#cells.filter(({ skip }) => skip === undefined).map(({ cell }) => cell.engine))) {
      const uri = this.#engineUris[name] ?? defaultUri(name);
      if (isServer(uri)) uris[name] = uri;
      // A server of our own is told by its URL.
      else if (name === MYSQL) uris[name] = (await this.#mysql)?.server.url ?? uri;
      else if (matrix.engines[name]?.shared === true) uris[name] = await this.#addressOf(name, uri);
      else if (defaultTransport(name) !== undefined) {
        this.#folder ??= DatabaseFolder.create();
        uris[name] = isBareUri(name, uri) ? (await this.#folder).uriOf(name) : uri;
      }
    }
    return uris;
  }

  /** The address of the private server of the run, which is started here if it does not run. */
  async #addressOf(name: string, uri: string): Promise<string> {
    let server = this.#servers.get(name);
    if (server === undefined) {
      server = connect(uri);
      this.#servers.set(name, server);
    }
    // A server that does not start fails the cells of its engine alone, each with the reason.
    const connection = await server.catch(() => undefined);
    const address = (connection && engineOf(connection).address) ?? undefined;
    if (address !== undefined) privateServers.set(name, address);
    return address ?? uri;
  }

  /** Drops the tables that the processes of the run have left in the user's databases. */
  async #dropShared(): Promise<void> {
    for (const [name, uri] of Object.entries(this.#sharedUris ?? {})) {
      if (this.#engineUris[name] === undefined) continue;
      const keys = this.#cells
        .filter(({ cell, skip }) => cell.engine === name && skip === undefined)
        .map(({ cell, tableRows }) => queryTables(tableRows, cell.workers ?? 1));
      const connection = await connect(name === MYSQL ? await ownDatabase(uri) : uri);
      try {
        const unique = new Map(keys.map((key) => [JSON.stringify(key), key])).values();
        for (const key of unique) await unloadTables(connection, key);
      } finally {
        await connection.close();
      }
    }
  }

  async openCell(planned: PlannedMeasurement): Promise<OpenCell> {
    const { cell, tableRows, client } = planned;
    const isRust = cell.side === 'rust';
    const place = await this.#place(isRust ? `${RUST} ${cell.engine}` : placeOf(planned), planned, isRust);
    return place.openCell({ ...cell, rows: tableRows }, client);
  }

  async close(): Promise<void> {
    try {
      await this.#closePlaces();
      await this.#dropShared();
    } finally {
      this.#hyperd[Symbol.dispose]();
      await (await this.#folder)?.remove();
      for (const name of this.#servers.keys()) privateServers.delete(name);
      for (const server of opened(await Promise.allSettled(this.#servers.values()))) await server.close();
      // A server that could not be opened has failed its cells, and needs no closing.
      await (await this.#mysql?.catch(() => undefined))?.server.close();
    }
  }

  async #closePlaces(): Promise<void> {
    const places = opened(await Promise.allSettled(this.#places.values()));
    this.#places.clear();
    const outcomes = await Promise.allSettled(places.map((place) => place.close()));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  #place(name: string, planned: PlannedMeasurement, isRust = false): Promise<CellOpener> {
    let place = this.#places.get(name);
    if (place === undefined) {
      place = isRust ? this.#openRust(planned.cell.engine) : this.#openPlace(name, planned);
      this.#places.set(name, place);
    }
    return place;
  }

  async #openPlace(name: string, { client, clientModule }: PlannedMeasurement): Promise<CellOpener> {
    if (clientModule !== undefined) return driverPlace(clientModule, client!);
    const open = CLIENTS[name] ?? PEERS[name]?.open;
    if (open === undefined) return enginePlace(name, await this.#engine(name));
    return open(async () => [await this.#mysqlUrl(), await this.#engine(MYSQL)]);
  }

  async #engine(name: string): Promise<ConnectedEngine> {
    return ConnectedEngine.open(name, await this.#uriOf(name), this.#sharedTables.includes(name));
  }

  async #openRust(engine: string): Promise<CellOpener> {
    return openRustPlace(engine, await this.#uriOf(engine), this.#sharedTables.includes(engine));
  }

  async #uriOf(engine: string): Promise<string> {
    const isOnMysql = matrix.engines[engine]?.server === MYSQL;
    return isOnMysql ? await this.#mysqlUrl() : (this.#engineUris[engine] ?? defaultUri(engine));
  }

  /** The URL of the database on the MySQL server, which the engine and the JavaScript clients share. */
  #mysqlUrl(): Promise<string> {
    this.#mysql ??= openTarget(MYSQL, this.#engineUris).then(async (server) => {
      try {
        return { server, url: await ownDatabase(server.url) };
      } catch (error) {
        await server.close();
        throw error;
      }
    });
    return this.#mysql.then(({ url }) => url);
  }
}

function opened<T>(outcomes: readonly PromiseSettledResult<T>[]): T[] {
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** The name of a cell's place: its client from Node, which a module of the user's may have, else its engine. */
function placeOf({ cell, client, clientModule }: PlannedMeasurement): string {
  if (clientModule !== undefined) return clientModule;
  return cell.side === 'rust' ? cell.engine : (client ?? cell.engine);
}

function enginePlace(name: string, engine: ConnectedEngine): CellOpener {
  return {
    versions: { [name]: engine.version },
    openCell: async (cell) => openNapiCell(await engine.over(cell.transport), cell),
    close: () => engine.close(),
  };
}

/** The beginning of the names of places of the `rust` side, which no client has. */
const RUST = 'rust';

/** The server that an engine shares with JavaScript clients. */
const MYSQL = 'mysql';

/**
 * The clients of the `js` side, by their names in the matrix. Each may ask for the MySQL server and its engine. Each is
 * imported only if it is measured: the process of a cell starts faster, and has nothing else in it.
 */
const CLIENTS: Readonly<Record<string, (mysql: MysqlServer) => Promise<CellOpener>>> = {
  'apache-arrow': async () => columnTablePlace((await import('../../clients/apache-arrow.js')).apacheArrow),
  flechette: async () => columnTablePlace((await import('../../clients/flechette.js')).flechette),
  'duckdb-node-api': async () => {
    const { DuckDbNodeApi } = await import('../../clients/duckdb-node-api.js');
    return duckDbPlace(await DuckDbNodeApi.open(), bigintRows);
  },
  'duckdb-node-bindings': async () => {
    const { DuckDbBindings } = await import('../../clients/duckdb-node-bindings.js');
    const memory = new RowBatch(PIECE_ROWS);
    return duckDbPlace(await DuckDbBindings.open(), (part) => memory.make(part));
  },
  mysql2: (mysql) => mysql2Place(mysql, { isPrepared: false }),
  'mysql2-execute': (mysql) => mysql2Place(mysql, { isPrepared: true }),
};

type MysqlServer = () => Promise<readonly [url: string, engine: ConnectedEngine]>;

async function mysql2Place(mysql: MysqlServer, options: { readonly isPrepared: boolean }): Promise<CellOpener> {
  const { openMysql2Place } = await import('./mysql2-cells.js');
  return openMysql2Place(...(await mysql()), options);
}

function columnTablePlace<Table>(client: JsTableClient<Table>): CellOpener {
  return tablePlace({ [client.name]: client.version }, columnTables(client));
}
