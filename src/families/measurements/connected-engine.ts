import { join } from 'node:path';

import { type Connection, connect } from '../../library/engine/connection.js';
import { TemporaryFolder, newFolder } from '../temporary-folder.js';
import { type AddonEngine, type QueryTables, queryTablesOf } from './addon-cells.js';
import { defaultTransport, isBareUri, overTransport } from './engine-uris.js';

/**
 * An engine of a run: a connection per transport, all to one database, whose tables are loaded once for all of them. A
 * transport is connected when its first cell is opened.
 */
export class ConnectedEngine {
  readonly #uri: string;
  readonly #folder: DatabaseFolder | undefined;
  /** The connection that loads the tables. */
  readonly #loader: Connection;
  readonly #loaderTransport: string | undefined;
  readonly #tables: QueryTables;
  readonly #others = new Map<string, Promise<Connection>>();

  private constructor(
    uri: string,
    folder: DatabaseFolder | undefined,
    loader: Connection,
    { transport, isShared }: { readonly transport: string | undefined; readonly isShared: boolean },
  ) {
    this.#uri = uri;
    this.#folder = folder;
    this.#loader = loader;
    this.#loaderTransport = transport;
    this.#tables = queryTablesOf(loader, isShared);
  }

  /** Connects to an engine. Its tables are kept if they are shared with other processes. */
  static async open(name: string, uri: string, isShared = false): Promise<ConnectedEngine> {
    const transport = defaultTransport(name);
    const { place, folder } = await DatabaseFolder.placeOf(name, uri);
    try {
      return new ConnectedEngine(place, folder, await connect(overTransport(place, transport)), {
        transport,
        isShared,
      });
    } catch (error) {
      await folder?.remove();
      throw error;
    }
  }

  get version(): string {
    return this.#loader.engine.version;
  }

  /** The engine over a transport, or over the default connection if there is none to choose. */
  async over(transport: string | undefined): Promise<AddonEngine> {
    const connection =
      transport === undefined || transport === this.#loaderTransport ? this.#loader : await this.#other(transport);
    return { connection, tables: this.#tables };
  }

  /** Closes all connections, and removes the folder that was made for the run. */
  async close(): Promise<void> {
    const others = await Promise.allSettled(this.#others.values());
    for (const other of others) if (other.status === 'fulfilled') await other.value.close();
    await this.#loader.close();
    await this.#folder?.remove();
  }

  #other(transport: string): Promise<Connection> {
    let connection = this.#others.get(transport);
    if (connection === undefined) {
      connection = connect(overTransport(this.#uri, transport));
      this.#others.set(transport, connection);
    }
    return connection;
  }
}

/** A temporary folder for the database of a run. */
export class DatabaseFolder extends TemporaryFolder {
  static override async create(): Promise<DatabaseFolder> {
    return new DatabaseFolder(await newFolder());
  }

  /** The URI of an engine with a database that several connections share: by its name, so a new database needs a file. */
  static async placeOf(
    name: string,
    uri: string,
  ): Promise<{ readonly place: string; readonly folder: DatabaseFolder | undefined }> {
    const isNew = defaultTransport(name) !== undefined && isBareUri(name, uri);
    const folder = isNew ? await DatabaseFolder.create() : undefined;
    return { place: folder?.uriOf(name) ?? uri, folder };
  }

  /** The URI of the database of an engine in this folder. */
  uriOf(engine: string): string {
    return `${engine}:${join(this.path, `bench.${engine}`)}`;
  }
}
