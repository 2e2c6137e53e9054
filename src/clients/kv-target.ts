/** Clients of the Redis protocol with which the addon's is compared. */

/** One connection of a client. Every method resolves with the response; keys and values are strings. */
export interface KvTargetConnection {
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<unknown>;
  /** Sends many single commands, in this client's fastest way. */
  getMany(keys: readonly string[]): Promise<readonly (string | null)[]>;
  setMany(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  mget(keys: readonly string[]): Promise<readonly (string | null)[]>;
  mset(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

/** A client of the Redis protocol. */
export interface KvTarget {
  /** Connects to the server that the URL names, in the form of `KvClient`. `setting` is the lane's. */
  connect(url: string, setting: string | undefined): Promise<KvTargetConnection>;
  version(): string;
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

const DEFAULT_PORT = 6379;

/** Parses a URL. The addon's client has already accepted it, so it is valid. */
export function parseKvUrl(text: string): KvAddress {
  const [, scheme = '', rest = ''] = /^([a-z+]+):\/\/(.*)$/.exec(text) ?? [];
  // Parsed as an http URL, whose parts are the same.
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
