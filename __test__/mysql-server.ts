import { addon } from '../src/addon.js';

/** Starts a private MySQL server for one test file. */
export function startMysql(): Promise<InstanceType<typeof addon.PrivateServer>> {
  return addon.PrivateServer.start('mysql' as Parameters<typeof addon.PrivateServer.start>[0]);
}

/** The URL of a database on a server. */
export function inDatabase(url: string, database: string): string {
  return url.replace(/^(mysql:\/\/[^/?]*)\/?[^?]*/, `$1/${database}`);
}
