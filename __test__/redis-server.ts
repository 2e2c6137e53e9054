import { beforeAll } from 'vitest';

import { crossing } from '../src/crossing-addon.js';
import { KvClient } from '../src/index.js';

type Kind = Parameters<typeof crossing.PrivateServer.start>[0];

/** Starts a private server for one test file, with further settings. */
export function startRedis(settings: string[] = []): Promise<InstanceType<typeof crossing.PrivateServer>> {
  return crossing.PrivateServer.start('redis' as Kind, settings);
}

/** A private server for the tests of a suite, and a client of it. Both are there once the first test begins. */
export function redisOfSuite(): { readonly url: string; readonly client: KvClient } {
  const redis = {} as { url: string; client: KvClient };
  beforeAll(async () => {
    const server = await startRedis();
    redis.url = server.url;
    redis.client = await KvClient.connect(server.url);
    return async () => {
      await redis.client.close();
      await server.stop();
    };
  });
  return redis;
}

/** Starts a private cluster for one test file. */
export function startRedisCluster(): Promise<InstanceType<typeof crossing.PrivateServer>> {
  return crossing.PrivateServer.start('redis-cluster' as Kind);
}

/** Connects to each master of a cluster alone, in the order of their slots. */
export async function connectMasters(url: string): Promise<readonly KvClient[]> {
  await using cluster = await KvClient.connect(url);
  const slots = (await cluster.pipeline().command('CLUSTER', 'SLOTS').execute()).value(0);
  const ranges = slots as unknown as readonly [first: number, last: number, master: [host: string, port: number]][];
  const inOrder = ranges.toSorted(([a], [b]) => a - b);
  return Promise.all(inOrder.map(([, , [host, port]]) => KvClient.connect(`redis://${host}:${port}?cluster=false`)));
}
