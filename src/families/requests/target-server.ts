/** The server to which the cells of a family send their requests: the user's, or a private one. */
import { randomBytes } from 'node:crypto';

import { type PrivateServer, addon } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import { serveCommand, serveSkip } from '../../library/crossing/reference-server.js';
import type { SimulatedNetwork } from '../../records/record.js';
import { apiKeyOf } from './api-keys.js';

/** The kind of a server, by its protocol; also the engine of its cells. */
export type ServerKind = 'mysql' | 'redis' | 'rest' | 'ingest' | 'shards';

/** The environment variables of servers' URLs, if no option names one. */
const URL_VARIABLES: Readonly<Record<ServerKind, string>> = {
  mysql: 'MYSQL_URL',
  redis: 'REDIS_URL',
  rest: 'REST_URL',
  ingest: 'INGEST_URL',
  shards: 'SHARDS_URL',
};

/** The kinds whose private server is the reference server. */
const REFERENCE_KINDS: ReadonlySet<ServerKind> = new Set(['rest', 'ingest', 'shards']);

/** The prefix of all names that we make on a server. */
const OWN_PREFIX = 'bb';

/** A server that responds. */
export interface TargetServer {
  readonly kind: ServerKind;
  /** The URL, with its password if there is one: for clients only. */
  readonly url: string;
  /** The name and version of the server. */
  readonly version: string;
  /** Whether we started the server. */
  readonly isPrivate: boolean;
  /** The network simulated between the server and this process. */
  readonly network?: SimulatedNetwork;
  /** The ids of the server's processes, if they are known and on this machine. */
  readonly processIds: readonly number[];
  /** A new prefix, of letters and digits, for the names of one cell's objects on the server. */
  newPrefix(): string;
  /** How a private server ended by itself; `undefined` while it runs, and for the user's server. */
  ending(): string | undefined;
  /** Stops a private server. */
  close(): Promise<void>;
}

/** The URL of the user's server, from an option or an environment variable; `undefined`: a private one is wanted. */
export function targetUrl(kind: ServerKind, engines: Readonly<Record<string, string>>): string | undefined {
  const url = engines[kind] ?? process.env[URL_VARIABLES[kind]];
  // `redis:` alone asks for a private server, as for engines.
  if (url === undefined || url === '' || url === `${kind}:`) return undefined;
  const key = apiKeyOf(kind);
  // The URL of shards is a list of URLs.
  return key === undefined
    ? url
    : url
        .split(',')
        .map((one) => withApiKey(one, key))
        .join(',');
}

/**
 * The URL of a server with its API key as the password, so that it is hidden wherever URLs are shown. Clients send the key in a
 * header instead.
 */
export function withApiKey(url: string, key: string | undefined): string {
  if (key === undefined || key === '') return url;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new BoundaryError('BB_INVALID_ARGUMENT', 'the URL of the server is none: it looks like http://host:4406');
  }
  if (parsed.password === '') parsed.password = key;
  return parsed.href.replace(/\/$/, '');
}

/** The reason why there is no server of this kind, if it is known before one is started. */
export function targetSkip(kind: ServerKind, engines: Readonly<Record<string, string>>): string | undefined {
  if (targetUrl(kind, engines) !== undefined) return undefined;
  if (REFERENCE_KINDS.has(kind)) return serveSkip();
  try {
    addon.PrivateServer.find(addonKind(kind));
    return undefined;
  } catch (error) {
    return toBoundaryError(error).message;
  }
}

/**
 * Connects to the user's server, or starts a private one; the reference server gets `serverOptions`, as `boundary-bench serve`
 * takes them. Throws the error of the server or of its start.
 */
export async function openTarget(
  kind: ServerKind,
  engines: Readonly<Record<string, string>>,
  serverOptions: readonly string[] = [],
): Promise<TargetServer> {
  const url = targetUrl(kind, engines);
  if (url !== undefined) return describedTarget(kind, url);
  const command = REFERENCE_KINDS.has(kind) ? [...serveCommand(), ...serverOptions] : undefined;
  let server: PrivateServer;
  try {
    server = await addon.PrivateServer.start(addonKind(kind), command);
  } catch (error) {
    throw toBoundaryError(error);
  }
  try {
    return await describedTarget(kind, server.url, server);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function describedTarget(kind: ServerKind, url: string, server?: PrivateServer): Promise<TargetServer> {
  let described: string;
  try {
    described = await addon.PrivateServer.describe(addonKind(kind), url);
  } catch (error) {
    throw toBoundaryError(error);
  }
  const info = JSON.parse(described) as { readonly version: string; readonly processId?: number };
  const processId = server?.processId ?? info.processId;
  const run = randomBytes(4).toString('hex');
  let cells = 0;
  return {
    kind,
    url,
    version: server === undefined ? info.version : `${info.version} (private)`,
    isPrivate: server !== undefined,
    processIds: processId === undefined ? [] : [processId],
    newPrefix: () => `${OWN_PREFIX}${run}n${(cells += 1)}`,
    ending: () => server?.ending ?? undefined,
    close: async () => server?.stop(),
  };
}

function addonKind(kind: ServerKind): Parameters<typeof addon.PrivateServer.find>[0] {
  return kind as Parameters<typeof addon.PrivateServer.find>[0];
}
