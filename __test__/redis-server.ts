import { addon } from '../src/addon.js';

type Kind = Parameters<typeof addon.PrivateServer.start>[0];

const KIND = 'redis' as Kind;

/** Starts a private server for one test file. */
export function startRedis(): Promise<InstanceType<typeof addon.PrivateServer>> {
  return addon.PrivateServer.start(KIND);
}
