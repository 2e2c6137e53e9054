/** The optional clients, which users may have installed as alternatives. */
import { POLARS, PolarsClient, type PolarsFrame } from '../../clients/nodejs-polars.js';
import { optionalVersion, whyUnusable } from '../../clients/optional-package.js';
import { SqliteClient } from '../../clients/sqlite.js';
import type { TableSize } from './column-table-cells.js';
import { LoadedTables } from './loaded-tables.js';
import type { Place } from './place.js';
import { loadPolarsFrame, openPolarsCell } from './polars-cells.js';
import { loadSqliteTable, openSqliteCell } from './sqlite-cells.js';

interface Peer {
  /** The npm package, or the module of Node, that must be installed. */
  readonly packageName: string;
  open(): Place;
}

/** The peers by their names in the matrix. */
export const PEERS: Readonly<Record<string, Peer>> = {
  'node-sqlite': { packageName: 'node:sqlite', open: () => sqlitePlace('node:sqlite') },
  'better-sqlite3': { packageName: 'better-sqlite3', open: () => sqlitePlace('better-sqlite3') },
  'nodejs-polars': { packageName: POLARS, open: polarsPlace },
};

/** The reason why a peer can't be used here; `undefined` if it can, or `client` is not a peer. */
export function peerSkip(client: string): string | undefined {
  const peer = PEERS[client];
  return peer === undefined ? undefined : whyUnusable(peer.packageName);
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
