import { invalidArgument, toBoundaryError } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { integerIn, readOptions } from '../crossing/options.js';
import { checkMemory } from '../crossing/typed-memory.js';
import { type ColumnsInput, columnSources } from './column-sources.js';
import type { Connection } from './connection.js';
import { stageRows } from './create-column-stage.js';
import { InsertChannel } from './insert-channel.js';
import { type RowInput, RowStager } from './row-stager.js';
import type { RowWriter } from './row-writer.js';
import type { TableDefinition } from './table-definition.js';

/** The default number of rows of a batch: enough that the cost of one crossing does not show. */
export const DEFAULT_BATCH_ROWS = 65_536;

/** The most rows of a batch. */
const MOST_BATCH_ROWS = 1 << 22;

const INSERTER_OPTIONS = { batchRows: integerIn(1, MOST_BATCH_ROWS) };

/** How many rows a `RowInserter` stages before they cross. */
export interface RowInserterOptions {
  /** The most rows that cross at once, 1 to 4194304. Default: 65536. Fewer cross if this many rows would take more than 16 MiB. */
  readonly batchRows?: number | undefined;
}

/**
 * Adds rows to one table. Rows are staged in typed arrays and cross batch by batch, while the engine stores the previous batch in
 * the background. `execute` publishes all rows at once. Nothing is stored before it.
 *
 * Adding is synchronous, and returns false to ask that `drain` be awaited before more is added, as a Node stream does. A caller
 * that goes on regardless is blocked once 64 MiB are pending, so memory stays bounded. The engine `memory:` takes each batch in the
 * call that adds it, and never asks.
 *
 * A value that does not fit is a `BoundaryError` with the code `BB_INVALID_VALUE` that names the row, counted from the inserter's
 * start, and the column. That row is not added. All rows before it stay.
 *
 * @example
 * ```js
 * import { connect, RowInserter, SqlType, TableDefinition } from 'boundary-bench';
 *
 * const connection = await connect('embedded:');
 * const people = new TableDefinition('people', [
 *   { name: 'id', type: SqlType.int(), nullable: false },
 *   { name: 'name', type: SqlType.text() },
 * ]);
 * await connection.createTable(people);
 * const inserter = new RowInserter(connection, people);
 * for (const row of [[1, 'Ada'], { id: 2, name: 'Grace' }]) {
 *   if (!inserter.addRow(row)) await inserter.drain();
 * }
 * inserter.addColumns({ id: Int32Array.of(3, 4), name: ['Barbara', null] });
 * console.log(await inserter.execute()); // 4
 * await connection.close();
 * ```
 */
export class RowInserter implements AsyncDisposable {
  readonly #definition: TableDefinition;
  readonly #channel: InsertChannel;
  readonly #stager: RowStager;

  constructor(connection: Connection, definition: TableDefinition, options: RowInserterOptions = {}) {
    const { batchRows = DEFAULT_BATCH_ROWS } = readOptions(options, INSERTER_OPTIONS);
    this.#channel = new InsertChannel(connection, definition);
    this.#definition = definition;
    this.#stager = new RowStager(definition.columns, stageRows(definition.columns, batchRows));
  }

  /** The number of rows added so far. */
  get rowCount(): number {
    return this.#stager.rowCount;
  }

  /** Adds a row: an array of values in the order of the columns, or an object of values by column name. */
  addRow(row: RowInput): boolean {
    if (this.#channel.hasEnded) this.#channel.assertOpen();
    return this.#add(row) ? this.#flush() : this.#channel.mayGoOn;
  }

  /**
   * The writer of this inserter: rows value by value, instead of by `addRow`. An error of the writer drops the row that it had
   * begun, with all its values. Until such a row is ended, other rows are refused with `BB_INVALID_ARGUMENT`, and so is `execute`.
   * A further call forgets the row that was begun, and returns the same writer. Throws `BB_INVALID_ARGUMENT` if a column is named
   * `next`.
   */
  writer<T extends object = Record<string, unknown>>(): RowWriter<T> {
    this.#channel.assertOpen();
    return this.#stager.writer(this.#channel, () => this.#flush()) as RowWriter<T>;
  }

  /** Adds rows one after the other. If a row fails, the rows before it have been added. */
  addRows(rows: Iterable<RowInput>): boolean {
    this.#channel.assertOpen();
    if (Array.isArray(rows)) {
      for (let index = 0; index < rows.length; index++) {
        if (this.#add(rows[index])) this.#flush();
      }
      return this.#channel.mayGoOn;
    }
    if (typeof rows?.[Symbol.iterator] !== 'function' || ArrayBuffer.isView(rows)) {
      throw invalidArgument(`addRows takes an array of rows or another iterable, not ${describeValue(rows)}`);
    }
    for (const row of rows) this.addRow(row);
    return this.#channel.mayGoOn;
  }

  /**
   * Adds whole columns, all of the same number of rows. A typed array of exactly the column's type crosses without any work on its
   * values. Other arrays are staged value by value. See `ColumnInput`.
   *
   * The rows cross in batches of `batchRows`. If a batch fails, none of its rows have been added, and all batches before it have
   * been. `rowCount` has the number of rows added.
   */
  addColumns(columns: ColumnsInput): boolean {
    this.#channel.assertOpen();
    const batchRows = this.#stager.capacity;
    const { rows, chunkRows, sources } = columnSources(this.#definition.columns, columns, batchRows);
    this.#stager.assertNoneBegun();
    this.#flush();
    for (let start = 0; start < rows; start += chunkRows) {
      const end = Math.min(rows, start + chunkRows);
      const firstRow = this.#stager.rowCount;
      const parts = sources.flatMap((source) => source.parts(start, end, firstRow));
      // A getter among the values may have detached the memory of a column that was read before it.
      checkMemory(...parts);
      this.#channel.send((raw) => raw.writeColumns(end - start, parts));
      this.#stager.skip(end - start);
    }
    return this.#channel.mayGoOn;
  }

  /** Resolves when there is room for more rows. Rejects with the error that stopped the insert. */
  drain(): Promise<void> {
    return this.#channel.drain();
  }

  /** Publishes all rows at once, or none if it fails. Resolves to the number of rows. */
  async execute(): Promise<number> {
    this.#channel.assertOpen();
    this.#stager.assertNoneBegun();
    this.#flush();
    return this.#channel.execute();
  }

  /** Drops all rows. Does nothing after `execute` or another `abort`. */
  abort(): Promise<void> {
    return this.#channel.abort();
  }

  /** Aborts the insert, unless it was executed. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }

  /** Stages a row. Returns true if the stage is full. */
  #add(row: RowInput): boolean {
    const isFull = this.#stager.add(row);
    // A getter of the row may have ended the insert, and the row would be lost silently.
    if (this.#channel.hasEnded) this.#channel.assertOpen();
    return isFull;
  }

  /** Sends the staged rows. Their values were checked, so an error here is one of the insert, not of a row. */
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
