/**
 * `@valkey/valkey-glide`, a Rust core behind a Node API, if it is installed. It has one connection, on which the commands of all callers
 * overlap, and a `Batch` that is not atomic is its pipeline: the comments in its `build-ts/Batch.d.ts`. In a cluster it
 * has one to each server, and divides a `ClusterBatch`, MGET and MSET among them itself.
 */
import { readFileSync } from 'node:fs';

import { BoundaryError } from '../errors.js';
import { type JsKvClient, parseKvUrl } from './js-kv-client.js';
import { loadPackage } from './optional-package.js';
import { PipelinedConnection } from './pipelined-kv.js';

const VALKEY_GLIDE = '@valkey/valkey-glide';

/** The part of the package that is used. */
interface Glide {
  readonly GlideClient: { createClient(options: object): Promise<GlideClient> };
  readonly GlideClusterClient: { createClient(options: object): Promise<GlideClient> };
  readonly Batch: new (isAtomic: boolean) => GlideBatch;
  readonly ClusterBatch: new (isAtomic: boolean) => GlideBatch;
}

interface GlideBatch {
  get(key: string): unknown;
  set(key: string, value: string): unknown;
}

interface GlideClient {
  get(key: string): Promise<unknown>;
  set(key: string, value: string): Promise<unknown>;
  mget(keys: string[]): Promise<unknown[]>;
  mset(entries: { key: string; value: string }[]): Promise<unknown>;
  exec(batch: GlideBatch, raiseOnError: boolean): Promise<unknown[] | null>;
  close(): void;
}

export const valkeyGlide: JsKvClient = {
  connect: async (url) => {
    const { GlideClient, GlideClusterClient, Batch, ClusterBatch } = loadPackage<Glide>(VALKEY_GLIDE);
    const { host, port, path, username, password, database, tls, tlsCa, cluster } = parseKvUrl(url);
    if (path !== undefined) throw new BoundaryError('BB_UNSUPPORTED', `${VALKEY_GLIDE} is measured over TCP only`);
    const isCluster = cluster === true;
    const client = await (isCluster ? GlideClusterClient : GlideClient).createClient({
      addresses: [{ host, port }],
      ...(isCluster ? {} : { databaseId: database }),
      useTLS: tls,
      requestTimeout: 30_000,
      ...(password === undefined ? {} : { credentials: { password, ...(username === undefined ? {} : { username }) } }),
      ...(tlsCa === undefined
        ? {}
        : { advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: readFileSync(tlsCa) } } }),
    });
    return new GlideConnection(client, {
      isAuto: false,
      begin: () => (isCluster ? new ClusterBatch(false) : new Batch(false)),
      exec: (batch) => client.exec(batch, true) as Promise<unknown[]>,
    });
  },
};

class GlideConnection extends PipelinedConnection<GlideClient, GlideBatch> {
  mget(keys: readonly string[]): Promise<readonly (string | null)[]> {
    return this.client.mget(keys as string[]) as Promise<(string | null)[]>;
  }

  mset(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.client.mset(keys.map((key, index) => ({ key, value: values[index]! })));
  }

  async close(): Promise<void> {
    this.client.close();
  }
}
