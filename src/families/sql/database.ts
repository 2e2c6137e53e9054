import { BoundaryError } from '../../errors.js';
import { SqlClient } from '../../library/sql/sql-client.js';
import { SQL_MATRIX } from './matrix.js';

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
