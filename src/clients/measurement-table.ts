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
