/** The server to which the cells of a family send their requests: the user's, or a private one. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';

import { type PrivateServer, crossing } from '../../crossing-addon.js';
import { whyMissing } from '../../binaries.js';
import { whyEngineNotBuilt } from '../../clients/references.js';
import { urlParts } from '../../clients/url-parts.js';
import { explained, explainedAsync } from '../../errors.js';
import type { SimulatedNetwork } from '../../records/record.js';
import type { FamilyOptions, SharedServer } from '../workload.js';
import { serverUrlOf } from './http-address.js';

/** The kind of a server, by its protocol, which is also the engine of its cells. */
export type ServerKind = 'mysql' | 'redis' | 'redis-cluster' | 'rest' | 'ingest' | 'shards';

/** The wait before a cluster is asked again, in milliseconds. */
const POLL_MS = 200;

/** The prefix of all names that we make on a server. */
const OWN_PREFIX = 'bb';

/** The number of digits that names have of their run, and of the process that makes them. */
const NAME_DIGITS = 4;
const MOST_IN_NAME = 36 ** NAME_DIGITS;

function digitsOf(number: number): string {
  return (number % MOST_IN_NAME).toString(36).padStart(NAME_DIGITS, '0');
}

/** A server that responds. */
export interface TargetServer {
  readonly kind: ServerKind;
  /** The URL, with its password if there is one: for clients only. */
  readonly url: string;
  /** The name and version of the server. */
  readonly version: string;
  /** Whether we started the server. */
  readonly isPrivate: boolean;
  /** The number of connections that the user's server takes besides the connections of others, if it tells its limit. */
  readonly mostConnections?: number;
  /** The network simulated between the server and this process. */
  readonly network?: SimulatedNetwork;
  /** The things that cells do differently, one clause each, since the server has only a part of its dialect. Absent: none. */
  readonly adaptations?: readonly string[];
  /** The ids of the server's processes, if they are known and on this machine. */
  readonly processIds: readonly number[];
  /** The beginning of all names that any process of the run makes on the server. */
  readonly namePrefix: string;
  /** A new prefix, of letters and digits, for the names of one cell's objects on the server. */
  newPrefix(): string;
  /** How a private server ended by itself; `undefined` while it runs, and for the user's server. */
  ending(): string | undefined;
  /** Closes what this process alone has of the server, before another process opens the same; absent: there is nothing. */
  handOver?(): void;
  /** Stops a private server. */
  close(): Promise<void>;
}

/** The URL of the server that the user names; `undefined`: a private one is wanted. */
export function targetUrl(kind: ServerKind, engines: Readonly<Record<string, string>>): string | undefined {
  const url = engines[kind];
  // `redis:` alone asks for a private server, as it does of an engine.
  return url === '' || url === `${kind}:` ? undefined : url;
}

/** The engine URIs, with the key of its kind in the URL of a server. */
export function enginesWithKey(kind: ServerKind, { engines, apiKeys }: FamilyOptions): FamilyOptions['engines'] {
  const url = targetUrl(kind, engines);
  if (url === undefined) return engines;
  // Shards are a list of URLs.
  const urls = url.split(',').map((one) => withApiKey(one, apiKeys?.[kind]));
  return { ...engines, [kind]: urls.join(',') };
}

/**
 * The URL of a server with its API key as the password, so that it is hidden wherever URLs are shown. Clients send the
 * key in a header instead.
 */
export function withApiKey(url: string, key: string | undefined): string {
  if (key === undefined || key === '') return url;
  const parsed = serverUrlOf(url);
  if (parsed.password === '') parsed.password = key;
  return parsed.href.replace(/\/$/, '');
}

/** The reason why there is no server of this kind, if it is known before one is started. */
export function targetSkip(kind: ServerKind, engines: Readonly<Record<string, string>>): string | undefined {
  const notBuilt = whyEngineNotBuilt(kind);
  if (notBuilt !== undefined || targetUrl(kind, engines) !== undefined) return notBuilt;
  return whyMissing(() => serverProgram(kind));
}

/** The path of the program that private servers of a kind run. Throws `BB_NOT_INSTALLED`, with what to do, if there is none. */
export function serverProgram(kind: ServerKind): string {
  return explained(() => crossing.PrivateServer.find(addonKind(kind)));
}

/**
 * Connects to the user's server, or starts a private one with `serverOptions`, as its program takes them. `shared`:
 * another process has reached or started it. Throws the error of the server or of its start.
 */
export async function openTarget(
  kind: ServerKind,
  engines: Readonly<Record<string, string>>,
  serverOptions: readonly string[] = [],
  shared?: SharedServer,
): Promise<TargetServer> {
  const url = targetUrl(kind, engines);
  if (url !== undefined) {
    const target = await describedTarget(kind, url, undefined, shared?.namePrefix);
    return { ...target, ...shared };
  }
  const server = await explainedAsync(() => crossing.PrivateServer.start(addonKind(kind), [...serverOptions]));
  try {
    return await describedTarget(kind, server.url, server);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The time that the servers of a cluster have to take over from a lost one, in milliseconds. */
const TAKE_OVER_MS = 30_000;

/** A URL that names several hosts. */
const SEVERAL_HOSTS = /^[^:]+:\/\/(?:[^/?]*@)?[^/?@]*,/;

/** A cluster of the user's: any of its servers tells clients of all the others. */
interface KnownCluster {
  /** The URLs of its servers, the one that the user named first. */
  readonly urls: readonly string[];
  /** The URL of the server that answered last. */
  live: string;
}

const clusters = new Map<string, KnownCluster>();

/** The URL of a server that answers, instead of a lost server of the same cluster. */
export function liveUrl(url: string): string {
  return clusters.get(url)?.live ?? url;
}

/**
 * Asks the user's server for its version. If another server of the same cluster answers instead, later cells use that
 * one. Throws the error of the server's URL, of connecting and of logging in.
 */
export async function reachTarget(kind: ServerKind, url: string): Promise<void> {
  const known = clusters.get(url);
  if (known === undefined) return void (await describe(kind, url));
  const deadline = performance.now() + TAKE_OVER_MS;
  while (true) {
    const { url: live, description } = await firstDescribed(kind, [known.live, ...known.urls]);
    known.live = live;
    if (description.isWhole || performance.now() > deadline) return;
    await delay(POLL_MS);
  }
}

/** The description of the first server that answers. Throws the error of the first one if none does. */
async function firstDescribed(
  kind: ServerKind,
  [url, ...others]: readonly string[],
): Promise<{ url: string; description: Description }> {
  try {
    return { url: url!, description: await describe(kind, url!) };
  } catch (thrown) {
    if (others.length === 0) throw thrown;
    return firstDescribed(kind, others).catch(() => {
      throw thrown;
    });
  }
}

/** A server's description of itself. */
interface Description {
  readonly version: string;
  readonly processId?: number;
  readonly isCluster: boolean;
  /** The places of the servers of the cluster. */
  readonly places?: readonly string[];
  /** Whether all masters of the cluster answer. */
  readonly isWhole: boolean;
  readonly mostConnections?: number;
}

async function describe(kind: ServerKind, url: string): Promise<Description> {
  const described = await explainedAsync(() => crossing.PrivateServer.describe(addonKind(kind), url));
  return JSON.parse(described) as Description;
}

/** The URLs of the servers of a target, each by itself, as it is now. */
export async function placesOf({ kind, url }: TargetServer): Promise<string[]> {
  const live = liveUrl(url);
  const { isCluster, places = [] } = await describe(kind, live);
  if (!isCluster) return [live];
  return places.map((place) => withPlace(live, place).replace(/\bcluster=[^&]*/, 'cluster=false'));
}

async function describedTarget(
  kind: ServerKind,
  given: string,
  server?: PrivateServer,
  namePrefix = OWN_PREFIX + digitsOf(randomInt(MOST_IN_NAME)),
): Promise<TargetServer> {
  const { version, processId, isCluster, places = [], mostConnections } = await describe(kind, given);
  // Not every client finds out by itself.
  const isNamed = !isCluster || urlParts(given).option('cluster') !== undefined;
  const named = isNamed ? given : withOption(given, 'cluster=true');
  // Of several hosts, the first that answers: most clients that are compared take one.
  const ofHosts = places.map((place) => withPlace(named, place));
  const url = SEVERAL_HOSTS.test(given) ? (await firstDescribed(kind, ofHosts)).url : named;
  if (isCluster && server === undefined) {
    const known = { urls: [url, ...places.map((place) => withPlace(url, place))], live: url };
    for (const name of [given, url]) clusters.set(name, known);
  }
  // Threads of a process may open the same cell.
  let cells = threadId;
  return {
    kind,
    url,
    version: server === undefined ? version : `${version} (private)`,
    isPrivate: server !== undefined,
    // A private server takes all that is alive at once.
    ...(server === undefined && mostConnections !== undefined && { mostConnections }),
    processIds: server?.processIds ?? (processId === undefined ? [] : [processId]),
    namePrefix,
    newPrefix: () => `${namePrefix}${digitsOf(process.pid)}n${(cells += 1)}`,
    ending: () => server?.ending ?? undefined,
    close: async () => server?.stop(),
  };
}

function withOption(url: string, text: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${text}`;
}

/** The URL of another server of a cluster, with the same login and options. */
function withPlace(url: string, place: string): string {
  return url.replace(/^([^:]+:\/\/(?:[^/?]*@)?)[^/?]*/, (_, head: string) => head + place);
}

/** The kind by the name of the addon of crossings. Shards are served by the program of `rest`. */
function addonKind(kind: ServerKind): Parameters<typeof crossing.PrivateServer.find>[0] {
  return (kind === 'shards' ? 'rest' : kind) as Parameters<typeof crossing.PrivateServer.find>[0];
}
