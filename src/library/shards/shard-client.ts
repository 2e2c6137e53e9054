import { types } from 'node:util';

import type { Cancel, RawAggregate, RawShardClient } from '../../addon.js';
import { rawShards } from './raw-shards.js';
import { explained, explainedAsync, invalidArgument, toBoundaryError } from '../../errors.js';
import { assertNotAborted, untilAborted, type WorkOptions } from '../crossing/cancellation.js';
import { checkConnectTimeout, type ConnectOptions, connecting, connectTimeoutOf } from '../crossing/connecting.js';
import { describeValue } from '../crossing/describe-value.js';
import {
  checkBoolean,
  checkLater,
  checkSignal,
  checkTimeout,
  integerIn,
  type OptionChecks,
  oneOf,
  readOptions,
} from '../crossing/options.js';
import { ownList } from '../crossing/own-list.js';
import { checkMemory, lengthOf } from '../crossing/typed-memory.js';
import { checkText } from '../crossing/well-formed.js';
import { type ShardBatches, fillShards } from './shard-filling.js';
import { ShardRow } from './shard-row.js';
import { ShardRows } from './shard-rows.js';
import { ShardScan } from './shard-scan.js';
import { ShardStore } from './shard-store.js';

/** The most keys read synchronously, while the event loop waits: a few hundred microseconds. */
const MOST_KEYS_NOW = 2048;

const MOST_CONNECTIONS = 1000;

/** The connections of a `ShardClient` to its shards, and its time-out. */
export interface ShardClientOptions extends ConnectOptions {
  /**
   * The time-out in milliseconds of each call, including a scan or a population as a whole. Default: none, as in grpc-js: calls
   * then wait indefinitely.
   */
  readonly timeoutMs?: number | undefined;
  /** The number of connections to each shard, used in turn. Default: 1. */
  readonly connections?: number | undefined;
  /** The API key that the shards require, for addresses that contain none. */
  readonly apiKey?: string | undefined;
  /** A file of certificates to trust instead of the system's, for `https` addresses that name none. */
  readonly tlsCa?: string | undefined;
}

/**
 * Options that end a call early, in the shards too. The call is rejected with `BB_ABORTED`. A write that was under way may have
 * been executed or not.
 */
export type ShardCallOptions = Pick<WorkOptions, 'signal'>;

/** Options for filling shards, which say what happens to rows that are there. */
export interface ShardPopulateOptions extends ShardCallOptions {
  /** Whether existing rows are replaced, in each shard once all its new rows have arrived. Otherwise they are an error. */
  readonly replace?: boolean | undefined;
}

/** Keys of rows. In a `Float64Array` they must be safe integers. */
export type ShardKeys = BigInt64Array | Int32Array | Float64Array;

/** The columns that can be aggregated and filtered by. */
export type ShardColumn = 'key' | 'quantity' | 'price' | 'updated_at';

/** The values to add up on the shards: one column of the rows on which the filter holds. */
export interface ShardAggregation {
  readonly column: ShardColumn;
  /** The condition on the rows that count. Default: all rows. */
  readonly filter?: {
    readonly column: ShardColumn;
    readonly comparison: '=' | '!=' | '<' | '<=' | '>' | '>=';
    readonly value: number | bigint;
  };
  /** Where rows are aggregated: `shards`, the default, or `here`, after all rows have crossed, to see what that costs. */
  readonly place?: 'shards' | 'here';
}

/** The aggregate of a column: bigints for integers, numbers for prices. */
export interface ShardAggregate {
  readonly count: number;
  readonly sum: bigint | number;
  /** The minimum; absent if no rows count, like `max` and `average`. */
  readonly min?: bigint | number;
  readonly max?: bigint | number;
  readonly average?: number;
}

/** The state of a shard. */
export interface ShardState {
  readonly rows: number;
  /** The number of rows that all shards together got from the last population that completed. */
  readonly populated?: number;
}

const CLIENT_OPTIONS: OptionChecks<ShardClientOptions> = {
  timeoutMs: checkTimeout,
  connectTimeoutMs: checkConnectTimeout,
  connections: integerIn(1, MOST_CONNECTIONS),
  apiKey: checkText,
  tlsCa: checkText,
};

const CALL_OPTIONS: OptionChecks<ShardCallOptions> = { signal: checkSignal };
const POPULATE_OPTIONS: OptionChecks<ShardPopulateOptions> = { ...CALL_OPTIONS, replace: checkBoolean };

const COLUMN = oneOf('key', 'quantity', 'price', 'updated_at');
const AGGREGATION: OptionChecks<ShardAggregation> = {
  column: COLUMN,
  filter: checkLater,
  place: oneOf('shards', 'here'),
};
const FILTER: OptionChecks<NonNullable<ShardAggregation['filter']>> = {
  column: COLUMN,
  comparison: oneOf('=', '!=', '<', '<=', '>', '>='),
  // Checked by the addon, by the type of the column.
  value: checkLater,
};

/**
 * A client of a sharded store. Each shard is reached by gRPC, under its address, or is in this process, given as a `ShardStore`.
 * Rows have 200 bytes. A hash of its key determines a row's shard. All errors are `BoundaryError`s that name the shard.
 *
 * @example
 * ```js
 * import { ShardClient, ShardStore } from 'boundary-bench';
 *
 * // A shard elsewhere is given by its address: 'http://host:4410'.
 * const stores = [ShardStore.inMemory(), ShardStore.inMemory()];
 * const client = await ShardClient.connect(stores);
 * await client.populate(1000);
 * const rows = await client.multiGet(Int32Array.of(1, 2, 5000));
 * console.log(rows.found); // 2
 * rows.release();
 * await client.close();
 * ```
 */
export class ShardClient implements AsyncDisposable {
  readonly #raw: RawShardClient;
  readonly #hasMemory: boolean;
  readonly #isMemory: boolean;
  readonly #read: (key: number | bigint, into: Uint8Array) => number;
  readonly #write: (from: Uint8Array) => number;
  readonly #row = new ShardRow();

  private constructor(raw: RawShardClient, places: readonly (string | ShardStore)[]) {
    const isMemory = (place: string | ShardStore): boolean => place instanceof ShardStore && !place.isPersistent;
    this.#raw = raw;
    this.#hasMemory = places.some(isMemory);
    this.#isMemory = places.every(isMemory);
    this.#read = raw.rowReader();
    this.#write = raw.rowWriter();
  }

  /**
   * Connects to all shards, given in the order of their numbers: `http[s]://[:key@]host:4410[?tls-ca=/file.pem]`, or a store of
   * this process.
   */
  static async connect(
    places: readonly (string | ShardStore)[],
    options: ShardClientOptions = {},
  ): Promise<ShardClient> {
    const isPlace = (place: unknown): boolean => typeof place === 'string' || place instanceof ShardStore;
    const own: readonly (string | ShardStore)[] = Array.isArray(places) ? ownList('the places of shards', places) : [];
    if (own.length === 0 || !own.every(isPlace)) {
      throw invalidArgument('the places of shards must be addresses or stores, one at least');
    }
    for (const place of own) if (typeof place === 'string') checkText('the address of a shard', place);
    const read = readOptions(options, CLIENT_OPTIONS);
    const { timeoutMs, connectTimeoutMs, connections = 1, apiKey, tlsCa } = read;
    const named = own.map((place) => (typeof place === 'string' ? place : place.place));
    const connectMs = connectTimeoutOf(connectTimeoutMs, timeoutMs);
    const opened = (): Promise<RawShardClient> =>
      connecting(rawShards().RawShardClient.connect(named, timeoutMs, connections, apiKey, tlsCa), connectMs, (late) =>
        late.close(),
      );
    const raw = await ours(opened);
    return new ShardClient(raw, own);
  }

  /** The number of shards. */
  get shards(): number {
    return explained(() => this.#raw.shards);
  }

  /**
   * Reads the row of a key without a promise, if its shard is in the memory of this process. Returns null if there is no such row,
   * and undefined if the shard is elsewhere and `get` must be used. Without `into`, the row returned is the client's own, whose
   * values are valid until the next call.
   */
  tryGet(key: number | bigint, into: ShardRow = this.#row): ShardRow | null | undefined {
    let found: number;
    try {
      found = this.#read(key, into.bytes);
    } catch (thrown) {
      checkRow(into);
      throw toBoundaryError(thrown);
    }
    if (found === 1) return into;
    return found === 0 ? null : undefined;
  }

  /** Reads the row of a key; null if there is none. */
  async get(key: number | bigint, options?: ShardCallOptions): Promise<ShardRow | null> {
    const signal = signalOf(options);
    const row = this.#hasMemory ? this.tryGet(key, new ShardRow()) : undefined;
    if (row !== undefined) return row;
    const bytes = await ours((cancel) => this.#raw.get(key, cancel), signal);
    return bytes === null ? null : new ShardRow(new Uint8Array(bytes));
  }

  /**
   * Reads the rows of keys: the keys cross together, the shards concerned are asked in parallel, and the rows cross in one
   * buffer. If a shard fails, its rows are missing, and `failures` has the reason.
   */
  async multiGet(keys: ShardKeys, options?: ShardCallOptions): Promise<ShardRows> {
    const signal = signalOf(options);
    checkMemory(keys);
    const areFew = types.isTypedArray(keys) && lengthOf(keys) <= MOST_KEYS_NOW;
    const found = this.#isMemory && areFew ? explained(() => this.#raw.multiGetNow(keys)) : null;
    return new ShardRows(found ?? (await ours((cancel) => this.#raw.multiGet(keys, cancel), signal)));
  }

  /**
   * Like `put`, without a promise, if the row's shard is in the memory of this process. Otherwise returns false, and writes
   * nothing.
   */
  tryPut(row: ShardRow): boolean {
    checkRow(row);
    return explained(() => this.#write(row.bytes)) === 1;
  }

  /** Writes a row, replacing the row with its key if there is one. */
  async put(row: ShardRow, options?: ShardCallOptions): Promise<void> {
    const signal = signalOf(options);
    checkRow(row);
    if (this.#hasMemory && this.tryPut(row)) return;
    await ours((cancel) => this.#raw.put(row.bytes, cancel), signal);
  }

  /** Writes packed rows, 200 bytes each as in `ShardRow.bytes`. If a shard fails, the rows of the others are written. */
  async putMany(rows: Uint8Array, options?: ShardCallOptions): Promise<void> {
    const signal = signalOf(options);
    checkMemory(rows);
    await ours((cancel) => this.#raw.putMany(rows, cancel), signal);
  }

  /** All rows, as chunks of columns. */
  scan(options?: ShardCallOptions): ShardScan {
    return new ShardScan(this.#raw, options === undefined ? undefined : readOptions(options, CALL_OPTIONS).signal);
  }

  /** Aggregates a column. */
  async aggregate(aggregation: ShardAggregation, options?: ShardCallOptions): Promise<ShardAggregate> {
    const signal = signalOf(options);
    const { column, filter: given, place } = readOptions(aggregation, AGGREGATION);
    if (column === undefined) throw invalidArgument('an aggregation needs a column');
    const filter = given === undefined ? undefined : readOptions(given, FILTER);
    if (filter !== undefined && (filter.column === undefined || filter.comparison === undefined)) {
      throw invalidArgument('a filter needs a column, a comparison and a value');
    }
    type Arguments = Parameters<RawShardClient['aggregate']>;
    const { count, sum, min, max } = await ours<RawAggregate>((cancel) => {
      const asked = [column, filter?.column, filter?.comparison, filter?.value, cancel] as Arguments;
      return place === 'here' ? this.#raw.aggregateHere(...asked) : this.#raw.aggregate(...asked);
    }, signal);
    return {
      count,
      sum,
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(count === 0 ? {} : { average: Number(sum) / count }),
    };
  }

  /**
   * Fills all shards in parallel with the benchmark's rows for the keys from 0 to `rows`, exclusive. Existing rows are an error
   * unless `replace` is true.
   */
  async populate(rows: number, options: ShardPopulateOptions = {}): Promise<void> {
    const { signal, replace = false } = readOptions(options, POPULATE_OPTIONS);
    assertNotAborted(signal);
    await ours((cancel) => this.#raw.populate(rows, replace, cancel), signal);
  }

  /**
   * Fills all shards in parallel with the rows given for each, in the order of the shards. It is the caller who gives each shard the
   * rows of its keys (`shardOf`). Existing rows are an error unless `replace` is true.
   */
  async populateFrom(shards: readonly ShardBatches[], options: ShardPopulateOptions = {}): Promise<void> {
    const { signal, replace = false } = readOptions(options, POPULATE_OPTIONS);
    assertNotAborted(signal);
    await ours((cancel) => fillShards(this.#raw, shards, replace, cancel), signal);
  }

  /** The state of each shard. */
  async describe(options?: ShardCallOptions): Promise<ShardState[]> {
    const signal = signalOf(options);
    const states = await ours((cancel) => this.#raw.describe(cancel), signal);
    return states.map(({ rows, populated }) => (populated === undefined ? { rows } : { rows, populated }));
  }

  /** Closes all connections: calls under way are rejected with `BB_CLOSED`. Does nothing the second time. */
  async close(): Promise<void> {
    this.#raw.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The signal of a call. Throws `BB_ABORTED` if it is already aborted, even for a call that would not have to wait. */
function signalOf(options: ShardCallOptions | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  const { signal } = readOptions(options, CALL_OPTIONS);
  assertNotAborted(signal);
  return signal;
}

function checkRow(row: unknown): void {
  if (!(row instanceof ShardRow)) throw invalidArgument(`a ShardRow is needed, not ${describeValue(row)}`);
}

/** Runs native work that a signal may end. Maps its errors. */
function ours<T>(work: (cancel?: Cancel) => Promise<T>, signal?: AbortSignal): Promise<T> {
  return signal === undefined ? explainedAsync(work) : untilAborted(signal, work);
}
