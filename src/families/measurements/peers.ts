/** The optional clients, which users may have installed as alternatives. */
import { HYPERDB_API_NODE, HyperdbClient } from '../../clients/hyperdb-api-node.js';
import { POLARS, PolarsClient, type PolarsFrame } from '../../clients/nodejs-polars.js';
import { optionalVersion, whyUnusable } from '../../clients/optional-package.js';
import { SqliteClient } from '../../clients/sqlite.js';
import { findHyperd } from '../../host/hyperd.js';
import type { TableSize } from './column-table-cells.js';
import { DatabaseFolder } from './connected-engine.js';
import { isServer } from './engine-uris.js';
import { LoadedTables } from './loaded-tables.js';
import type { Place } from './place.js';
import { loadPolarsFrame, openPolarsCell } from './polars-cells.js';
import { loadSqliteTable, openSqliteCell } from './sqlite-cells.js';

interface Peer {
  /** The npm package, or the module of Node, that must be installed. */
  readonly packageName: string;
  /** The only transport to the server that the client starts for itself; absent: it starts none. */
  readonly ownServerOver?: string;
  open(): Place | Promise<Place>;
}

/** The peers by their names in the matrix. */
export const PEERS: Readonly<Record<string, Peer>> = {
  'node-sqlite': { packageName: 'node:sqlite', open: () => sqlitePlace('node:sqlite') },
  'better-sqlite3': { packageName: 'better-sqlite3', open: () => sqlitePlace('better-sqlite3') },
  'nodejs-polars': { packageName: POLARS, open: polarsPlace },
  'hyperdb-api-node': { packageName: HYPERDB_API_NODE, ownServerOver: 'tcp', open: hyperdbPlace },
};

/** The reason why a peer can't be used here, where the engine has this URI; `undefined` if it can, or `client` is not a peer. */
export function peerSkip(client: string, uri: string | undefined): string | undefined {
  const peer = PEERS[client];
  if (peer === undefined) return undefined;
  if (peer.ownServerOver !== undefined && uri !== undefined && isServer(uri)) {
    return `${client} is measured on a server of its own alone`;
  }
  return whyUnusable(peer.packageName);
}

/** Whether a client is measured over a transport of its engine. */
export function isReachedOver(client: string | undefined, transport: string | undefined): boolean {
  const { ownServerOver } = PEERS[client ?? ''] ?? {};
  return ownServerOver === undefined || ownServerOver === transport;
}

function sqlitePlace(packageName: string): Place {
  const client = new SqliteClient(packageName);
  const tables = new LoadedTables<TableSize, string>({
    load: async (size) => loadSqliteTable(client, size),
    unload: async (_size, table) => client.dropTable(table),
  });
  return {
    versions: { [packageName]: optionalVersion(packageName) },
    openCell: (cell) => openSqliteCell(client, tables, cell),
    close: async () => client.close(),
  };
}

function polarsPlace(): Place {
  const client = new PolarsClient();
  const frames = new LoadedTables<TableSize, PolarsFrame>({
    load: async (size) => loadPolarsFrame(client, size),
    unload: async () => {},
  });
  return {
    versions: { [POLARS]: optionalVersion(POLARS) },
    openCell: (cell) => openPolarsCell(client, frames, cell),
    close: async () => {},
  };
}

async function hyperdbPlace(): Promise<Place> {
  const hyperd = findHyperd();
  if ('missing' in hyperd) throw new Error(hyperd.missing);
  // Imported on demand, since it reads and writes Arrow streams by a package that may not be installed.
  const { loadHyperdbTable, openHyperdbCell } = await import('./hyperdb-api-node-cells.js');
  const folder = await DatabaseFolder.create();
  try {
    const client = await HyperdbClient.open(hyperd.path, folder.path);
    const tables = new LoadedTables<TableSize, string>({
      load: (size) => loadHyperdbTable(client, size),
      unload: (_size, table) => client.dropTable(table),
    });
    return {
      versions: { [HYPERDB_API_NODE]: HyperdbClient.version() },
      openCell: (cell) => openHyperdbCell(client, tables, cell),
      close: async () => {
        await client.close();
        await folder.remove();
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
