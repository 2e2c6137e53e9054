import { addon, type RawShardStore } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';

/**
 * The rows of one shard in this process: clients that are given it in the place of an address reach them without gRPC. It may be
 * given to several clients, also while others reach its rows.
 */
export class ShardStore implements Disposable {
  /** @internal How the addon is told of it. */
  readonly place: string;
  /** Whether its rows survive the end of the process. Then reading them may wait for the disk. */
  readonly isPersistent: boolean;
  readonly #raw: RawShardStore;

  private constructor(raw: RawShardStore, isPersistent: boolean) {
    this.#raw = raw;
    this.place = raw.place;
    this.isPersistent = isPersistent;
  }

  /** An empty store in memory. */
  static inMemory(): ShardStore {
    return new ShardStore(addon.RawShardStore.inMemory(), false);
  }

  /** Opens the store in a folder, or makes it: that of the shard `shard` of `shards`, which is checked. */
  static async open(folder: string, shard: number, shards: number): Promise<ShardStore> {
    if (!(Number.isInteger(shards) && shards >= 1 && Number.isInteger(shard) && shard >= 0 && shard < shards)) {
      throw new BoundaryError('BB_INVALID_ARGUMENT', `there is no shard ${shard} of ${shards}: the first is 0`);
    }
    try {
      return new ShardStore(await addon.RawShardStore.open(folder, shard, shards), true);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** The rows that it holds. */
  get rows(): number {
    try {
      return this.#raw.rows;
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** Gives it up; clients that have it keep it until they are closed. Does nothing the second time. */
  close(): void {
    this.#raw.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
