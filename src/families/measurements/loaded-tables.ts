/** A table, or its name, held until `release`. */
export interface Lease<Table> {
  readonly table: Table;
  release(): Promise<void>;
}

/** Loads and unloads the tables of one place. Equal keys name the same rows. */
export interface TableLoader<Key, Table> {
  load(key: Key): Promise<Table>;
  unload(key: Key, table: Table): Promise<void>;
}

/**
 * The tables that queries read, each loaded once for all cells that need it at a time. A table without holders is kept for the
 * next group of cells, until `unloadIdle`.
 */
export class LoadedTables<Key extends object, Table> {
  readonly #loader: TableLoader<Key, Table>;
  readonly #entries = new Map<string, Entry<Key, Table>>();

  constructor(loader: TableLoader<Key, Table>) {
    this.#loader = loader;
  }

  /** The table of a key, which is loaded if it is not there. */
  async acquire(key: Key): Promise<Lease<Table>> {
    const name = JSON.stringify(key);
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { key, table: this.#loader.load(key), holders: 0 };
      this.#entries.set(name, entry);
    }
    const held = entry;
    held.holders += 1;
    try {
      const table = await held.table;
      return {
        table,
        release: async () => {
          held.holders -= 1;
        },
      };
    } catch (error) {
      this.#entries.delete(name);
      throw error;
    }
  }

  /** Drops the tables without holders. */
  async unloadIdle(): Promise<void> {
    await this.#unload(({ holders }) => holders === 0);
  }

  /** Drops all tables. */
  async unloadAll(): Promise<void> {
    await this.#unload(() => true);
  }

  async #unload(isWanted: (entry: Entry<Key, Table>) => boolean): Promise<void> {
    for (const [name, entry] of this.#entries) {
      if (!isWanted(entry)) continue;
      this.#entries.delete(name);
      await this.#loader.unload(entry.key, await entry.table);
    }
  }
}

interface Entry<Key, Table> {
  readonly key: Key;
  readonly table: Promise<Table>;
  holders: number;
}
