/** Clients of the MySQL wire that the addon's is compared with. */
import { readFileSync } from 'node:fs';

/** What came of a statement. */
export interface SqlAnswer {
  /** Its rows as objects; undefined where it returns none. */
  readonly rows?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** The rows that it changed, or found. */
  readonly affectedRows: number;
}

/** A statement to run; without parameters it is sent as text. */
export interface SqlTargetRequest {
  readonly sql: string;
  readonly parameters: readonly unknown[] | undefined;
}

/** One connection of a client. Every method resolves when the answer is there. */
export interface SqlTargetConnection {
  ping(): Promise<unknown>;
  request(request: SqlTargetRequest): Promise<SqlAnswer>;
  /** Many requests in their order, as this client sends them best. */
  requests(requests: readonly SqlTargetRequest[]): Promise<readonly SqlAnswer[]>;
  /** Inserts rows of a table in one go, as this client does it best; resolves to their number. */
  insertRows(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<number>;
  close(): Promise<void>;
}

/** A client. */
export interface SqlTarget {
  /** Connects to the server that the URL names, as `SqlClient` reads it. `mode` is that of the lane. */
  connect(url: string, mode: string | undefined): Promise<SqlTargetConnection>;
  version(): string;
}

/** A server's URL, taken apart for clients that do not read all of it. */
export interface SqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** The path of a Unix domain socket, in place of host and port. */
  readonly socket: string | undefined;
  readonly tls: 'off' | 'required' | 'verify';
  /** A file of certificates to trust. */
  readonly authorities: string | undefined;
}

const DEFAULT_PORT = 3306;

/** Takes a URL apart that the addon's client has taken already, so it is one. */
export function parseSqlUrl(text: string): SqlAddress {
  const [, authority = '', database = '', query = ''] = /^mysql:\/\/([^/?]*)\/?([^?]*)\??(.*)$/.exec(text) ?? [];
  const at = authority.lastIndexOf('@');
  const login = authority.slice(0, Math.max(at, 0));
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*):?(\d*)$/.exec(authority.slice(at + 1)) ?? [];
  const colon = login.indexOf(':');
  const option = (name: string): string | undefined => {
    const pair = query.split('&').find((part) => part.startsWith(`${name}=`));
    return pair === undefined ? undefined : decodeURIComponent(pair.slice(name.length + 1));
  };
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORT : Number(port),
    user: decodeURIComponent(colon === -1 ? login : login.slice(0, colon)),
    password: colon === -1 ? undefined : decodeURIComponent(login.slice(colon + 1)),
    database: database === '' ? undefined : decodeURIComponent(database),
    socket: option('socket'),
    tls: (option('tls') ?? 'off') as SqlAddress['tls'],
    authorities: option('tls-ca'),
  };
}

/** What both clients are told of the server that a URL names. */
export function connectionOptions(url: string) {
  const { host, port, user, password, database, socket, tls, authorities } = parseSqlUrl(url);
  const ca = authorities === undefined ? {} : { ca: readFileSync(authorities, 'utf8') };
  return {
    ...(socket === undefined ? { host, port } : { socketPath: socket }),
    user,
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    ...(tls === 'off' ? {} : { ssl: { rejectUnauthorized: tls === 'verify', ...ca } }),
  };
}

/** An answer as both clients give it: rows, or what became of them. */
export function answerOf(answer: unknown): SqlAnswer {
  return Array.isArray(answer)
    ? { rows: answer as Record<string, unknown>[], affectedRows: 0 }
    : { affectedRows: (answer as { readonly affectedRows: number }).affectedRows };
}
