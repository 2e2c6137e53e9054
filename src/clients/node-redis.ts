/**
 * `@redis/client` (node-redis), in JavaScript alone, if it is installed. It always writes the commands of one turn of the event
 * loop together: `github.com/redis/node-redis`, README, "Auto-Pipelining". Its ways to send many single commands are the lanes'
 * settings. `pipeline` collects them in `multi().execAsPipeline()`. `auto` is one client for all users, whose calls are only waited
 * for together. These are off, as its `lib/client/index.d.ts`, `socket.d.ts` and `commands-queue.d.ts` describe: the time-out of
 * each command (ioredis has none either), reconnecting, notices of maintenance, and the name that it tells the server.
 */
import { readFileSync } from 'node:fs';

import { type JsKvClient, type KvAddress, interleaved, parseKvUrl } from './js-kv-client.js';
import { loadPackage } from './optional-package.js';
import { PipelinedConnection } from './pipelined-kv.js';

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
    // Without a listener Node would end the process at an error. Calls are rejected with them anyway.
    client.on('error', () => {});
    await client.connect();
    return new NodeRedisConnection(client, {
      isAuto: setting === 'auto',
      begin: () => client.multi(),
      exec: (pipeline) => pipeline.execAsPipeline(),
      // A pipeline goes to the server of its first key.
      ...(cluster && { serverOf: (slot) => cluster.slots[slot]?.master }),
    });
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
class NodeRedisConnection extends PipelinedConnection<RedisClient, RedisPipeline> {
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
