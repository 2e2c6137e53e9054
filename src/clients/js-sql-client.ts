/** Clients of the MySQL protocol with which the addon's is compared. */
import { readFileSync } from 'node:fs';

import { BoundaryError } from '../errors.js';
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

/** A statement to run. Without parameters it is sent as text. */
export interface JsSqlRequest {
  readonly sql: string;
  readonly parameters: readonly unknown[] | undefined;
}

/** One connection of a client. Every method resolves with the response. */
export interface JsSqlConnection {
  /** Asks the server whether it is there. */
  ping(): Promise<unknown>;
  /** Runs one statement. */
  request(request: JsSqlRequest): Promise<SqlAnswer>;
  /** Runs many requests in order, in this client's fastest way. */
  requests(requests: readonly JsSqlRequest[]): Promise<readonly SqlAnswer[]>;
  /** Inserts rows into a table at once, in this client's fastest way. Resolves to the number of rows. */
  insertRows(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<number>;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** A client of the MySQL protocol. */
export interface JsSqlClient {
  /**
   * Connects to the server that the URL names, in the form of `SqlClient`. `setting` is the lane's. `typesIntegers`:
   * the server finds an `INT` only by a parameter of this type.
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

/** The default collation of the addon's client, which every server knows. */
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

/** The settings of a session that must be UTF-8. The connection is `utf8mb4` by the collation of the URL. */
const CHARSETS =
  'SELECT @@character_set_client AS a, @@character_set_connection AS b, @@character_set_results AS c, @@collation_connection AS d';

/**
 * Makes sure that a session takes and sends UTF-8 with the collation of the URL, as the addon's client does. A server
 * that does not know the collation of the login silently takes another character set. `query` runs a statement. A
 * server of a partial dialect may refuse it. If the session can't be used, `end` closes it.
 */
export async function settleCharset(
  url: string,
  query: (sql: string) => Promise<SqlAnswer>,
  end: () => Promise<void>,
): Promise<void> {
  try {
    await setCharset(parseSqlUrl(url).collation, query);
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

async function setCharset(collation: string, query: (sql: string) => Promise<SqlAnswer>): Promise<void> {
  const asked = async (): Promise<(string | undefined)[]> => {
    const { rows: [row = {}] = [] } = await query(CHARSETS).catch((): SqlAnswer => ({ affectedRows: 0 }));
    return Object.values(row).map((value) => (value ? String(value).toLowerCase() : undefined));
  };
  const isUtf8 = (names: readonly (string | undefined)[], utf8: RegExp): boolean =>
    names.slice(0, 3).every((name) => name === undefined || utf8.test(name));
  const names = await asked();
  if (isUtf8(names, /^utf8mb4$/) && (names[3] ?? collation) === collation) return;
  try {
    await query(`SET NAMES utf8mb4 COLLATE ${collation}`);
  } catch (cause) {
    if (isUtf8(names, /^utf8(mb[34])?$/) && collation === DEFAULT_COLLATION) return;
    throw new BoundaryError('BB_UNSUPPORTED', `the server does not take the collation ${collation}`, { cause });
  }
  if (isUtf8(await asked(), /^utf8(mb[34])?$/)) return;
  throw new BoundaryError('BB_UNSUPPORTED', 'the server has another character set than utf8mb4');
}

/** The response in the form of both clients: rows, or the number of rows affected. */
export function answerOf(answer: unknown): SqlAnswer {
  return Array.isArray(answer)
    ? { rows: answer as SqlRow[], affectedRows: 0 }
    : { affectedRows: (answer as { readonly affectedRows: number }).affectedRows };
}
