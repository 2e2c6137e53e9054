/** The calls of clients of the Redis protocol whose batches of single commands are pipelines. */
import { type DividedKeys, divideKeys, inOrder } from './cluster-keys.js';
import type { JsKvConnection } from './js-kv-client.js';

/** A client, as far as all of them call it alike. */
interface KvCalls {
  get(key: string): Promise<unknown>;
  set(key: string, value: string): Promise<unknown>;
}

/** A pipeline, as far as all of them are filled alike. */
interface KvPipeline {
  get(key: string): unknown;
  set(key: string, value: string): unknown;
}

/** How a client sends a batch. */
export interface Batching<Pipeline> {
  /** Whether the client itself sends the commands of a turn of the event loop together: a batch is then made of single calls. */
  readonly isAuto: boolean;
  /** Begins a pipeline. */
  begin(): Pipeline;
  /** Sends a pipeline. Resolves to its replies, and rejects with the first error among them. */
  exec(pipeline: Pipeline): Promise<unknown[]>;
  /** The server of a slot of a cluster, if all keys of a pipeline must be on one server; absent: they may be on any. */
  serverOf?(slot: number): unknown;
}

/** Calls on one client, in a cluster or not. */
export abstract class PipelinedConnection<
  Client extends KvCalls,
  Pipeline extends KvPipeline,
> implements JsKvConnection {
  protected readonly client: Client;
  protected readonly batching: Batching<Pipeline>;

  constructor(client: Client, batching: Batching<Pipeline>) {
    this.client = client;
    this.batching = batching;
  }

  get(key: string): Promise<string | null> {
    return this.client.get(key) as Promise<string | null>;
  }

  set(key: string, value: string): Promise<unknown> {
    return this.client.set(key, value);
  }

  getMany(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const { isAuto, serverOf } = this.batching;
    if (isAuto) return Promise.all(keys.map((key) => this.get(key)));
    if (serverOf !== undefined) return this.#getDivided(keys);
    const pipeline = this.batching.begin();
    for (const key of keys) pipeline.get(key);
    return this.batching.exec(pipeline) as Promise<(string | null)[]>;
  }

  setMany(keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const { isAuto, serverOf } = this.batching;
    if (isAuto) return Promise.all(keys.map((key, index) => this.client.set(key, values[index]!)));
    if (serverOf !== undefined) {
      return this.execDivided(this.divide(keys), (pipeline, positions) => {
        for (const position of positions) pipeline.set(keys[position]!, values[position]!);
      });
    }
    const pipeline = this.batching.begin();
    for (let index = 0; index < keys.length; index += 1) pipeline.set(keys[index]!, values[index]!);
    return this.batching.exec(pipeline);
  }

  abstract mget(keys: readonly string[]): Promise<readonly (string | null)[]>;
  abstract mset(keys: readonly string[], values: readonly string[]): Promise<unknown>;
  abstract close(): Promise<void>;

  async #getDivided(keys: readonly string[]): Promise<readonly (string | null)[]> {
    const divided = this.divide(keys);
    const replies = await this.execDivided(divided, (pipeline, positions) => {
      for (const position of positions) pipeline.get(keys[position]!);
    });
    return inOrder(divided, replies) as (string | null)[];
  }

  protected divide(keys: readonly string[]): DividedKeys {
    return divideKeys(keys, this.batching.serverOf!);
  }

  /** The replies of a pipeline for each server, to which `add` adds the commands for the keys of a slot. */
  protected execDivided(
    divided: DividedKeys,
    add: (pipeline: Pipeline, positions: readonly number[]) => void,
  ): Promise<unknown[][]> {
    return Promise.all(
      divided.map((slots) => {
        const pipeline = this.batching.begin();
        for (const positions of slots) add(pipeline, positions);
        return this.batching.exec(pipeline);
      }),
    );
  }
}
