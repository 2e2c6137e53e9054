import { BoundaryError } from '../../errors.js';
import { KvClient } from '../../library/kv/kv-client.js';
import type { KvPipeline } from '../../library/kv/kv-pipeline.js';
import type { KvReplies, KvValues } from '../../library/kv/kv-values.js';
import { BLANK, flat, keyOf, type KvReader, valueOf, KV_MATRIX } from './keys.js';

const { keysAtOnce: KEYS_AT_ONCE } = KV_MATRIX;

/** The keys of one cell on the server, and the untimed work on them. */
export class Keyspace {
  /** The keys, made in advance, since making the input is not measured. */
  readonly keys: readonly string[];
  readonly values: readonly string[];
  readonly #client: KvClient;

  private constructor(client: KvClient, prefix: string, count: number) {
    this.#client = client;
    this.keys = Array.from({ length: count }, (_, index) => flat(keyOf(prefix, index)));
    this.values = Array.from({ length: count }, (_, index) => flat(valueOf(index)));
  }

  /** Connects, checks that the server knows the cell's command, and sets every key to its value. */
  static async open(url: string, prefix: string, count: number, command: string): Promise<Keyspace> {
    const keyspace = new Keyspace(await KvClient.connect(url), prefix, count);
    try {
      await keyspace.#assertKnown(command);
      await keyspace.#write((index) => keyspace.values[index]!);
      return keyspace;
    } catch (thrown) {
      await keyspace.close();
      throw thrown;
    }
  }

  async #assertKnown(command: string): Promise<void> {
    // Sent without arguments: the server's error says so, unless the server does not know the command.
    const refusal = (await this.#client.pipeline().command(command).execute()).error(0);
    if (refusal !== undefined && /unknown command/i.test(refusal.message)) {
      throw new BoundaryError('BB_UNSUPPORTED', `the server does not know the command ${command}`);
    }
  }

  /** Sets every key to a value that adds nothing to the sum. */
  blank(signal?: AbortSignal): Promise<void> {
    return this.#write(() => BLANK, signal);
  }

  /** Reads the values that the keys hold into `reader`, which it returns. */
  async read<R extends KvReader>(reader: R, signal?: AbortSignal): Promise<R> {
    await this.#send(
      (pipeline, index) => pipeline.get(this.keys[index]!),
      (replies, from) => addValues(reader, replies, from),
      signal,
    );
    return reader;
  }

  /** Deletes the keys and closes the connection. */
  async close(): Promise<void> {
    try {
      await this.#send(
        (pipeline, index) => pipeline.command('DEL', this.keys[index]!),
        () => {},
      );
    } finally {
      await this.#client.close();
    }
  }

  #write(valueAt: (index: number) => string, signal?: AbortSignal): Promise<void> {
    return this.#send((pipeline, index) => pipeline.set(this.keys[index]!, valueAt(index)), assertDone, signal);
  }

  /** Sends a command for each key, in pipelines. `take` gets the replies to each pipeline, and the index `from` of the first key. */
  async #send(
    add: (pipeline: KvPipeline, index: number) => void,
    take: (replies: KvReplies, from: number) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    for (let from = 0; from < this.keys.length; from += KEYS_AT_ONCE) {
      const to = Math.min(from + KEYS_AT_ONCE, this.keys.length);
      const pipeline = this.#client.pipeline();
      for (let index = from; index < to; index += 1) add(pipeline, index);
      take(await pipeline.execute({ signal }), from);
    }
  }
}

/** Hands the values of a response to `reader`. The first value belongs to the key `from`. Throws the first error. */
export function addValues(reader: KvReader, values: KvValues, from: number): void {
  const { data, length } = values;
  let start = 0;
  for (let index = 0; index < length; index += 1) {
    const end = values.end(index);
    if (!values.isNull(index)) {
      const error = values.error(index);
      if (error !== undefined) throw error;
      reader.addBytes(data, start, end, from + index);
    }
    start = end;
  }
}

/** Throws the first error of a response. */
export function assertDone(replies: KvValues): void {
  for (let index = 0; index < replies.length; index += 1) {
    const error = replies.error(index);
    if (error !== undefined) throw error;
  }
}
