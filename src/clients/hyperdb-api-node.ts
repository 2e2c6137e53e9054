/**
 * `hyperdb-api-node`, Hyper's own Node binding, if its package for this platform is installed: the package in JavaScript around it
 * is not published, and adds iterators alone. Its `index.d.ts` (github.com/tableau/hyper-api-rust, folder `hyperdb-api-node`) names
 * `addColumnar` and `ArrowInserter` as its fast ways in, and `executeQueryColumnar` and `executeQueryToArrow` as its fast ways out.
 * It has no settings. An `ArrowInserter` takes one stream: hyperd silently ignores what follows the end of the first.
 */
import { join } from 'node:path';

import { HYPERD_NPM } from '../host/hyperd.js';
import { loadPackage, optionalVersion } from './optional-package.js';

export const HYPERDB_API_NODE = HYPERD_NPM.name;

/** The part of the package that is used. */
interface HyperdbApi {
  readonly HyperProcess: new (hyperd: string) => { readonly endpoint: string; close(): void };
  readonly Connection: {
    connect(endpoint: string, path: string, mode: 'CreateAndReplace'): Promise<HyperdbConnection>;
  };
  readonly TableDefinition: new (name: string) => { addColumn(name: string, type: unknown, isNullable: boolean): void };
  readonly SqlType: { int(): unknown; double(): unknown; bigInt(): unknown };
  readonly RowInserter: new (connection: HyperdbConnection, table: object) => HyperdbRowInserter;
  readonly ArrowInserter: { create(connection: HyperdbConnection, table: object): HyperdbArrowInserter };
}

export interface HyperdbConnection {
  executeCommand(sql: string): Promise<number>;
  executeQuery(sql: string): Promise<HyperdbRow[]>;
  executeQueryStream(sql: string): { nextChunk(): Promise<HyperdbRow[] | null> };
  executeQueryColumnar(sql: string): { nextChunk(): Promise<HyperdbChunk | null> };
  executeQueryToArrow(sql: string): Promise<Buffer>;
  close(): Promise<void>;
}

/** A row, each of whose values is read by a call; null for a null or for another type. */
export interface HyperdbRow {
  getInt32(column: number): number | null;
  getInt64(column: number): number | null;
  getFloat64(column: number): number | null;
  getString(column: number): string | null;
}

/** A chunk of a result, whose columns are copied into arrays. */
export interface HyperdbChunk {
  readonly rowCount: number;
  getInt32Column(column: number): number[];
  getInt64Column(column: number): number[];
  getFloat64Column(column: number): number[];
}

export interface HyperdbRowInserter {
  addRows(rows: readonly (readonly number[])[]): void;
  addColumnar(int32: HyperdbColumns, float64: HyperdbColumns, int64: HyperdbColumns, rows: number): void;
  execute(): Promise<number>;
}

/** Columns by their positions in the table. */
export type HyperdbColumns = Readonly<Record<number, readonly number[]>>;

export interface HyperdbArrowInserter {
  /** Sends a piece of one Arrow IPC stream. */
  insertRaw(piece: Buffer): Promise<void>;
  execute(): Promise<number>;
  cancel(): Promise<void>;
}

/** The binding with a hyperd and a database of its own. */
export class HyperdbClient {
  readonly #api: HyperdbApi;
  readonly #server: { close(): void };
  readonly connection: HyperdbConnection;

  private constructor(api: HyperdbApi, server: { close(): void }, connection: HyperdbConnection) {
    this.#api = api;
    this.#server = server;
    this.connection = connection;
  }

  /** Starts the server at the path `hyperd`, which keeps its database and its log in `folder`. */
  static async open(hyperd: string, folder: string): Promise<HyperdbClient> {
    const api = loadPackage<HyperdbApi>(HYPERDB_API_NODE);
    // The binding has no setting for the folder of the log, which is the working directory.
    const before = process.cwd();
    process.chdir(folder);
    let server;
    try {
      server = new api.HyperProcess(hyperd);
    } finally {
      process.chdir(before);
    }
    try {
      const path = join(folder, 'reference.hyper');
      return new HyperdbClient(api, server, await api.Connection.connect(server.endpoint, path, 'CreateAndReplace'));
    } catch (error) {
      server.close();
      throw error;
    }
  }

  static version(): string {
    return optionalVersion(HYPERDB_API_NODE);
  }

  /** Creates a table of measurements, dropping a table with its name. */
  async createTable(table: string): Promise<void> {
    await this.dropTable(table);
    await this.connection.executeCommand(
      `CREATE TABLE ${table} (id INT NOT NULL, sensor_id INT, value DOUBLE PRECISION, timestamp BIGINT)`,
    );
  }

  async dropTable(table: string): Promise<void> {
    await this.connection.executeCommand(`DROP TABLE IF EXISTS ${table}`);
  }

  rowInserter(table: string): HyperdbRowInserter {
    return new this.#api.RowInserter(this.connection, this.#definitionOf(table));
  }

  /** An inserter of a stream, whose fields may be null exactly if the table's columns may. */
  arrowInserter(table: string): HyperdbArrowInserter {
    return this.#api.ArrowInserter.create(this.connection, this.#definitionOf(table));
  }

  #definitionOf(table: string): object {
    const { SqlType, TableDefinition } = this.#api;
    const definition = new TableDefinition(table);
    definition.addColumn('id', SqlType.int(), false);
    definition.addColumn('sensor_id', SqlType.int(), true);
    definition.addColumn('value', SqlType.double(), true);
    definition.addColumn('timestamp', SqlType.bigInt(), true);
    return definition;
  }

  async close(): Promise<void> {
    await this.connection.close();
    this.#server.close();
  }
}
