import { BoundaryError, toBoundaryError } from '../../errors.js';
import { type ColumnsInput, columnSources } from './column-sources.js';
import type { Connection } from './connection.js';
import { InsertChannel } from './insert-channel.js';
import { type RowInput, RowStager } from './row-stager.js';
import type { TableDefinition } from './table-definition.js';

/** Rows of a batch where nobody asks for another size: big enough that the cost of one crossing does not show. */
export const DEFAULT_BATCH_ROWS = 65_536;

/** The stage has memory for so many rows before the first comes. */
const MOST_BATCH_ROWS = 1 << 22;

export interface RowInserterOptions {
  /** Rows that cross at once, 1 to 4194304; 65536 where it is left out. */
  readonly batchRows?: number;
}

/**
 * Adds rows to one table. Rows are staged in typed arrays and cross batch by batch, while the engine stores the last
 * batch in the background. `execute` publishes all rows at once; without it, nothing is stored.
 *
 * Adding is synchronous, and returns false to ask that `drain` be awaited before more is added, as a Node stream does.
 * Whoever goes on regardless is held up once 64 MiB wait, so memory stays bounded.
 *
 * A value that does not fit is a `BoundaryError` with the code `BB_INVALID_VALUE` that names the row, counted from the
 * inserter's start, and the column. That row is not added; all rows before it stay.
 */
export class RowInserter implements AsyncDisposable {
  readonly #definition: TableDefinition;
  readonly #channel: InsertChannel;
  readonly #stager: RowStager;

  constructor(connection: Connection, definition: TableDefinition, options: RowInserterOptions = {}) {
    const batchRows = options.batchRows ?? DEFAULT_BATCH_ROWS;
    if (!Number.isInteger(batchRows) || batchRows < 1 || batchRows > MOST_BATCH_ROWS) {
      throw new BoundaryError(
        'BB_INVALID_ARGUMENT',
        `batchRows must be an integer of 1 to ${MOST_BATCH_ROWS}, not ${String(batchRows)}`,
      );
    }
    this.#definition = definition;
    this.#channel = new InsertChannel(connection, definition);
    this.#stager = new RowStager(definition.columns, batchRows);
  }

  /** Rows added so far. */
  get rowCount(): number {
    return this.#stager.rowCount;
  }

  /** Adds a row: an array of values in the order of the columns, or an object of values by column name. */
  addRow(row: RowInput): boolean {
    if (this.#channel.hasEnded) this.#channel.assertOpen();
    return this.#add(row) ? this.#flush() : this.#channel.mayGoOn;
  }

  /** Adds rows one after the other. On an error, the rows before the wrong one have been added. */
  addRows(rows: Iterable<RowInput>): boolean {
    this.#channel.assertOpen();
    if (Array.isArray(rows)) {
      for (let index = 0; index < rows.length; index++) {
        if (this.#add(rows[index])) this.#flush();
      }
      return this.#channel.mayGoOn;
    }
    if (typeof rows?.[Symbol.iterator] !== 'function') {
      throw new BoundaryError('BB_INVALID_ARGUMENT', 'addRows takes an array of rows or another iterable');
    }
    for (const row of rows) this.addRow(row);
    return this.#channel.mayGoOn;
  }

  /**
   * Adds whole columns, all of the same number of rows. A typed array of exactly the column's type crosses without any
   * work on its values; other arrays are staged value by value. See `ColumnInput`.
   *
   * They cross in batches of `batchRows`. On an error in a batch, none of its rows have been added, and all batches
   * before it have been: `rowCount` tells.
   */
  addColumns(columns: ColumnsInput): boolean {
    this.#channel.assertOpen();
    const batchRows = this.#stager.capacity;
    const { rows, chunkRows, sources } = columnSources(this.#definition.columns, columns, batchRows);
    this.#flush();
    for (let start = 0; start < rows; start += chunkRows) {
      const end = Math.min(rows, start + chunkRows);
      const firstRow = this.#stager.rowCount;
      const parts = sources.flatMap((source) => source.parts(start, end, firstRow));
      this.#channel.send((raw) => raw.writeColumns(end - start, parts));
      this.#stager.skip(end - start);
    }
    return this.#channel.mayGoOn;
  }

  /** Resolves when there is room for more rows; rejects with what stopped the insert. */
  drain(): Promise<void> {
    return this.#channel.drain();
  }

  /** Publishes all rows at once, or none of them when it fails; resolves to their number. */
  async execute(): Promise<number> {
    this.#channel.assertOpen();
    this.#flush();
    return this.#channel.execute();
  }

  /** Drops all rows. Does nothing after `execute` or another `abort`. */
  abort(): Promise<void> {
    return this.#channel.abort();
  }

  /** Aborts, unless it was executed. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }

  /** Stages a row; true where the stage is full. */
  #add(row: RowInput): boolean {
    const isFull = this.#stager.add(row);
    // A getter of the row may have ended the insert: the row would be lost without a word.
    if (this.#channel.hasEnded) this.#channel.assertOpen();
    return isFull;
  }

  /** Sends the staged rows. Their values were checked, so what fails here is the insert, not a row. */
  #flush(): boolean {
    if (this.#stager.rows === 0) return this.#channel.mayGoOn;
    try {
      const mayGoOn = this.#channel.send((raw) => raw.writeColumns(this.#stager.rows, this.#stager.parts()));
      this.#stager.reset();
      return mayGoOn;
    } catch (thrown) {
      const error = toBoundaryError(thrown);
      this.#channel.fail(error);
      throw error;
    }
  }
}
