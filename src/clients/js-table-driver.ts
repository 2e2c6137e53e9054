/** Engines with tables and SQL that users put next to ours, by a binding of their own. */
import type { MeasurementColumns, MeasurementRow } from './measurement-table.js';

type Awaitable<T> = T | Promise<T>;

/** An insert into an empty table. */
export interface TableInserter<Batch> {
  /** Inserts a batch, whose memory is used again for the next. */
  add(batch: Batch): Awaitable<unknown>;
  /** Ends the insert: queries then see its rows. */
  finish(): Awaitable<unknown>;
}

/** A batch of a result: its columns by their names, of equal length. */
export type ColumnsOfBatch = Readonly<Record<string, Int32Array | Uint32Array | Float64Array | BigInt64Array>>;

/**
 * An open engine. Each of the four methods that move rows is a lane; a lane whose method is absent is skipped. An
 * insert needs a query beside it, which verifies its rows, and a query needs an insert, which fills its table.
 */
export interface TableDriverConnection {
  /** Creates an empty table `name(id INT NOT NULL, sensor_id INT, value DOUBLE, timestamp BIGINT)`. Not timed. */
  createTable(name: string): Awaitable<unknown>;
  /** Drops a table. Not timed. */
  dropTable(name: string): Awaitable<unknown>;
  /** The lane `row`: begins to insert this number of rows. */
  insertRows?(table: string, rows: number): Awaitable<TableInserter<readonly MeasurementRow[]>>;
  /** The lane `columns`: begins to insert this number of rows. */
  insertColumns?(table: string, rows: number): Awaitable<TableInserter<MeasurementColumns>>;
  /** The lane `objects`: the rows of a query, as objects. Columns of 64 bits are numbers or `bigint`s. */
  queryObjects?(sql: string): Awaitable<readonly object[]>;
  /** The lane `columnar`: the batches of a query's result. */
  queryColumns?(sql: string): Awaitable<Iterable<ColumnsOfBatch> | AsyncIterable<ColumnsOfBatch>>;
  /** Closes the engine. */
  close(): Awaitable<unknown>;
}

/** An engine of the user's for the family `measurements`. */
export interface TableDriver {
  /** Opens the engine with no tables. */
  connect(): Awaitable<TableDriverConnection>;
}
