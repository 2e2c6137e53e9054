/**
 * The naive lanes, in which every value crosses by itself, as in most addons. The benchmark shows their cost. Applications have no
 * use for them, so they are not part of the public library.
 */
import type { NaiveInserter } from '../../addon.js';
import { explained, toBoundaryError } from '../../errors.js';
import { type Connection, engineOf } from './connection.js';
import type { Row } from './row-reader.js';
import { type TableDefinition, toTableSpec } from './table-definition.js';

/** Adds rows value by value. */
export class NaiveRowInserter {
  readonly #raw: NaiveInserter;

  constructor(connection: Connection, definition: TableDefinition) {
    this.#raw = explained(() => engineOf(connection).naiveInserter(toTableSpec(definition)));
  }

  /** Adds rows of values in the order of the columns. Returns false to ask that `drain` be awaited before more is added. */
  addRows(rows: unknown[][]): boolean {
    return explained(() => this.#raw.addRows(rows));
  }

  /** Resolves when there is room for more. */
  async drain(): Promise<void> {
    await explained(() => this.#raw.drained())?.catch(rethrow);
  }

  /** Publishes all rows at once. Resolves to the number of rows. */
  execute(): Promise<number> {
    return this.#raw.execute().catch(rethrow);
  }

  /** Drops all rows. */
  abort(): Promise<void> {
    return this.#raw.abort().catch(rethrow);
  }
}

/** The rows of a query in arrays, built by Node-API calls. */
export async function* naiveChunks(
  connection: Connection,
  sql: string,
  batchRows?: number,
): AsyncGenerator<Row[], void> {
  const reader = await engineOf(connection).queryNaive(sql, batchRows).catch(rethrow);
  try {
    for (let rows = await reader.next(); rows !== null; rows = await reader.next()) yield rows as Row[];
  } catch (thrown) {
    rethrow(thrown);
  } finally {
    reader.cancel();
  }
}

/** All rows of a query, built by Node-API calls. */
export async function executeQueryNaive(connection: Connection, sql: string, batchRows?: number): Promise<Row[]> {
  const all: Row[] = [];
  for await (const rows of naiveChunks(connection, sql, batchRows)) {
    for (const row of rows) all.push(row);
  }
  return all;
}

function rethrow(thrown: unknown): never {
  throw toBoundaryError(thrown);
}
