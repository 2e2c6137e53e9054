/**
 * The frame of the `js` cells of clients that have tables of their own: what is timed, what is checked, and when tables
 * come and go. A client says how it makes a table, fills one and reads one.
 */
import type { Cell, Checksum, RowCell } from '../../records/record.js';
import type { OpenCell } from '../workload.js';
import { expectedOf } from './closed-forms.js';
import type { LaneClock } from './lane.js';
import { matrix, workloadEntry } from './matrix.js';
import { type RowCheck, rowCheckOf } from './row-check.js';

/** The name of the table of all inserts. */
export const INSERT_TABLE = `${matrix.table}_insert`;

/** The number of rows of a table. */
export interface TableSize {
  readonly rows: number;
}

/** Fills a new table, timed by the clock, which is stopped before and after. Resolves to the table. */
export type Fill<Table> = (clock: LaneClock, signal: AbortSignal) => Table | Promise<Table>;

/** A way of reading a result. */
export interface Reader {
  /** Reads the result and sums its values. The clock runs. It may be stopped for work that is timed apart. */
  sum(clock: LaneClock): Checksum | Promise<Checksum>;
  /** Hands the rows of the result to a check. */
  check(check: RowCheck): void | Promise<void>;
  /** The workload whose rows `check` hands over; absent: the cell's own workload. */
  readonly checked?: string;
}

/** A client with tables of its own. */
export interface TableClient<Table> {
  /** Throws `BB_UNSUPPORTED` for a cell whose lane the client lacks. Absent: it has all. */
  requireLane?(cell: RowCell): void;
  /** Makes the table of this size that queries read, untimed. */
  load(size: TableSize): Table | Promise<Table>;
  /** The way in of the cell's lane, with its memory allocated. */
  writer(cell: RowCell): Fill<Table>;
  /** The sums of all rows that a table was filled with, untimed. */
  sums(table: Table): Checksum | Promise<Checksum>;
  /** The way out of a cell's lane. For a lane in: any way of reading the rows that it has stored. */
  reader(table: Table, cell: Pick<Cell, 'workload' | 'lane'>): Reader;
  /** Drops a table; absent: the garbage collector frees it. */
  drop?(table: Table): void | Promise<void>;
}

/** A clock that measures nothing. */
export const UNTIMED: LaneClock = { start: () => {}, stop: () => {}, apart: (_, execute) => execute() };

/** The signal of work that nobody ends. */
export const UNENDING: AbortSignal = new AbortController().signal;

/** The place of a client's cells, with the tables that its queries read. */
export function tablePlace<Table>(
  versions: CellOpener['versions'],
  client: TableClient<Table>,
  close: CellOpener['close'] = async () => {},
): CellOpener {
  const drop = async (table: Table): Promise<void> => client.drop?.(table);
  const tables = new LoadedTables<TableSize, Table>({
    load: async (size) => client.load(size),
    unload: (_size, table) => drop(table),
  });
  const openCell = async (cell: RowCell): Promise<OpenCell> => {
    const { workload, rows } = cell;
    client.requireLane?.(cell);
    if (workloadEntry(workload).direction === 'out') {
      const lease = await tables.acquire({ rows });
      return readerCell(lease, cell, client.reader(lease.table, cell));
    }
    const fill = client.writer(cell);
    const scan = { ...cell, workload: 'query.full_scan' };
    const inTable = async <T>(
      [clock, signal]: Parameters<OpenCell['sample']>,
      then: (table: Table) => T | Promise<T>,
    ): Promise<T> => {
      const table = await fill(clock, signal);
      try {
        return await then(table);
      } finally {
        await drop(table);
      }
    };
    return {
      expected: expectedOf(workload, [{ start: 0, rows }]),
      sample: (...timing) => inTable(timing, (table) => client.sums(table)),
      verify: (...timing) => inTable(timing, (table) => checkRows(client.reader(table, scan), scan)),
      close: async () => {},
    };
  };
  return { versions, openCell, close };
}

/** The cell of a query over a table. */
export function readerCell(lease: Lease<unknown>, cell: RowCell, reader: Reader): OpenCell {
  return {
    expected: expectedOf(cell.workload, [{ start: 0, rows: cell.rows }]),
    sample: async (stopwatch) => {
      stopwatch.start();
      const checksum = await reader.sum(stopwatch);
      stopwatch.stop();
      return checksum;
    },
    verify: () => checkRows(reader, cell),
    close: () => lease.release(),
  };
}

async function checkRows(reader: Reader, { workload, rows }: RowCell): Promise<void> {
  const check = rowCheckOf(reader.checked ?? workload, { start: 0, rows });
  await reader.check(check);
  check.finish();
}

/** The place where cells run: an engine of the addon, or a JavaScript client. It is opened with the first of its cells. */
export interface CellOpener {
  /** The versions of the place's software. */
  readonly versions: Readonly<Record<string, string>>;
  /** Opens a cell, whose `rows` are the rows of its tables. `client` is the client of the cell, if it has one. */
  openCell(cell: RowCell, client?: string): Promise<OpenCell>;
  close(): Promise<void>;
}

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
