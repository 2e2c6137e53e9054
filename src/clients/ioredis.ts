/**
 * `ioredis`, in JavaScript alone. Its ways to send many single commands are the lanes' settings: `pipeline` collects them
 * explicitly. `auto` is its own option, which collects the commands of one turn of the event loop, from all users of one client.
 * The source of both is its `README.md`, "Pipelining" and "Autopipelining". In a cluster all keys of a pipeline must be on one
 * server ("Transaction and Pipeline in Cluster Mode"), and all keys of an MGET in one slot. So its users divide them.
 */
import { readFileSync } from 'node:fs';

import type * as Ioredis from 'ioredis';

import { inOrder } from './cluster-keys.js';
import { type KvAddress, type JsKvClient, interleaved, parseKvUrl } from './js-kv-client.js';
import { importPackage } from './optional-package.js';
import { type Batching, PipelinedConnection } from './pipelined-kv.js';

const { Cluster, Redis } = await importPackage('ioredis', () => import('ioredis'));

export const ioredis: JsKvClient = {
  connect: async (url, setting) => {
    const address = parseKvUrl(url);
    const client = address.cluster === true ? clusterOf(address, setting) : new Redis(optionsOf(address, setting));
    // Without a listener it would print its errors. Calls are rejected with them anyway.
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (thrown) {
      client.disconnect();
      throw thrown;
    }
    const batching: Batching<Ioredis.ChainableCommander> = {
      isAuto: setting === 'auto',
      begin: () => client.pipeline(),
      exec: async (pipeline) => checked(await pipeline.exec()),
    };
    if (!(client instanceof Cluster)) return new IoredisConnection(client, batching);
    return new IoredisClusterConnection(client, { ...batching, serverOf: (slot) => client.slots[slot]?.[0] });
  },
};

function clusterOf(address: KvAddress, setting?: string): Ioredis.Cluster {
  const options = optionsOf(address, setting);
  return new Cluster([{ host: address.host, port: address.port }], {
    redisOptions: options,
    enableAutoPipelining: setting === 'auto',
    lazyConnect: true,
    clusterRetryStrategy: () => null,
  });
}

function optionsOf(
  { host, port, path, username, password, database, tls, tlsCa }: KvAddress,
  setting?: string,
): Ioredis.RedisOptions {
  return {
    ...(path === undefined ? { host, port } : { path }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: tlsCa === undefined ? {} : { ca: readFileSync(tlsCa) } } : {}),
    db: database,
    lazyConnect: true,
    enableAutoPipelining: setting === 'auto',
    // A lost connection is an error here, as for the other clients.
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  };
}

/** Calls on one client, in a cluster or not. */
class IoredisConnection extends PipelinedConnection<Ioredis.Redis | Ioredis.Cluster, Ioredis.ChainableCommander> {
  mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    return this.client.mget(keys as string[]);
  }

  mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.client.mset(interleaved(keys, values));
  }

  async close(): Promise<void> {
    this.client.disconnect();
  }
}

/** Calls on a client of a cluster. */
class IoredisClusterConnection extends IoredisConnection {
  override async mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const divided = this.divide(keys);
    const replies = await this.execDivided(divided, (pipeline, positions) => {
      pipeline.mget(positions.map((position) => keys[position]!));
    });
    return inOrder(
      divided,
      replies.map((ofServer) => ofServer.flat()),
    ) as (string | null)[];
  }

  override async mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.execDivided(this.divide(keys), (pipeline, positions) => {
      pipeline.mset(positions.flatMap((position) => [keys[position]!, values[position]!]));
    });
  }
}

function checked(replies: [error: Error | null, reply: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
}
