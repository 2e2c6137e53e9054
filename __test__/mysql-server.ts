import { addon } from '../src/addon.js';

/** A server of its own for one test file. */
export function startMysql(): Promise<InstanceType<typeof addon.PrivateServer>> {
  return addon.PrivateServer.start('mysql' as Parameters<typeof addon.PrivateServer.start>[0]);
}

/** The URL with a database in it. */
export function inDatabase(url: string, database: string): string {
  return url.replace(/^(mysql:\/\/[^/?]*)\/?[^?]*/, `$1/${database}`);
}
