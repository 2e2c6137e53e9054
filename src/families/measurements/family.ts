import { apacheArrow } from '../../clients/apache-arrow.js';
import {
  DUCKDB_NODE_API_VERSION,
  type DuckDbInterface,
  DuckDbPeer,
  duckDbValues,
  duckDbVectors,
} from '../../clients/duckdb-node-api.js';
import { flechette } from '../../clients/flechette.js';
import type { ColumnTableTarget } from '../../clients/measurement-table.js';
import { useHyperd } from '../../host/hyperd.js';
import { SERVER_OPTIONS } from '../requests/options.js';
import { openTarget, type TargetServer } from '../requests/target-server.js';
import { ownDatabase } from '../sql/database.js';
import type { Family, FamilyOptions, OpenCell, OpenFamily } from '../workload.js';
import { openNapiCell, openNativeCell } from './addon-cells.js';
import { type TableSize, buildTable, openColumnTableCell } from './column-table-cells.js';
import { ConnectedEngine } from './connected-engine.js';
import { loadDuckDbTable, openDuckDbCell } from './duckdb-cells.js';
import { LoadedTables } from './loaded-tables.js';
import { matrix } from './matrix.js';
import { openMysql2Place } from './mysql2-cells.js';
import { MEASUREMENTS_OPTIONS, type MeasurementsValues } from './options.js';
import { PEERS } from './peers.js';
import type { Place } from './place.js';
import { FAMILY_NAME, type PlannedMeasurement, planMeasurements } from './plan.js';

/** Bulk insert, scan, filter and aggregate of one table, on all sides. */
export const measurementsFamily: Family<MeasurementsValues> = {
  name: FAMILY_NAME,
  description: matrix.description,
  defaultRows: matrix.defaultRows,
  options: { ...MEASUREMENTS_OPTIONS, ...SERVER_OPTIONS.mysql },
  plan: (options) => {
    const hyperd = useHyperd(options.hyperd);
    try {
      return planMeasurements(options);
    } finally {
      hyperd[Symbol.dispose]();
    }
  },
  open: async (options, cells) => new OpenMeasurements(options, cells as readonly PlannedMeasurement[]),
};

class OpenMeasurements implements OpenFamily {
  readonly #engineUris: FamilyOptions['engines'];
  readonly #cells: readonly PlannedMeasurement[];
  readonly #places = new Map<string, Promise<Place>>();
  /** The group of the cell that was opened last. */
  #group: string | undefined;
  readonly #hyperd: Disposable;
  #mysql: Promise<{ readonly server: TargetServer; readonly url: string }> | undefined;

  constructor({ engines, hyperd }: FamilyOptions & MeasurementsValues, cells: readonly PlannedMeasurement[]) {
    this.#engineUris = engines;
    this.#hyperd = useHyperd(hyperd);
    this.#cells = cells;
  }

  async versions(): Promise<Readonly<Record<string, string>>> {
    const names = [...new Set(this.#cells.filter(({ skip }) => skip === undefined).map(placeOf))];
    // A place that can't be opened fails its own cells, with the reason; other cells go on.
    const places = opened(await Promise.allSettled(names.map((name) => this.#place(name))));
    return Object.assign({}, ...places.map(({ versions }) => versions)) as Record<string, string>;
  }

  async openCell(planned: PlannedMeasurement): Promise<OpenCell> {
    const { cell, tableRows, group, target } = planned;
    if (group !== this.#group) await this.#makeRoom();
    this.#group = group;
    const place = await this.#place(placeOf(planned));
    return place.openCell({ ...cell, rows: tableRows }, target);
  }

  async close(): Promise<void> {
    this.#hyperd[Symbol.dispose]();
    const places = opened(await Promise.allSettled(this.#places.values()));
    this.#places.clear();
    const outcomes = await Promise.allSettled(places.map((place) => place.close()));
    // A server that could not be opened has failed its cells, and needs no closing.
    await (await this.#mysql?.catch(() => undefined))?.server.close();
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  /** Drops the tables of earlier groups: the tables of one group at a time fit in memory. */
  async #makeRoom(): Promise<void> {
    const places = opened(await Promise.allSettled(this.#places.values()));
    for (const place of places) await place.unloadIdle();
  }

  #place(name: string): Promise<Place> {
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.#openPlace(name);
      this.#places.set(name, place);
    }
    return place;
  }

  async #openPlace(name: string): Promise<Place> {
    const open = CLIENTS[name] ?? PEERS[name]?.open;
    if (open !== undefined) return open(() => this.#mysqlUrl());
    const isOnMysql = matrix.engines[name]?.server === MYSQL;
    return openEngine(name, isOnMysql ? await this.#mysqlUrl() : (this.#engineUris[name] ?? `${name}:`));
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

/** The name of a cell's place: its JavaScript client, else its engine. */
function placeOf({ cell, target }: PlannedMeasurement): string {
  return cell.side === 'js' ? (target ?? cell.engine) : cell.engine;
}

async function openEngine(name: string, uri: string): Promise<Place> {
  const engine = await ConnectedEngine.open(name, uri);
  return {
    versions: { [name]: engine.version },
    openCell: async (cell, target) => {
      const connected = await engine.over(cell.transport);
      return cell.side === 'rust' ? openNativeCell(connected, cell, target) : openNapiCell(connected, cell);
    },
    unloadIdle: () => engine.unloadIdle(),
    close: () => engine.close(),
  };
}

/** The server that an engine shares with JavaScript clients. */
const MYSQL = 'mysql';

/** The clients of the `js` side, by the name of their target in the matrix; each may ask for the URL of the MySQL server. */
const CLIENTS: Readonly<Record<string, (mysqlUrl: () => Promise<string>) => Promise<Place>>> = {
  [apacheArrow.name]: async () => columnTablePlace(apacheArrow),
  [flechette.name]: async () => columnTablePlace(flechette),
  [duckDbValues.name]: () => duckDbPlace(duckDbValues),
  [duckDbVectors.name]: () => duckDbPlace(duckDbVectors),
  mysql2: async (mysqlUrl) => openMysql2Place(await mysqlUrl()),
  'mysql2-execute': async (mysqlUrl) => openMysql2Place(await mysqlUrl(), { isPrepared: true }),
};

function columnTablePlace<Table>(target: ColumnTableTarget<Table>): Place {
  const tables = new LoadedTables<TableSize, Table>({
    load: async (size) => buildTable(target, size),
    unload: async () => {},
  });
  return {
    versions: { [target.name]: target.version },
    openCell: (cell) => openColumnTableCell(target, tables, cell),
    unloadIdle: () => tables.unloadIdle(),
    close: () => tables.unloadAll(),
  };
}

async function duckDbPlace(client: DuckDbInterface): Promise<Place> {
  const peer = await DuckDbPeer.open();
  const tables = new LoadedTables<TableSize, string>({
    load: (size) => loadDuckDbTable(peer, client, size),
    unload: (_size, table) => peer.dropTable(table),
  });
  return {
    versions: { '@duckdb/node-api': DUCKDB_NODE_API_VERSION },
    openCell: (cell) => openDuckDbCell(peer, client, tables, cell),
    unloadIdle: () => tables.unloadIdle(),
    close: async () => peer.close(),
  };
}
