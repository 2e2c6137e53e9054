import { SqlClient } from '../../library/sql/sql-client.js';

/** The database that is ours. */
const OWN_DATABASE = 'boundary_bench';

/** The URL, with our own database where it names none. */
export async function withDatabase(url: string): Promise<string> {
  return /^mysql:\/\/[^/?]*\/[^?]/.test(url) ? url : ownDatabase(url);
}

/** The URL with our own database, made if it is not there. */
export async function ownDatabase(url: string): Promise<string> {
  const [, server = url, options = ''] = /^(mysql:\/\/[^/?]*)\/?[^?]*(\??.*)$/.exec(url) ?? [];
  const client = await SqlClient.connect(url, { connections: 1 });
  try {
    await client.query(`CREATE DATABASE IF NOT EXISTS ${OWN_DATABASE}`);
  } finally {
    await client.close();
  }
  return `${server}/${OWN_DATABASE}${options}`;
}
