import { DUCKDB_SETTINGS } from '../../clients/duckdb-client.js';
import { whyEngineNotBuilt } from '../../clients/references.js';
import { findHyperd } from '../../host/hyperd.js';
import { findSail } from '../../host/sail.js';
import { targetSkip } from '../requests/target-server.js';
import { matrix } from './matrix.js';

/** By the server that an engine needs: the reason why it can't be started, if one is known. */
const MISSING: Readonly<Record<string, () => string | undefined>> = {
  hyperd: () => missingOf(findHyperd()),
  sail: () => missingOf(findSail()),
  mysql: () => targetSkip('mysql', {}),
  reference: () => targetSkip('rest', {}),
};

function missingOf(found: object | { readonly missing: string }): string | undefined {
  return 'missing' in found ? found.missing : undefined;
}

/** The URI of an engine, in parts. */
interface EngineUri {
  /** The URI without its query. */
  readonly place: string;
  /** Whether the URI names a server that already runs. */
  readonly isServer: boolean;
  /** The transport that the URI names. */
  readonly transport: string | undefined;
}

/** The reason why an engine can't be opened over a transport; undefined if none is known. */
export function engineSkip(engine: string, uri: string | undefined, transport?: string): string | undefined {
  const { isServer, transport: named } = partsOf(uri ?? `${engine}:`);
  if (transport !== undefined && named !== undefined && transport !== named) {
    return `the URI of the engine ${engine} names the transport ${named}`;
  }
  // The server's other endpoints have addresses of their own, which the URI does not contain.
  if (isServer && transport !== defaultTransport(engine)) {
    return `a ${engine} server that runs already is reached over ${defaultTransport(engine)} alone`;
  }
  return whyEngineNotBuilt(engine) ?? (isServer ? undefined : MISSING[matrix.engines[engine]?.server ?? '']?.());
}

/** The URI of an engine that the user gives none for. */
export function defaultUri(engine: string): string {
  return engine === 'embedded' ? `embedded:?${new URLSearchParams(DUCKDB_SETTINGS).toString()}` : `${engine}:`;
}

/** The URI of an engine over one of its transports. */
export function overTransport(uri: string, transport: string | undefined): string {
  return transport === undefined ? uri : `${partsOf(uri).place}?transport=${transport}`;
}

/** The transport that supports everything. Tables are loaded over it. */
export function defaultTransport(engine: string): string | undefined {
  return Object.keys(matrix.engines[engine]?.transports ?? {})[0];
}

/** Whether a URI names neither a server nor a file: the engine then chooses where rows live. */
export function isBareUri(engine: string, uri: string): boolean {
  return partsOf(uri).place === `${engine}:`;
}

/**
 * Whether an engine keeps its tables in a file that one process at a time can open. That is the file that a URI names
 * or, for an engine whose server each process starts for itself, the file of the run.
 */
export function isOwnFile(engine: string, uri = `${engine}:`): boolean {
  if (isServer(uri) || matrix.engines[engine] === undefined) return false;
  return defaultTransport(engine) !== undefined || (!isBareUri(engine, uri) && engine !== 'memory');
}

/** Whether a URI names a server that already runs. */
export function isServer(uri: string): boolean {
  return partsOf(uri).isServer;
}

function partsOf(uri: string): EngineUri {
  const [place = '', query = ''] = uri.split('?', 2);
  return {
    place,
    isServer: /^[a-z+]+:\/\//.test(place),
    transport: new URLSearchParams(query).get('transport') ?? undefined,
  };
}
