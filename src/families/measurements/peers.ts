/** The optional clients, which users may have installed as alternatives. */
import { HYPERDB_API_NODE, HyperdbClient } from '../../clients/hyperdb-api-node.js';
import { whyUnusable } from '../../clients/optional-package.js';
import { findHyperd } from '../../host/hyperd.js';
import { DatabaseFolder } from './connected-engine.js';
import { isServer } from './engine-uris.js';
import { type CellOpener, tablePlace } from './table-cells.js';

interface Peer {
  /** The npm package, or the module of Node, that must be installed. */
  readonly packageName: string;
  /** The only transport to the server that the client starts for itself; absent: it starts none. */
  readonly ownServerOver?: string;
  open(): CellOpener | Promise<CellOpener>;
}

/** The peers by their names in the matrix. */
export const PEERS: Readonly<Record<string, Peer>> = {
  'hyperdb-api-node': { packageName: HYPERDB_API_NODE, ownServerOver: 'tcp', open: hyperdbPlace },
};

/** The reason why a peer can't be used here, if the engine has this URI; `undefined` if it can, or `client` is not a peer. */
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

async function hyperdbPlace(): Promise<CellOpener> {
  const hyperd = findHyperd();
  if ('missing' in hyperd) throw new Error(hyperd.missing);
  // Imported on demand, since it reads and writes Arrow streams by a package that may not be installed.
  const { hyperdbTables } = await import('./hyperdb-api-node-cells.js');
  const folder = await DatabaseFolder.create();
  try {
    const client = await HyperdbClient.open(hyperd.path, folder.path);
    return tablePlace({ [HYPERDB_API_NODE]: HyperdbClient.version() }, hyperdbTables(client), async () => {
      await client.close();
      await folder.remove();
    });
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
