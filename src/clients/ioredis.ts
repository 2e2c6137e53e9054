/**
 * `ioredis`, in JavaScript alone. Its ways to send many single commands are the lanes' settings: `pipeline` collects them
 * explicitly, `auto` is its own option that collects the commands of one turn of the event loop, from all users of one client. The
 * source of both is its `README.md`, "Pipelining" and "Autopipelining".
 */
import { readFileSync } from 'node:fs';

import type * as Ioredis from 'ioredis';

import { BoundaryError } from '../errors.js';
import { type KvAddress, type JsKvClient, type JsKvConnection, interleaved, parseKvUrl } from './js-kv-client.js';
import { importPackage } from './optional-package.js';

const { Cluster, Redis } = await importPackage('ioredis', () => import('ioredis'));

export const ioredis: JsKvClient = {
  connect: async (url, setting) => {
    const address = parseKvUrl(url);
    const options = optionsOf(address, setting);
    const single = new Redis(options);
    // Without a listener it would print its errors; calls are rejected with them anyway.
    single.on('error', () => {});
    try {
      await single.connect();
      const isCluster = address.cluster ?? (await single.info('cluster')).includes('cluster_enabled:1');
      if (!isCluster) return new IoredisConnection(single, setting);
    } catch (thrown) {
      single.disconnect();
      throw thrown;
    }
    single.disconnect();
    const cluster = new Cluster([{ host: address.host, port: address.port }], {
      redisOptions: options,
      enableAutoPipelining: setting === 'auto',
      lazyConnect: true,
    });
    cluster.on('error', () => {});
    await cluster.connect();
    return new IoredisConnection(cluster, setting);
  },
};

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

class IoredisConnection implements JsKvConnection {
  readonly #client: Ioredis.Redis | Ioredis.Cluster;
  readonly #setting: string | undefined;

  constructor(client: Ioredis.Redis | Ioredis.Cluster, setting: string | undefined) {
    this.#client = client;
    this.#setting = setting;
  }

  get(key: string): Promise<string | null> {
    return this.#client.get(key);
  }

  set(key: string, value: string): Promise<unknown> {
    return this.#client.set(key, value);
  }

  async getMany(keys: readonly string[]): Promise<readonly (string | null)[]> {
    if (this.#setting === 'auto') return Promise.all(keys.map((key) => this.#client.get(key)));
    const pipeline = this.#client.pipeline();
    for (const key of keys) pipeline.get(key);
    return checked(await pipeline.exec()) as (string | null)[];
  }

  async setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (this.#setting === 'auto') return Promise.all(keys.map((key, index) => this.#client.set(key, values[index]!)));
    const pipeline = this.#client.pipeline();
    for (let index = 0; index < keys.length; index += 1) pipeline.set(keys[index]!, values[index]!);
    return checked(await pipeline.exec());
  }

  mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    this.#assertSingle('MGET');
    return this.#client.mget(keys as string[]);
  }

  mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    this.#assertSingle('MSET');
    return this.#client.mset(interleaved(keys, values));
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }

  #assertSingle(command: string): void {
    if (this.#client instanceof Cluster) {
      throw new BoundaryError('BB_UNSUPPORTED', `ioredis does not divide ${command} among the slots of a cluster`);
    }
  }
}

function checked(replies: [error: Error | null, reply: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
}
