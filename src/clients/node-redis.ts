/**
 * `@redis/client` (node-redis), in JavaScript alone, if it is installed. It always writes the commands of one turn of the event loop
 * together: `github.com/redis/node-redis`, README, "Auto-Pipelining". Its ways to send many single commands are the lanes'
 * settings: `pipeline` collects them in `multi().execAsPipeline()`, and `auto` is one client for all users, whose calls are
 * only waited for together. Off, as its `lib/client/index.d.ts`, `socket.d.ts` and `commands-queue.d.ts` describe: the time-out
 * of each command, which ioredis has not either, reconnecting, notices of maintenance, and the name that it tells the server.
 */
import { readFileSync } from 'node:fs';

import { type DividedKeys, divideKeys, inOrder } from './cluster-keys.js';
import { type JsKvClient, type KvAddress, type JsKvConnection, interleaved, parseKvUrl } from './js-kv-client.js';
import { loadPackage } from './optional-package.js';

const NODE_REDIS = '@redis/client';

/** The part of the package that is used. */
interface NodeRedis {
  createClient(options: object): RedisClient;
  createCluster(options: object): RedisCluster;
}

interface RedisPipeline {
  get(key: string): unknown;
  set(key: string, value: string): unknown;
  execAsPipeline(): Promise<unknown[]>;
}

interface RedisClient {
  on(event: 'error', listener: () => void): void;
  connect(): Promise<unknown>;
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<unknown>;
  mGet(keys: readonly string[]): Promise<(string | null)[]>;
  mSet(entries: readonly string[]): Promise<unknown>;
  multi(): RedisPipeline;
  destroy(): void;
}

interface RedisCluster extends RedisClient {
  /** The servers of each slot. */
  readonly slots: readonly ({ readonly master: unknown } | undefined)[];
}

export const nodeRedis: JsKvClient = {
  connect: async (url, setting) => {
    const { createClient, createCluster } = loadPackage<NodeRedis>(NODE_REDIS);
    const address = parseKvUrl(url);
    const cluster = address.cluster === true ? createCluster(clusterOptionsOf(address)) : undefined;
    const client = cluster ?? createClient(optionsOf(address));
    // Without a listener Node would end the process at an error; calls are rejected with them anyway.
    client.on('error', () => {});
    await client.connect();
    return cluster === undefined
      ? new NodeRedisConnection(client, setting)
      : new NodeRedisClusterConnection(cluster, setting);
  },
};

function optionsOf({ host, port, path, username, password, database, tls, tlsCa }: KvAddress): object {
  return {
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
    ...COMMAND_OPTIONS,
  };
}

/** By default each command that waits to be written has a timer, which takes more time than the command. */
const COMMAND_OPTIONS = { commandOptions: { timeout: 0 } };

function clusterOptionsOf(address: KvAddress): object {
  const { socket, ...rest } = optionsOf(address) as { readonly socket: { host?: string; port?: number } };
  const { host, port, ...ofAll } = socket;
  return { rootNodes: [{ socket: { host, port } }], defaults: { ...rest, socket: ofAll }, ...COMMAND_OPTIONS };
}

/** Calls on one client, in a cluster or not: it divides the keys of MGET and MSET itself. */
class NodeRedisConnection<Client extends RedisClient> implements JsKvConnection {
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
    const pipeline = this.client.multi();
    for (const key of keys) pipeline.get(key);
    return (await pipeline.execAsPipeline()) as (string | null)[];
  }

  setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (this.isAuto) return Promise.all(keys.map((key, index) => this.client.set(key, values[index]!)));
    const pipeline = this.client.multi();
    for (let index = 0; index < keys.length; index += 1) pipeline.set(keys[index]!, values[index]!);
    return pipeline.execAsPipeline();
  }

  mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    return this.client.mGet(keys);
  }

  mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.client.mSet(interleaved(keys, values));
  }

  async close(): Promise<void> {
    this.client.destroy();
  }
}

/** Calls on a client of a cluster: batches are a pipeline for each server, since one goes to the server of its first key. */
class NodeRedisClusterConnection extends NodeRedisConnection<RedisCluster> {
  override async getMany(keys: readonly string[]): Promise<readonly (string | null)[]> {
    if (this.isAuto) return super.getMany(keys);
    const divided = this.#divide(keys);
    const replies = await this.#exec(divided, (pipeline, position) => pipeline.get(keys[position]!));
    return inOrder(divided, replies) as (string | null)[];
  }

  override setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (this.isAuto) return super.setMany(keys, values);
    return this.#exec(this.#divide(keys), (pipeline, position) => pipeline.set(keys[position]!, values[position]!));
  }

  #divide(keys: readonly string[]): DividedKeys {
    const { slots } = this.client;
    return divideKeys(keys, (slot) => slots[slot]?.master);
  }

  #exec(divided: DividedKeys, add: (pipeline: RedisPipeline, position: number) => void): Promise<unknown[][]> {
    return Promise.all(
      divided.map((ofServer) => {
        const pipeline = this.client.multi();
        for (const positions of ofServer) for (const position of positions) add(pipeline, position);
        return pipeline.execAsPipeline();
      }),
    );
  }
}
