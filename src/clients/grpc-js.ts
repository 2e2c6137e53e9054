/**
 * `@grpc/grpc-js`, in JavaScript alone, in its fastest configuration: a connection of its own to each shard, no retries, whose
 * buffers cost time, and large windows for scans. Messages are made by protobufjs, which generates code for each type. Code
 * generated in advance would be the same. The `README.md` of grpc-js, "Supported Channel Options", lists the options.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type * as Grpc from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';

import { BoundaryError, TIMEOUT, UNSUPPORTED } from '../errors.js';
import type { ShardBatches } from '../library/shards/shard-filling.js';
import { shardOf } from '../library/shards/shard-placing.js';
import { ROW_BYTES } from '../library/shards/shard-row.js';
import { importPackage } from './optional-package.js';

const { Client, Metadata, credentials, status } = await importPackage('@grpc/grpc-js', () => import('@grpc/grpc-js'));
const { loadSync } = await importPackage('@grpc/proto-loader', () => import('@grpc/proto-loader'));

const PROTO = fileURLToPath(new URL('../../proto/boundary_bench/shards/v1/shards.proto', import.meta.url));

const SERVICE = 'boundary_bench.shards.v1.ShardService';

/** The most rows of one message: the shards take messages of up to 4 MiB. */
const MOST_ROWS = 16_384;

/** The flow control window in bytes, as in the Rust client. */
const WINDOW_BYTES = 4 << 20;

const CONNECT_MS = 10_000;

const OPTIONS: Grpc.ChannelOptions = {
  // Each client has connections of its own, like a thread of a load.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc-node.flow_control_window': WINDOW_BYTES,
};

/** Our error codes by gRPC's. Any other code of gRPC becomes `BB_ENGINE`. */
const CODES: Readonly<Partial<Record<Grpc.status, string>>> = {
  [status.UNAVAILABLE]: 'BB_CONNECTION',
  [status.UNAUTHENTICATED]: 'BB_CONNECTION',
  [status.DEADLINE_EXCEEDED]: TIMEOUT,
  [status.INVALID_ARGUMENT]: 'BB_INVALID_ARGUMENT',
  [status.UNIMPLEMENTED]: UNSUPPORTED,
};

/** The address of a shard. */
export interface GrpcAddress {
  /** The URL, `http[s]://host:port`. */
  readonly url: string;
  /** The API key that the shard requires; empty if it requires none. */
  readonly secret: string;
  /** A file of certificates to trust instead of the system's. */
  readonly tlsCa?: string;
}

/** A row in the form of its message. */
export interface GrpcRow {
  readonly key: number;
  readonly quantity: number;
  readonly price: number;
  readonly updated_at: number;
  readonly payload: Uint8Array;
}

/** The packed rows of keys that were found, and one bit per key. */
export interface GrpcFound {
  readonly keys: readonly number[];
  readonly found: Uint8Array;
  readonly rows: Uint8Array;
}

/** A piece of an Arrow stream: a message, with its body separate. */
export interface GrpcPiece {
  readonly ipc_header: Buffer;
  readonly ipc_body: Buffer;
}

/** An aggregation, in the terms of the proto. */
export interface GrpcAggregation {
  readonly column: string;
  readonly filter?: {
    readonly column: string;
    readonly comparison: string;
    readonly value: { readonly integer: number };
  };
}

interface GrpcNumber {
  readonly real?: number;
}

/** The aggregate of the column price. */
export interface GrpcAggregate {
  readonly count: number;
  readonly real_sum: number;
  readonly min: GrpcNumber | null;
  readonly max: GrpcNumber | null;
}

type Methods = Readonly<Record<string, MethodDefinition<object, object>>>;

let loaded: Methods | undefined;

function methods(): Methods {
  loaded ??= loadSync(PROTO, { keepCase: true, longs: Number, enums: String, defaults: true })[SERVICE] as Methods;
  return loaded;
}

/** A client of all shards, in the order of their addresses: `http://host:port`, or an address with a key and certificates. */
export class GrpcShards {
  readonly #shards: readonly Shard[];

  private constructor(shards: readonly Shard[]) {
    this.#shards = shards;
  }

  static async connect(addresses: readonly (string | GrpcAddress)[]): Promise<GrpcShards> {
    const shards = addresses.map((address, index) => {
      const named = typeof address === 'string' ? { url: address, secret: '' } : address;
      return new Shard(named, `shard ${index} of ${addresses.length}`);
    });
    try {
      await Promise.all(shards.map((shard) => shard.connect()));
      return new GrpcShards(shards);
    } catch (thrown) {
      for (const shard of shards) shard.close();
      throw thrown;
    }
  }

  get shards(): number {
    return this.#shards.length;
  }

  async get(key: number): Promise<GrpcRow | null> {
    const { row } = await this.#of(key).call<{ row: GrpcRow | null }>('Get', { key });
    return row;
  }

  /** Reads from all shards that have keys in parallel. Each response is with the keys that it answers. */
  multiGet(keys: ArrayLike<number>): Promise<GrpcFound[]> {
    const parts = this.#parts(keys, (place) => keys[place]!);
    return Promise.all(
      parts.map(async ({ shard, values }) => {
        const { found, rows } = await shard.call<Omit<GrpcFound, 'keys'>>('MultiGet', { keys: values });
        return { keys: values, found, rows };
      }),
    );
  }

  async put(row: GrpcRow): Promise<void> {
    await this.#of(row.key).call('Put', { row });
  }

  /** Writes packed rows of these keys, to all shards in parallel. */
  async putMany(keys: ArrayLike<number>, packed: Uint8Array): Promise<void> {
    const parts = this.#parts(keys, (place) => place);
    await Promise.all(parts.map(({ shard, values }) => shard.call('PutMany', { rows: gathered(packed, values) })));
  }

  /** Reads all rows of all shards in parallel. `take` gets each piece with the number of its shard. */
  async scan(take: (piece: GrpcPiece, shard: number) => void): Promise<void> {
    await Promise.all(
      this.#shards.map((shard, index) => shard.read('Scan', {}, (piece) => take(piece as GrpcPiece, index))),
    );
  }

  /** Aggregates in all shards in parallel. */
  aggregate(request: GrpcAggregation): Promise<GrpcAggregate[]> {
    return Promise.all(this.#shards.map((shard) => shard.call<GrpcAggregate>('Aggregate', request)));
  }

  /** Fills all shards in parallel with the rows given for each, which replace their rows. */
  async populate(shards: readonly ShardBatches[]): Promise<void> {
    const totalRows = shards.reduce((sum, { rows }) => sum + rows, 0);
    const requests = shards.map((batches) => populationOf(batches, totalRows));
    await Promise.all(this.#shards.map((shard, index) => shard.write('Populate', requests[index]!)));
  }

  close(): void {
    for (const shard of this.#shards) shard.close();
  }

  #of(key: number): Shard {
    return this.#shards[shardOf(key, this.#shards.length)]!;
  }

  /** The value for the key at each place, by the shards of the keys, in parts of at most `MOST_ROWS`. */
  #parts(keys: ArrayLike<number>, valueOf: (place: number) => number): MessagePart[] {
    const parts: MessagePart[] = [];
    const open: number[][] = [];
    for (let place = 0; place < keys.length; place += 1) {
      const index = shardOf(keys[place]!, this.#shards.length);
      let values = open[index];
      if (values === undefined || values.length === MOST_ROWS) {
        values = open[index] = [];
        parts.push({ shard: this.#shards[index]!, values });
      }
      values.push(valueOf(place));
    }
    return parts;
  }
}

/** A part of a request, for one shard. */
interface MessagePart {
  readonly shard: Shard;
  readonly values: number[];
}

/** The requests of a population: the first announces the rows, each of the others has one message. */
async function* populationOf({ rows, messages }: ShardBatches, totalRows: number): AsyncGenerator<object> {
  yield { begin: { rows, total_rows: totalRows, replace: true } };
  for await (const { header, body } of messages) yield { ipc_header: header, ipc_body: body };
}

/** The packed rows at these positions, one after another, as a message has them. */
function gathered(packed: Uint8Array, places: readonly number[]): Buffer {
  const rows = Buffer.allocUnsafe(places.length * ROW_BYTES);
  for (const [index, place] of places.entries()) {
    rows.set(packed.subarray(place * ROW_BYTES, (place + 1) * ROW_BYTES), index * ROW_BYTES);
  }
  return rows;
}

/** One shard, reached by gRPC. */
class Shard {
  readonly #name: string;
  readonly #client: Grpc.Client;
  readonly #metadata = new Metadata();

  constructor({ url, secret, tlsCa }: GrpcAddress, name: string) {
    const { host, protocol } = new URL(url);
    const trusted = (): Buffer | null => (tlsCa === undefined ? null : readFileSync(tlsCa));
    const channel = protocol === 'https:' ? credentials.createSsl(trusted()) : credentials.createInsecure();
    this.#name = `${name} at ${url}`;
    this.#client = new Client(host, channel, OPTIONS);
    if (secret !== '') this.#metadata.set('x-api-key', secret);
  }

  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(Date.now() + CONNECT_MS, (error) => {
        if (error === undefined) resolve();
        else reject(new BoundaryError('BB_CONNECTION', `${this.#name}: ${error.message}; check that it runs`));
      });
    });
  }

  call<Answer>(method: string, request: object): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = methods()[method]!;
    return new Promise((resolve, reject) => {
      const take = (error: Grpc.ServiceError | null, answer?: object): void => {
        if (error === null) resolve(answer as Answer);
        else reject(this.#explained(error));
      };
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, this.#metadata, take);
    });
  }

  /** Reads a stream of messages. */
  read(method: string, request: object, take: (message: object) => void): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = methods()[method]!;
    return new Promise((resolve, reject) => {
      const stream = this.#client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        this.#metadata,
      );
      stream.on('data', (message: object) => {
        try {
          take(message);
        } catch (thrown) {
          reject(thrown as Error);
          stream.cancel();
        }
      });
      stream.on('error', (error) => reject(this.#explained(error as Grpc.ServiceError)));
      stream.on('end', resolve);
    });
  }

  /** Writes a stream of messages, with backpressure. */
  async write(method: string, messages: AsyncIterable<object>): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = methods()[method]!;
    let stop: () => void = () => {};
    const stopped = new Promise<void>((resolve) => (stop = resolve));
    let isOver = false;
    const answered = new Promise<void>((resolve, reject) => {
      const end = (error: Grpc.ServiceError | null): void => {
        isOver = true;
        stop();
        if (error === null) resolve();
        else reject(this.#explained(error));
      };
      const stream = this.#client.makeClientStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        this.#metadata,
        end,
      );
      const send = async (): Promise<void> => {
        for await (const message of messages) {
          if (isOver) return;
          const isFull = !stream.write(message);
          if (isFull) await Promise.race([stopped, new Promise((drained) => stream.once('drain', drained))]);
        }
        stream.end();
      };
      send().catch((thrown: unknown) => {
        stream.cancel();
        reject(thrown as Error);
      });
    });
    await answered;
  }

  close(): void {
    this.#client.close();
  }

  #explained({ code, details, metadata }: Grpc.ServiceError): BoundaryError {
    const [ours] = metadata?.get('bb-code') ?? [];
    const known = typeof ours === 'string' ? ours : (CODES[code] ?? 'BB_ENGINE');
    return new BoundaryError(known, `${this.#name}: ${details}`);
  }
}
