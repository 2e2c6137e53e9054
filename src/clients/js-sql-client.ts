/** Clients of the MySQL protocol with which the addon's is compared. */
import { readFileSync } from 'node:fs';

import { urlParts } from './url-parts.js';

/** A row: its values by the names of their columns, or in the order of the columns. */
export type SqlRow = Readonly<Record<string, unknown>> | readonly unknown[];

/** The response to a statement. */
export interface SqlAnswer {
  /** The rows, as objects or as arrays; undefined if the statement returns none. */
  readonly rows?: readonly SqlRow[] | undefined;
  /** The number of rows changed, or found. */
  readonly affectedRows: number;
}

/** A statement to run; without parameters it is sent as text. */
export interface JsSqlRequest {
  readonly sql: string;
  readonly parameters: readonly unknown[] | undefined;
}

/** One connection of a client. Every method resolves with the response. */
export interface JsSqlConnection {
  ping(): Promise<unknown>;
  request(request: JsSqlRequest): Promise<SqlAnswer>;
  /** Runs many requests in order, in this client's fastest way. */
  requests(requests: readonly JsSqlRequest[]): Promise<readonly SqlAnswer[]>;
  /** Inserts rows into a table at once, in this client's fastest way; resolves to the number of rows. */
  insertRows(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<number>;
  close(): Promise<void>;
}

/** A client of the MySQL protocol. */
export interface JsSqlClient {
  /**
   * Connects to the server that the URL names, in the form of `SqlClient`. `setting` is the lane's. `typesIntegers`: the server finds
   * an `INT` only by a parameter of this type.
   */
  connect(url: string, setting: string | undefined, typesIntegers?: boolean): Promise<JsSqlConnection>;
}

/** A parsed server URL, for clients that do not understand all of it. */
export interface SqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** The path of a Unix domain socket, instead of host and port. */
  readonly socket: string | undefined;
  readonly tls: 'off' | 'required' | 'verify';
  /** A file of certificates to trust. */
  readonly authorities: string | undefined;
  /** The collation of the login. */
  readonly collation: string;
}

const DEFAULT_PORT = 3306;

/** That of the addon's client, which every server knows. */
const DEFAULT_COLLATION = 'utf8mb4_general_ci';

/** Parses a URL. The addon's client has already accepted it, so it is valid. */
export function parseSqlUrl(text: string): SqlAddress {
  const { user = '', password, host, port = DEFAULT_PORT, path, option } = urlParts(text);
  return {
    host,
    port,
    user,
    password,
    database: path.length > 1 ? path.slice(1) : undefined,
    socket: option('socket'),
    tls: (option('tls') ?? 'off') as SqlAddress['tls'],
    authorities: option('tls-ca') ?? option('cacert'),
    collation: option('collation') ?? DEFAULT_COLLATION,
  };
}

/** The connection options of both clients for a URL. */
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

/** The response in the form of both clients: rows, or the number of rows affected. */
export function answerOf(answer: unknown): SqlAnswer {
  return Array.isArray(answer)
    ? { rows: answer as SqlRow[], affectedRows: 0 }
    : { affectedRows: (answer as { readonly affectedRows: number }).affectedRows };
}
