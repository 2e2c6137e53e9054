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

/** The tables that queries read, each loaded by the first cell that needs it, and unloaded when the last one that holds it is closed. */
export class LoadedTables<Key extends object, Table> {
  readonly #loader: TableLoader<Key, Table>;
  readonly #entries = new Map<string, Entry<Table>>();

  constructor(loader: TableLoader<Key, Table>) {
    this.#loader = loader;
  }

  /** The table of a key, which is loaded if it is not there. */
  async acquire(key: Key): Promise<Lease<Table>> {
    const name = JSON.stringify(key);
    const entry = this.#entries.get(name) ?? { table: this.#loader.load(key), holders: 0 };
    this.#entries.set(name, entry);
    entry.holders += 1;
    try {
      const table = await entry.table;
      return { table, release: () => this.#release(name, key, table) };
    } catch (error) {
      this.#entries.delete(name);
      throw error;
    }
  }

  async #release(name: string, key: Key, table: Table): Promise<void> {
    const entry = this.#entries.get(name)!;
    entry.holders -= 1;
    if (entry.holders > 0) return;
    this.#entries.delete(name);
    await this.#loader.unload(key, table);
  }
}

interface Entry<Table> {
  readonly table: Promise<Table>;
  holders: number;
}
