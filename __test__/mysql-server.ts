import { beforeAll } from 'vitest';

import { crossing } from '../src/crossing-addon.js';
import { SqlClient, type SqlClientOptions } from '../src/index.js';

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

/** A private MySQL server for the tests of a suite, the URL of its empty database `test`, and a client of that. They are there once the first test begins. */
export function mysqlOfSuite(options: SqlClientOptions = {}): { readonly url: string; readonly client: SqlClient } {
  const mysql = {} as { url: string; client: SqlClient };
  beforeAll(async () => {
    const { server, url } = await startDatabase();
    mysql.url = url;
    mysql.client = await SqlClient.connect(url, options);
    return async () => {
      await mysql.client.close();
      await server.stop();
    };
  }, 60_000);
  return mysql;
}

/** The URL of a database on a server. */
export function inDatabase(url: string, database: string): string {
  return url.replace(/^(mysql:\/\/[^/?]*)\/?[^?]*/, `$1/${database}`);
}
