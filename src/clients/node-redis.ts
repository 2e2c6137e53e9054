/**
 * `@redis/client` (node-redis), in JavaScript alone, if it is installed. It always writes the commands of one turn of the event loop
 * together: `github.com/redis/node-redis`, README, "Auto-Pipelining". Its ways to send many single commands are the lanes'
 * settings: `pipeline` collects them in `multi().execAsPipeline()`, and `auto` is one client for all users, whose calls are
 * only waited for together. Off, as its `lib/client/index.d.ts`, `socket.d.ts` and `commands-queue.d.ts` describe: the time-out
 * of each command, which ioredis has not either, reconnecting, notices of maintenance, and the name that it tells the server.
 */
import { readFileSync } from 'node:fs';

import { BoundaryError } from '../errors.js';
import { type JsKvClient, type JsKvConnection, interleaved, parseKvUrl } from './js-kv-client.js';
import { loadPackage } from './optional-package.js';

const NODE_REDIS = '@redis/client';

/** The part of the package that is used. */
interface NodeRedis {
  createClient(options: object): RedisClient;
}

interface RedisPipeline {
  get(key: string): unknown;
  set(key: string, value: string): unknown;
  execAsPipeline(): Promise<unknown[]>;
}

interface RedisClient {
  on(event: 'error', listener: () => void): void;
  connect(): Promise<unknown>;
  info(section: string): Promise<string>;
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<unknown>;
  mGet(keys: readonly string[]): Promise<(string | null)[]>;
  mSet(entries: readonly string[]): Promise<unknown>;
  multi(): RedisPipeline;
  destroy(): void;
}

export const nodeRedis: JsKvClient = {
  connect: async (url, setting) => {
    const { createClient } = loadPackage<NodeRedis>(NODE_REDIS);
    const { host, port, path, username, password, database, tls, tlsCa } = parseKvUrl(url);
    const client = createClient({
      socket: {
        ...(path === undefined ? { host, port } : { path }),
        ...(tls ? { tls, ...(tlsCa === undefined ? {} : { ca: readFileSync(tlsCa) }) } : {}),
        // A lost connection is an error here, as for the other clients.
        reconnectStrategy: false,
      },
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      database,
      disableClientInfo: true,
      maintNotifications: 'disabled',
      // By default each command that waits to be written has a timer, which takes more time than the command.
      commandOptions: { timeout: 0 },
    });
    // Without a listener Node would end the process at an error; calls are rejected with them anyway.
    client.on('error', () => {});
    await client.connect();
    if ((await client.info('cluster')).includes('cluster_enabled:1')) {
      client.destroy();
      throw new BoundaryError('BB_UNSUPPORTED', `${NODE_REDIS} is measured on single servers only`);
    }
    return new NodeRedisConnection(client, setting);
  },
};

class NodeRedisConnection implements JsKvConnection {
  readonly #client: RedisClient;
  readonly #setting: string | undefined;

  constructor(client: RedisClient, setting: string | undefined) {
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
    const pipeline = this.#client.multi();
    for (const key of keys) pipeline.get(key);
    return (await pipeline.execAsPipeline()) as (string | null)[];
  }

  setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (this.#setting === 'auto') return Promise.all(keys.map((key, index) => this.#client.set(key, values[index]!)));
    const pipeline = this.#client.multi();
    for (let index = 0; index < keys.length; index += 1) pipeline.set(keys[index]!, values[index]!);
    return pipeline.execAsPipeline();
  }

  mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    return this.#client.mGet(keys);
  }

  mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.#client.mSet(interleaved(keys, values));
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }
}
