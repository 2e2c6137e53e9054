import { BoundaryError, invalidArgument, toBoundaryError } from '../../errors.js';
import {
  assertNotAborted,
  readWorkOptions,
  watchLimits,
  withOutcome,
  type WorkOptions,
} from '../crossing/cancellation.js';
import { ownList } from '../crossing/own-list.js';
import { checkConnectTimeout, type ConnectOptions, connectTimeoutOf } from '../crossing/connecting.js';
import { type ReplyForm, KvCall, type KvLink, openLink } from './kv-link.js';
import { KvPipeline } from './kv-pipeline.js';
import { GET, type KvData, MGET, MSET, ownData, type RequestKind, SET } from './kv-submission.js';
import type { KvReplies, KvValues } from './kv-values.js';
import { checkTimeout, integerIn, type OptionChecks, readOptions } from '../crossing/options.js';
import { SERVER_OPTIONS, type ServerOptions, withUrlOptions } from '../crossing/url-options.js';

/** The most connections of a client. */
const MOST_CONNECTIONS = 1000;

/** The connections of a `KvClient` and its time-out. */
export interface KvClientOptions extends ConnectOptions, ServerOptions {
  /** The number of connections to the server. Default: 1. Each call takes the one with the fewest calls under way. */
  readonly connections?: number | undefined;
  /**
   * The time-out in milliseconds of each call without its own. Default: none, as in ioredis: a call then waits while its
   * connection lives.
   */
  readonly timeoutMs?: number | undefined;
}

const CLIENT_OPTIONS: OptionChecks<KvClientOptions> = {
  ...SERVER_OPTIONS,
  connections: integerIn(1, MOST_CONNECTIONS),
  timeoutMs: checkTimeout,
  connectTimeoutMs: checkConnectTimeout,
};

/**
 * A client of servers that speak the Redis protocol: `redis://[[user]:password@]host[:port][/database]`, `rediss://...` for TLS,
 * `redis+unix:///path`. Clusters are detected, or named by `?cluster=true`. The largest reply is 512 MiB, unless `maxResponseBytes`
 * says otherwise.
 *
 * Several calls may be under way at once. The calls of one turn of the event loop cross into Rust together, and share the writes to
 * their connections. All errors are `BoundaryError`s. When a connection is lost, its calls under way are rejected with
 * `BB_CONNECTION`: they may have been executed or not, and are never retried. The next call reconnects. A call that is aborted or
 * times out is rejected, and its connection closed once no other call waits for it. In a cluster, these are its connections to the
 * servers that have not answered it: a server that hangs holds up only the calls with commands for it. If a single server says that
 * it is a replica or loads its data (`READONLY`, `MASTERDOWN`, `LOADING`), the call has the server's error, and the next call
 * reconnects.
 *
 * @example
 * ```js
 * import { KvClient } from 'boundary-bench';
 *
 * const kv = await KvClient.connect('redis://127.0.0.1:6379');
 * await kv.mset([['a', '1'], ['b', '2']]);
 * const values = await kv.mget(['a', 'b', 'c']);
 * console.log(values.toArray()); // ['1', '2', null]
 * const replies = await kv.pipeline().set('d', '3').get('d').execute();
 * console.log(replies.values()); // ['OK', '3']
 * await kv.close();
 * ```
 */
export class KvClient implements AsyncDisposable {
  readonly #url: string;
  readonly #timeoutMs: number | undefined;
  readonly #connectMs: number;
  readonly #links: (KvLink | undefined)[];
  /** Connections being opened, at their indices in `#links`. */
  readonly #opening: (Promise<KvLink> | undefined)[];
  /** Links that others have replaced, and that still have calls under way. */
  readonly #retired = new Set<KvLink>();
  #isClosed = false;

  private constructor(url: string, connections: number, timeoutMs: number | undefined, connectMs: number) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#connectMs = connectMs;
    this.#links = Array.from({ length: connections });
    this.#opening = Array.from({ length: connections });
  }

  /** Connects and logs in, on all connections. */
  static async connect(url: string, options: KvClientOptions = {}): Promise<KvClient> {
    const read = readOptions(options, CLIENT_OPTIONS);
    const { connections = 1, timeoutMs, connectTimeoutMs, tls, tlsCa, maxResponseBytes } = read;
    const server = withUrlOptions(url, { tls, 'tls-ca': tlsCa, 'max-response-bytes': maxResponseBytes });
    const client = new KvClient(server, connections, timeoutMs, connectTimeoutOf(connectTimeoutMs, timeoutMs));
    try {
      await Promise.all(client.#links.map((_, place) => client.#open(place)));
      return client;
    } catch (thrown) {
      await client.close();
      throw toBoundaryError(thrown);
    }
  }

  /** The value of a key; null if the key does not exist. */
  get(key: KvData, options?: WorkOptions): Promise<Uint8Array | null> {
    return this.#call('bytes', GET, undefined, [key], options);
  }

  /** Like `get`, as text. Rejects with `BB_INVALID_VALUE` if the value is not valid UTF-8. */
  getText(key: KvData, options?: WorkOptions): Promise<string | null> {
    return this.#call('text', GET, undefined, [key], options);
  }

  /** Sets a key to a value. */
  set(key: KvData, value: KvData, options?: WorkOptions): Promise<void> {
    return this.#call('nothing', SET, undefined, [key, value], options);
  }

  /**
   * The values of keys, in one crossing each way. More than 4096 keys, or a megabyte of keys, are split into several commands,
   * as are keys of several slots of a cluster. If some of the commands fail, their values have an `error`.
   */
  async mget(keys: readonly KvData[], options?: WorkOptions): Promise<KvValues> {
    // A copy, since reading the keys may run the caller's code, and they are sent later if a connection must be opened.
    const own = ownList('the keys', keys);
    checkLength('keys', own);
    return this.#call('values', MGET, undefined, own, options);
  }

  /** Sets keys to values, in one crossing, split as for `mget`. Each command is atomic. */
  async mset(entries: Iterable<readonly [KvData, KvData]>, options?: WorkOptions): Promise<void> {
    if (typeof entries?.[Symbol.iterator] !== 'function' || ArrayBuffer.isView(entries)) {
      throw invalidArgument('entries must be an array of keys and values, or another iterable');
    }
    const args: KvData[] = [];
    for (const entry of entries) {
      // A text can be taken apart, too: of `[key, value]` instead of `[[key, value]]`, the letters would be keys and values.
      if (!Array.isArray(entry) || entry.length !== 2) {
        throw invalidArgument(`entry ${args.length >> 1} must be an array of a key and a value`);
      }
      args.push(entry[0] as KvData, entry[1] as KvData);
    }
    checkLength('entries', args);
    return this.#call('nothing', MSET, undefined, args, options);
  }

  /** A pipeline of commands that cross and are sent together. Each has its own reply or error. */
  pipeline(): KvPipeline {
    return new KvPipeline((kind, counts, args, options) =>
      this.#call<KvReplies>('replies', kind, counts, args, options),
    );
  }

  /** Closes the connections. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const link of [...this.#links, ...this.#retired]) link?.close();
    const opening = this.#opening.flatMap((link) => link ?? []);
    for (const outcome of await Promise.allSettled(opening)) {
      if (outcome.status === 'fulfilled') outcome.value.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call<T>(
    answer: ReplyForm,
    kind: RequestKind,
    counts: readonly number[] | undefined,
    args: readonly KvData[],
    options: WorkOptions | undefined,
  ): Promise<T> {
    if (options !== undefined || this.#timeoutMs !== undefined) {
      return this.#callWithin<T>(answer, kind, counts, args, options === undefined ? {} : options);
    }
    const link = this.#ready();
    if (link === undefined) return this.#callWithin<T>(answer, kind, counts, args, {});
    return new Promise<T>((resolve, reject) => {
      const call = new KvCall(answer, link, resolve as (value: unknown) => void, reject);
      link.send(call, kind, counts, args);
    });
  }

  /** Sends a call that must wait for a connection, or may be ended. */
  async #callWithin<T>(
    answer: ReplyForm,
    kind: RequestKind,
    counts: readonly number[] | undefined,
    args: readonly KvData[],
    options: WorkOptions,
  ): Promise<T> {
    const { signal, timeoutMs = this.#timeoutMs } = readWorkOptions(options);
    assertNotAborted(signal);
    if (this.#isClosed) throw closed();
    let giveUp!: (error: BoundaryError) => void;
    const ending = new Promise<never>((_resolve, reject) => {
      giveUp = (error) => reject(withOutcome(error, 'not executed'));
    });
    // Marks a rejection as handled, since the promise may be awaited later or never.
    ending.catch(() => {});
    const release = watchLimits({ signal, timeoutMs }, (reason) => giveUp(reason));
    try {
      let link = this.#ready();
      // A copy, since the caller may reuse the memory of the bytes once the call has returned.
      const own = link === undefined ? args.map(ownData) : args;
      while (link === undefined || link.isOver) {
        link = await Promise.race([this.#openAny(), ending]);
        // The client was closed in the meantime, and the link's number may belong to another connection.
        if (this.#isClosed) throw closed();
      }
      const open = link;
      return await new Promise<T>((resolve, reject) => {
        const call = new KvCall(answer, open, resolve as (value: unknown) => void, reject);
        const id = open.send(call, kind, counts, own);
        giveUp = (error) => {
          // The id of a call that has ended may be another call's by now.
          if (call.isOver) return;
          call.fail(withOutcome(error, 'unknown'));
          open.giveUp(id);
        };
      });
    } catch (thrown) {
      throw toBoundaryError(thrown);
    } finally {
      release();
    }
  }

  /** The open connection with the fewest calls; undefined if none is open. Missing ones are opened meanwhile. */
  #ready(): KvLink | undefined {
    if (this.#isClosed) return undefined;
    let best: KvLink | undefined;
    let isOneMissing = false;
    for (const link of this.#links) {
      if (link === undefined || link.isOver) isOneMissing = true;
      else if (best === undefined || link.callsUnderWay < best.callsUnderWay) best = link;
    }
    if (isOneMissing && best !== undefined) this.#reopen();
    return best;
  }

  /** Opens the missing connections, for later calls: who calls now has another one. */
  #reopen(): void {
    for (let place = 0; place < this.#links.length; place += 1) this.#open(place).catch(() => {});
  }

  /** Opens a connection for a call that has none. All connections are missing. */
  #openAny(): Promise<KvLink> {
    return Promise.any(this.#links.map((_, place) => this.#open(place))).catch((thrown: AggregateError) => {
      throw thrown.errors[0] as Error;
    });
  }

  #open(place: number): Promise<KvLink> {
    const link = this.#links[place];
    if (link !== undefined && !link.isOver) return Promise.resolve(link);
    this.#opening[place] ??= openLink(this.#url, this.#connectMs)
      .then((opened) => {
        this.#retire(link);
        this.#links[place] = opened;
        opened.onOutdated = () => this.#renew(opened);
        return opened;
      })
      .finally(() => (this.#opening[place] = undefined));
    return this.#opening[place];
  }

  /** Replaces all connections: the URL led them to the server of this one, and may lead to another by now. */
  #renew(outdated: KvLink): void {
    if (this.#links.includes(outdated)) for (const link of this.#links) link?.retire();
  }

  /** Keeps a link whose place another one takes for as long as it has calls under way, since `close` ends these too. */
  #retire(link: KvLink | undefined): void {
    for (const retired of this.#retired) if (retired.callsUnderWay === 0) this.#retired.delete(retired);
    if (link !== undefined && link.callsUnderWay > 0) this.#retired.add(link);
  }
}

function closed(): BoundaryError {
  return new BoundaryError('BB_CLOSED', 'the client is closed');
}

function checkLength(name: string, list: readonly unknown[]): void {
  if (list.length === 0) throw invalidArgument(`there must be at least one of the ${name}`);
}
