import { addon, type RawShardStore } from '../../addon.js';
import { explained, explainedAsync, invalidArgument } from '../../errors.js';

/**
 * The rows of one shard in this process. Clients that are given the store in place of an address reach its rows without gRPC. It
 * may be given to several clients, also while others use it.
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
    return new ShardStore(addon.RawShardStore.inMemory(), false);
  }

  /** Opens or creates the store in a folder, for shard number `shard` of `shards`; an existing store must be of that shard. */
  static async open(folder: string, shard: number, shards: number): Promise<ShardStore> {
    if (!(Number.isInteger(shards) && shards >= 1 && Number.isInteger(shard) && shard >= 0 && shard < shards)) {
      throw invalidArgument(`there is no shard ${shard} of ${shards}: the first is 0`);
    }
    return explainedAsync(async () => new ShardStore(await addon.RawShardStore.open(folder, shard, shards), true));
  }

  /** The number of rows in the store. */
  get rows(): number {
    return explained(() => this.#raw.rows);
  }

  /** Releases the store; clients that use it keep it until they are closed. Does nothing the second time. */
  close(): void {
    this.#raw.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
