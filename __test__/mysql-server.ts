import { crossing } from '../src/crossing-addon.js';

/** Starts a private MySQL server for one test file. */
export function startMysql(): Promise<InstanceType<typeof crossing.PrivateServer>> {
  return crossing.PrivateServer.start('mysql' as Parameters<typeof crossing.PrivateServer.start>[0]);
}

/** The URL of a database on a server. */
export function inDatabase(url: string, database: string): string {
  return url.replace(/^(mysql:\/\/[^/?]*)\/?[^?]*/, `$1/${database}`);
}
