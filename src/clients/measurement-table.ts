/** Columns of equal length of the table `measurements`, named as in SQL, without nulls. */
export interface MeasurementColumns {
  readonly id: Int32Array;
  readonly sensor_id: Int32Array;
  readonly value: Float64Array;
  readonly timestamp: BigInt64Array;
}

/** A row `[id, sensor_id, value, timestamp]`, the timestamp as a number, which is far below 2^53. */
export type MeasurementRow = [id: number, sensorId: number, value: number, timestamp: number];

/** A row as an object, in the form in which a library makes it. */
export interface MeasurementObject {
  readonly id: number;
  readonly sensor_id: number;
  readonly value: number;
  readonly timestamp: number | bigint;
}

/**
 * A library of in-memory tables in pure JavaScript. A table consists of batches of columns. Building from rows and
 * filtering are written once, over typed arrays, for all libraries.
 */
export interface JsTableClient<Table> {
  readonly name: string;
  readonly version: string;
  /** Makes a table over these batches, whose memory it keeps without a copy. */
  fromBatches(batches: readonly MeasurementColumns[]): Table;
  /** The table's batches as typed arrays, without a copy. */
  toBatches(table: Table): MeasurementColumns[];
  /** All rows as the library's row objects. */
  toObjects(table: Table): MeasurementObject[];
  /** Makes a function that makes the row object at an index of one batch. */
  objectsOfBatch(table: Table, batch: number): (index: number) => MeasurementObject;
}

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
