/**
 * The server of the family, with what it does otherwise than MySQL: servers of the wire may have a part of the dialect
 * only. A probe finds out once, before any cell, so that all sides do the same. It also runs every kind of statement
 * that cells run untimed: what the user may not do is told before the run.
 */
import { randomBytes } from 'node:crypto';
import { SqlClient } from '../../library/sql/sql-client.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import type { PlannedRequests } from '../requests/grid.js';
import { openTarget, reachTarget, type TargetServer } from '../requests/target-server.js';
import type { FamilyOptions, SharedServer } from '../workload.js';
import { SQL_MATRIX } from './matrix.js';

/** The forms in which a server takes what the cells need. */
export interface SqlDialect {
  /** The statement that empties a table, without the table's name. */
  readonly emptying: 'TRUNCATE TABLE' | 'DELETE FROM';
  /** Whether an `INT` is compared only with parameters of its own type, so that clients must say the type. */
  readonly typesIntegers: boolean;
  /** Whether the server has one transaction for all connections: while it is open, no other connection can begin one. */
  readonly sharesTransaction: boolean;
}

export interface SqlServer extends TargetServer {
  readonly dialect: SqlDialect;
}

/** Statements that the server refuses for want of a privilege. */
const DENIED: ReadonlySet<number | undefined> = new Set([1044, 1142, 1143, 1227, 1370]);

export async function openSqlServer(
  engines: FamilyOptions['engines'],
  shared: SharedServer | undefined,
): Promise<SqlServer> {
  const target = await openTarget('mysql', engines, [], shared);
  try {
    const url = await withDatabase(target.url);
    const dialect = await probe(url, `${target.newPrefix()}_dialect`);
    return { ...target, url, dialect, adaptations: adaptationsOf(dialect) };
  } catch (thrown) {
    await target.close().catch(() => {});
    throw thrown;
  }
}

/** Asks the user's server for its version, and runs the probe. Throws the first error, with what to do about it. */
export async function reachSqlServer(url: string): Promise<void> {
  await reachTarget('mysql', url);
  let own: string;
  try {
    own = await withDatabase(url);
  } catch (thrown) {
    throw denied(thrown, 'CREATE DATABASE', `The URL names no database, so that ${SQL_MATRIX.database} is created.`);
  }
  await probe(own, `bb${randomBytes(4).toString('hex')}_reach`);
}

async function probe(url: string, table: string): Promise<SqlDialect> {
  await using client = await SqlClient.connect(url, { connections: 1 });
  // A connection of an earlier run may have left the server in a transaction.
  await client.query('ROLLBACK').catch(() => {});
  const run = async (sql: string): Promise<void> => {
    try {
      await client.query(sql);
    } catch (thrown) {
      throw denied(thrown, sql.split(table)[0]!.trim());
    }
  };
  // Whoever may not drop a table leaves none.
  await run(`DROP TABLE IF EXISTS ${table}`);
  await run(`CREATE TABLE ${table} (id INT NOT NULL, k INT NOT NULL, PRIMARY KEY (id))`);
  let dialect: SqlDialect;
  try {
    await client.query(`CREATE INDEX ${table}_k ON ${table} (k)`).catch((thrown: unknown) => {
      // A server that has no further indexes lacks a few cells.
      if (DENIED.has(serverErrorOf(thrown))) throw denied(thrown, 'CREATE INDEX');
    });
    await run(`INSERT INTO ${table} (id, k) VALUES (1, 1)`);
    await run(`UPDATE ${table} SET k = k + 1 WHERE id = 1`);
    await run(`SELECT id, k FROM ${table}`);
    // MySQL converts the parameter, here a text, to the type of the column.
    const found = await client.execute(`SELECT id FROM ${table} WHERE id = ?`, ['1']);
    await run(`DELETE FROM ${table} WHERE id = 1`);
    dialect = {
      emptying: await emptyingOf(client, table),
      typesIntegers: found.rowCount === 0,
      sharesTransaction: await sharesTransaction(client, url),
    };
  } catch (thrown) {
    // The first error is the more useful one.
    await client.query(`DROP TABLE ${table}`).catch(() => {});
    throw thrown;
  }
  await run(`DROP TABLE ${table}`);
  return dialect;
}

/** The error of a statement that every run needs, with what to do about it. */
function denied(thrown: unknown, what: string, why = ''): BoundaryError {
  const { code, message } = toBoundaryError(thrown);
  const hint =
    `${why} Grant the user what the cells need in the database (CREATE, INDEX, INSERT, SELECT, UPDATE, DELETE and DROP), or name ` +
    'another database in the URL. Nothing was measured.';
  return new BoundaryError(code, `the server refuses ${what}: ${message}`, { hint: hint.trim(), cause: thrown });
}

async function emptyingOf(client: SqlClient, table: string): Promise<SqlDialect['emptying']> {
  try {
    await client.query(`TRUNCATE TABLE ${table}`);
    return 'TRUNCATE TABLE';
  } catch (thrown) {
    if (serverErrorOf(thrown) === undefined) throw thrown;
    return 'DELETE FROM';
  }
}

/** Whether a connection can't begin a transaction because another one is in its own. */
async function sharesTransaction(client: SqlClient, url: string): Promise<boolean> {
  await using other = await SqlClient.connect(url, { connections: 1 });
  await client.query('BEGIN');
  try {
    await other.query('BEGIN');
    await other.query('ROLLBACK');
    return false;
  } catch (thrown) {
    if (serverErrorOf(thrown) === undefined) throw thrown;
    return true;
  } finally {
    await client.query('ROLLBACK');
  }
}

/** The reason why the server can't serve a cell; `undefined` if it may. */
export function whyUnserved(
  { cell, client }: PlannedRequests,
  { typesIntegers, sharesTransaction: isShared }: SqlDialect,
): string | undefined {
  const { table, transaction, steps } = SQL_MATRIX.workloads[cell.workload]!;
  if (typesIntegers && client === 'mysql_async') {
    // Inserts convert their values, and no condition compares these.
    const compares = steps.some(({ kind = 'prepared', parameters }) => {
      return kind === 'prepared' && !['none', 'active', 'user'].includes(parameters);
    });
    if (compares) return 'the crate mysql_async sends integers as BIGINT alone, by which the server finds no INT';
  }
  if (!isShared) return undefined;
  const isAlone = cell.connections === 1 && (cell.processes ?? 1) === 1;
  // Several worker threads or processes would each fill a table in a transaction.
  const isParted = cell.processes !== undefined || (cell.side !== 'rust' && cell.driver === 'all-cores');
  if (!isAlone && (transaction !== undefined || (table !== undefined && isParted))) {
    return 'the server has one transaction for all connections, so that no two can begin theirs: measure it with --connections 1';
  }
  return undefined;
}

function adaptationsOf({ emptying, typesIntegers }: SqlDialect): readonly string[] {
  return [
    ...(emptying === 'DELETE FROM'
      ? ['tables are emptied by DELETE FROM, since the server refuses TRUNCATE TABLE']
      : []),
    ...(typesIntegers
      ? ['mysql2 says the type of each integer (TypedParameter.INT), since the server finds an INT by no other type']
      : []),
  ];
}

/** The server's number for a statement that it does not parse. */
const SYNTAX = 1064;
/** The server's number for a database that exists. */
const EXISTS = 1007;

/** The URL, with our own database if it names none. */
export async function withDatabase(url: string): Promise<string> {
  return /^mysql:\/\/[^/?]*\/[^?]/.test(url) ? url : ownDatabase(url);
}

/** The URL with our own database, which is created if it does not exist. */
export async function ownDatabase(url: string): Promise<string> {
  const [, server = url, options = ''] = /^(mysql:\/\/[^/?]*)\/?[^?]*(\??.*)$/.exec(url) ?? [];
  const client = await SqlClient.connect(url, { connections: 1 });
  try {
    await createDatabase(client, SQL_MATRIX.database);
  } finally {
    await client.close();
  }
  return `${server}/${SQL_MATRIX.database}${options}`;
}

async function createDatabase(client: SqlClient, name: string): Promise<void> {
  try {
    await client.query(`CREATE DATABASE IF NOT EXISTS ${name}`);
  } catch (thrown) {
    // Not every server knows IF NOT EXISTS.
    if (serverErrorOf(thrown) !== SYNTAX) throw thrown;
    await client.query(`CREATE DATABASE ${name}`).catch((again: unknown) => {
      if (serverErrorOf(again) !== EXISTS) throw again;
    });
  }
}

/** The number of the error with which a server has refused a statement; `undefined` for another error. */
export function serverErrorOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof BoundaryError) || thrown.code !== 'BB_ENGINE') return undefined;
  const [, number] = /\berror (\d+)/.exec(thrown.message) ?? [];
  return number === undefined ? undefined : Number(number);
}
