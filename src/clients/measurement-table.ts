/** Columns of one length of the table `measurements`, named as in SQL, without nulls. */
export interface MeasurementColumns {
  readonly id: Int32Array;
  readonly sensor_id: Int32Array;
  readonly value: Float64Array;
  readonly timestamp: BigInt64Array;
}

/** `[id, sensor_id, value, timestamp]`, the timestamp as a number: it is far below 2^53. */
export type MeasurementRow = [id: number, sensorId: number, value: number, timestamp: number];

/** A row as an object, the way a library makes it. */
export interface MeasurementObject {
  readonly id: number;
  readonly sensor_id: number;
  readonly value: number;
  readonly timestamp: number | bigint;
}

/**
 * A library of in-memory tables in pure JavaScript. A table is made of batches of columns; what is built from rows or
 * filtered is written once, over typed arrays, for every such library.
 */
export interface ColumnTableTarget<Table> {
  readonly name: string;
  readonly version: string;
  /** A table over these batches, whose memory it keeps without copying it. */
  fromBatches(batches: readonly MeasurementColumns[]): Table;
  /** The table's batches as typed arrays, without copying. */
  toBatches(table: Table): MeasurementColumns[];
  /** All rows as the library's row objects. */
  toObjects(table: Table): MeasurementObject[];
  /** A function that makes the row object of an index into one batch. */
  objectsOfBatch(table: Table, batch: number): (index: number) => MeasurementObject;
}
