/** The server that the cells of a family send their requests to: the user's, or a private one. */
import { randomBytes } from 'node:crypto';

import { type PrivateServer, addon } from '../../addon.js';
import { toBoundaryError } from '../../errors.js';

/** A kind of server, by its wire; also the name of the engine of its cells. */
export type ServerKind = 'mysql' | 'redis';

/** The variables that name a server where no option does. */
const URL_VARIABLES: Readonly<Record<ServerKind, string>> = { mysql: 'MYSQL_URL', redis: 'REDIS_URL' };

/** The beginning of the names of everything that is ours on a server. */
const OWN_PREFIX = 'bb';

/** A server that answers. */
export interface TargetServer {
  readonly kind: ServerKind;
  /** With its password, if any: for clients only. */
  readonly url: string;
  /** Its name and version. */
  readonly version: string;
  /** Whether it is ours alone. */
  readonly isPrivate: boolean;
  /** Its process, where it is known and on this machine. */
  readonly processId?: number;
  /** A beginning for the names of what one cell owns on the server. Each call gives another, of letters and digits. */
  newPrefix(): string;
  /** How a private server ended by itself; `undefined` while it runs, and of the user's. */
  ending(): string | undefined;
  /** Stops a private server. */
  close(): Promise<void>;
}

/** The URL of the server that the user names, by an option or by a variable; `undefined`: a private one is wanted. */
export function targetUrl(kind: ServerKind, engines: Readonly<Record<string, string>>): string | undefined {
  const url = engines[kind] ?? process.env[URL_VARIABLES[kind]];
  // `redis:` alone asks for a private server, as it does of an engine.
  return url === undefined || url === '' || url === `${kind}:` ? undefined : url;
}

/** Why there is no server of this kind, where that is known before one is started. */
export function targetSkip(kind: ServerKind, engines: Readonly<Record<string, string>>): string | undefined {
  if (targetUrl(kind, engines) !== undefined) return undefined;
  try {
    addon.PrivateServer.find(addonKind(kind));
    return undefined;
  } catch (error) {
    return toBoundaryError(error).message;
  }
}

/** Reaches the user's server, or starts a private one. Throws what the server or its start says. */
export async function openTarget(kind: ServerKind, engines: Readonly<Record<string, string>>): Promise<TargetServer> {
  const url = targetUrl(kind, engines);
  if (url !== undefined) return describedTarget(kind, url);
  let server: PrivateServer;
  try {
    server = await addon.PrivateServer.start(addonKind(kind));
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
    ...(processId === undefined ? {} : { processId }),
    newPrefix: () => `${OWN_PREFIX}${run}n${(cells += 1)}`,
    ending: () => server?.ending ?? undefined,
    close: async () => server?.stop(),
  };
}

function addonKind(kind: ServerKind): Parameters<typeof addon.PrivateServer.find>[0] {
  return kind as Parameters<typeof addon.PrivateServer.find>[0];
}
