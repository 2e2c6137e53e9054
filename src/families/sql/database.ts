import { SqlClient } from '../../library/sql/sql-client.js';
import { SQL_MATRIX } from './matrix.js';

/** The URL, with our own database if it names none. */
export async function withDatabase(url: string): Promise<string> {
  return /^mysql:\/\/[^/?]*\/[^?]/.test(url) ? url : ownDatabase(url);
}

/** The URL with our own database, which is created if it does not exist. */
export async function ownDatabase(url: string): Promise<string> {
  const [, server = url, options = ''] = /^(mysql:\/\/[^/?]*)\/?[^?]*(\??.*)$/.exec(url) ?? [];
  const client = await SqlClient.connect(url, { connections: 1 });
  try {
    await client.query(`CREATE DATABASE IF NOT EXISTS ${SQL_MATRIX.database}`);
  } finally {
    await client.close();
  }
  return `${server}/${SQL_MATRIX.database}${options}`;
}
