import type { RawShardStore } from '../../addon.js';
import { rawShards } from './raw-shards.js';
import { explained, explainedAsync } from '../../errors.js';
import { checkInteger } from '../crossing/options.js';
import { checkText } from '../crossing/well-formed.js';

/**
 * The rows of one shard in this process. Clients that are given the store instead of an address reach its rows without gRPC. It may
 * be given to several clients, also while others use it.
 *
 * @example
 * ```js
 * import { ShardStore } from 'boundary-bench';
 *
 * const store = ShardStore.inMemory();
 * console.log(store.rows, store.isPersistent); // 0 false
 * store.close();
 * ```
 */
export class ShardStore implements Disposable {
  /** @internal The name under which the addon knows the store. */
  readonly place: string;
  /** Whether the rows survive the end of the process. Reading them may then wait for the disk. */
  readonly isPersistent: boolean;
  readonly #raw: RawShardStore;

  private constructor(raw: RawShardStore, isPersistent: boolean) {
    this.#raw = raw;
    this.place = raw.place;
    this.isPersistent = isPersistent;
  }

  /** Makes an empty store in memory. */
  static inMemory(): ShardStore {
    return new ShardStore(rawShards().RawShardStore.inMemory(), false);
  }

  /** Opens or creates the store in a folder, for shard number `shard` of `shards`. An existing store must be of that shard. */
  static async open(folder: string, shard: number, shards: number): Promise<ShardStore> {
    checkText('the folder of a store', folder);
    checkInteger('the number of shards', shards, 1, 2 ** 32 - 1);
    checkInteger('the number of the shard', shard, 0, shards - 1);
    return explainedAsync(
      async () => new ShardStore(await rawShards().RawShardStore.open(folder, shard, shards), true),
    );
  }

  /** The number of rows in the store. */
  get rows(): number {
    return explained(() => this.#raw.rows);
  }

  /** Releases the store. Clients that use it keep it until they are closed. Does nothing the second time. */
  close(): void {
    this.#raw.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
