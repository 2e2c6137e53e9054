import { crossing } from '../src/crossing-addon.js';
import { SqlClient } from '../src/library/sql/sql-client.js';

/** Starts a private MySQL server for one test file. */
export function startMysql(): Promise<InstanceType<typeof crossing.PrivateServer>> {
  return crossing.PrivateServer.start('mysql' as Parameters<typeof crossing.PrivateServer.start>[0]);
}

/** Starts a private MySQL server with an empty database for one test file, and returns the URL of the database. */
export async function startDatabase(): Promise<{ server: Awaited<ReturnType<typeof startMysql>>; url: string }> {
  const server = await startMysql();
  await using admin = await SqlClient.connect(server.url);
  await admin.query('CREATE DATABASE test CHARACTER SET utf8mb4');
  return { server, url: inDatabase(server.url, 'test') };
}

/** The URL of a database on a server. */
export function inDatabase(url: string, database: string): string {
  return url.replace(/^(mysql:\/\/[^/?]*)\/?[^?]*/, `$1/${database}`);
}
