/** Clients of the Redis protocol with which the addon's is compared. */
import { urlParts } from './url-parts.js';

/** One connection of a client. Every method resolves with the response. Keys and values are strings. */
export interface JsKvConnection {
  /** Sends one GET. Resolves to the value, or to `null` if there is none. */
  get(key: string): Promise<string | null>;
  /** Sends one SET. */
  set(key: string, value: string): Promise<unknown>;
  /** Sends many single GETs, in this client's fastest way. Resolves to their values in the same order. */
  getMany(keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** Sends many single SETs, in this client's fastest way. */
  setMany(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  /** Sends one MGET. Resolves to the values in the order of the keys. */
  mget(keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** Sends one MSET. */
  mset(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** A client of the Redis protocol. */
export interface JsKvClient {
  /** Connects to the server that the URL names, in the form of `KvClient`. `setting` is the lane's. */
  connect(url: string, setting: string | undefined): Promise<JsKvConnection>;
}

/** A parsed server URL, for clients that do not understand all of it. */
export interface KvAddress {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix domain socket, instead of host and port. */
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  readonly tls: boolean;
  /** A file of certificates to trust. */
  readonly tlsCa?: string;
  readonly cluster?: boolean;
}

/** Keys and values in turn, as MSET takes them. */
export function interleaved(keys: readonly string[], values: readonly string[]): string[] {
  const entries: string[] = [];
  for (let index = 0; index < keys.length; index += 1) entries.push(keys[index]!, values[index]!);
  return entries;
}

const DEFAULT_PORT = 6379;

/** Parses a URL. The addon's client has already accepted it, so it is valid. */
export function parseKvUrl(text: string): KvAddress {
  const url = urlParts(text);
  const isSocket = url.scheme.endsWith('unix');
  const username = url.option('user') ?? url.user;
  const password = url.option('password') ?? url.password;
  const tlsCa = url.option('tls-ca') ?? url.option('cacert');
  const cluster = url.option('cluster');
  return {
    host: url.host === '' ? '127.0.0.1' : url.host,
    port: url.port ?? DEFAULT_PORT,
    ...(isSocket ? { path: url.path } : {}),
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    database: Number(url.option('db') ?? (isSocket ? '' : url.path.slice(1))),
    tls: url.scheme === 'rediss' || url.scheme === 'valkeys',
    ...(tlsCa === undefined ? {} : { tlsCa }),
    ...(cluster === undefined ? {} : { cluster: cluster === 'true' }),
  };
}
