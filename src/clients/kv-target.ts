/** Clients of the Redis wire that the addon's is compared with. */

/** One connection of a client. Every method resolves when the answer is there; text goes in and comes out. */
export interface KvTargetConnection {
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<unknown>;
  /** Many single commands, as this client sends them best. */
  getMany(keys: readonly string[]): Promise<readonly (string | null)[]>;
  setMany(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  mget(keys: readonly string[]): Promise<readonly (string | null)[]>;
  mset(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

/** A client. */
export interface KvTarget {
  /** Connects to the server that the URL names, as `KvClient` reads it. `mode` is that of the lane. */
  connect(url: string, mode: string | undefined): Promise<KvTargetConnection>;
  version(): string;
}

/** A server's URL, taken apart for clients that do not read all of it. */
export interface KvAddress {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix domain socket, in place of host and port. */
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  readonly tls: boolean;
  /** A file of certificates to trust. */
  readonly tlsCa?: string;
  readonly cluster?: boolean;
}

const DEFAULT_PORT = 6379;

/** Takes a URL apart that the addon's client has taken already, so it is one. */
export function parseKvUrl(text: string): KvAddress {
  const [, scheme = '', rest = ''] = /^([a-z+]+):\/\/(.*)$/.exec(text) ?? [];
  // Its parts are those of an http URL, which this parser knows best.
  const url = new URL(`http://${rest.startsWith('/') ? `localhost${rest}` : rest}`);
  const isSocket = scheme.endsWith('unix');
  const option = (name: string): string | undefined => url.searchParams.get(name) ?? undefined;
  const username = option('user') ?? decodeURIComponent(url.username);
  const password = option('password') ?? decodeURIComponent(url.password);
  const tlsCa = option('tls-ca') ?? option('cacert');
  const cluster = option('cluster');
  const database = option('db') ?? (isSocket ? '' : url.pathname.slice(1));
  return {
    host: url.hostname === '' ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (/:80(?:[/?]|$)/.test(rest) ? 80 : DEFAULT_PORT) : Number(url.port),
    ...(isSocket ? { path: decodeURIComponent(url.pathname) } : {}),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    database: database === '' ? 0 : Number(database),
    tls: scheme === 'rediss' || scheme === 'valkeys',
    ...(tlsCa === undefined ? {} : { tlsCa }),
    ...(cluster === undefined ? {} : { cluster: cluster === 'true' }),
  };
}
