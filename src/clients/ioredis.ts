/**
 * `ioredis`, in JavaScript alone. Its ways to send many single commands are the lanes' settings: `pipeline` collects them
 * explicitly, `auto` is its own option that collects the commands of one turn of the event loop, from all users of one client. The
 * source of both is its `README.md`, "Pipelining" and "Autopipelining". In a cluster all keys of a pipeline must be on one server
 * ("Transaction and Pipeline in Cluster Mode"), and those of an MGET in one slot, so its users divide them.
 */
import { readFileSync } from 'node:fs';

import type * as Ioredis from 'ioredis';

import { type DividedKeys, divideKeys, inOrder } from './cluster-keys.js';
import { type KvAddress, type JsKvClient, type JsKvConnection, interleaved, parseKvUrl } from './js-kv-client.js';
import { importPackage } from './optional-package.js';

const { Cluster, Redis } = await importPackage('ioredis', () => import('ioredis'));

export const ioredis: JsKvClient = {
  connect: async (url, setting) => {
    const address = parseKvUrl(url);
    const client = address.cluster === true ? clusterOf(address, setting) : new Redis(optionsOf(address, setting));
    // Without a listener it would print its errors; calls are rejected with them anyway.
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (thrown) {
      client.disconnect();
      throw thrown;
    }
    return client instanceof Cluster
      ? new IoredisClusterConnection(client, setting)
      : new IoredisConnection(client, setting);
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
class IoredisConnection<Client extends Ioredis.Redis | Ioredis.Cluster> implements JsKvConnection {
  protected readonly client: Client;
  protected readonly isAuto: boolean;

  constructor(client: Client, setting: string | undefined) {
    this.client = client;
    this.isAuto = setting === 'auto';
  }

  get(key: string): Promise<string | null> {
    return this.client.get(key);
  }

  set(key: string, value: string): Promise<unknown> {
    return this.client.set(key, value);
  }

  async getMany(keys: readonly string[]): Promise<readonly (string | null)[]> {
    if (this.isAuto) return Promise.all(keys.map((key) => this.client.get(key)));
    const pipeline = this.client.pipeline();
    for (const key of keys) pipeline.get(key);
    return checked(await pipeline.exec()) as (string | null)[];
  }

  async setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (this.isAuto) return Promise.all(keys.map((key, index) => this.client.set(key, values[index]!)));
    const pipeline = this.client.pipeline();
    for (let index = 0; index < keys.length; index += 1) pipeline.set(keys[index]!, values[index]!);
    return checked(await pipeline.exec());
  }

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

/** Calls on a client of a cluster: batches are a pipeline for each server. */
class IoredisClusterConnection extends IoredisConnection<Ioredis.Cluster> {
  override async getMany(keys: readonly string[]): Promise<readonly (string | null)[]> {
    if (this.isAuto) return super.getMany(keys);
    const divided = this.#divide(keys);
    const replies = await this.#exec(divided, (pipeline, positions) => {
      for (const position of positions) pipeline.get(keys[position]!);
    });
    return inOrder(divided, replies) as (string | null)[];
  }

  override async setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (this.isAuto) return super.setMany(keys, values);
    return this.#exec(this.#divide(keys), (pipeline, positions) => {
      for (const position of positions) pipeline.set(keys[position]!, values[position]!);
    });
  }

  override async mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const divided = this.#divide(keys);
    const replies = await this.#exec(divided, (pipeline, positions) => {
      pipeline.mget(positions.map((position) => keys[position]!));
    });
    return inOrder(
      divided,
      replies.map((ofServer) => ofServer.flat()),
    ) as (string | null)[];
  }

  override async mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.#exec(this.#divide(keys), (pipeline, positions) => {
      pipeline.mset(positions.flatMap((position) => [keys[position]!, values[position]!]));
    });
  }

  #divide(keys: readonly string[]): DividedKeys {
    const { slots } = this.client;
    return divideKeys(keys, (slot) => slots[slot]?.[0]);
  }

  /** The replies of a pipeline for each server, to which `add` adds the commands for the keys of a slot. */
  #exec(
    divided: DividedKeys,
    add: (pipeline: Ioredis.ChainableCommander, positions: readonly number[]) => void,
  ): Promise<unknown[][]> {
    return Promise.all(
      divided.map(async (slots) => {
        const pipeline = this.client.pipeline();
        for (const positions of slots) add(pipeline, positions);
        return checked(await pipeline.exec());
      }),
    );
  }
}

function checked(replies: [error: Error | null, reply: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
}
