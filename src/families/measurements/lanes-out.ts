/**
 * The lanes out, from Node through the addon. Timed, as on the `rust` side: from the start of the query until its last
 * value is consumed. Every lane reads every value of every row. Decoding of IPC bytes is timed separately.
 *
 * Memory, as on the `rust` side: batches and IPC bytes come in recycled memory of the addon. Rows that a lane keeps are
 * put into fresh memory, in V8's heap as in Rust's. Threads: JavaScript's, and the thread of the query, which runs
 * ahead of it, as in the flavor `async` of Rust's lanes. With several workers the lane `columnar` has no such thread.
 *
 * The loops over rows look alike but stay separate, one for each kind of rows: a shared loop would be compiled for all
 * of them. Lanes with the same kind of rows share one, since a process measures one lane. A `bigint` is added as such:
 * it is exact, and as fast as converting it to a number, while most of a row's time goes into making its object.
 */
import type { Checksum } from '../../records/record.js';
import { executeQueryNaive } from '../../library/engine/naive.js';
import type { Connection } from '../../library/engine/connection.js';
import type { RowCursor } from '../../library/engine/row-cursor.js';
import {
  BLOCK_ROWS,
  ColumnSums,
  type ColumnValues,
  MeasurementSums,
  type TextRow,
  hasTexts,
  mergeChecksums,
  sumTexts,
} from './checksum.js';
import type { Lane, LaneRun } from './lane.js';
import { queryOf, workloadEntry } from './matrix.js';
import { sumObjects, sumTextObjects } from './object-sums.js';

/** A row of `query.full_scan` and `query.filtered`, as this package's readers make it. */
interface Row {
  readonly id: number;
  readonly sensor_id: number;
  readonly value: number;
  readonly timestamp: bigint;
}

/** A row with `int64: 'number'`. */
interface NumberRow extends Omit<Row, 'timestamp'> {
  readonly timestamp: number;
}

/** Reads objects built by Node-API, value by value. All are kept until the last one is made, then all their values are read. */
export const naiveObjects: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  return async (clock) => {
    clock.start();
    const checksum = sumRows((await executeQueryNaive(connection, sql)) as unknown as Row[]);
    clock.stop();
    return checksum;
  };
};

/** Reads by `executeQuery`: an array of all rows as objects. Then all their values are read. */
export const objects: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  const { columns } = workloadEntry(workload);
  const sum = (
    hasTexts(columns) ? sumTextObjects : columns.includes('id') ? sumRows : (rows) => sumObjects(rows, columns)
  ) as (rows: readonly object[]) => Checksum;
  return async (clock, signal) => {
    clock.start();
    const checksum = sum(await connection.executeQuery(sql, { signal }));
    clock.stop();
    return checksum;
  };
};

/** Reads by `executeQuery` with 64-bit integers as numbers, which saves the cost of a `bigint` per row. */
export const objectsNumber: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  return async (clock, signal) => {
    clock.start();
    const checksum = sumNumberRows(
      (await connection.executeQuery(sql, { signal, int64: 'number' })) as unknown as NumberRow[],
    );
    clock.stop();
    return checksum;
  };
};

/** Reads by `for await (const row of executeQueryStream(...))`. */
export const stream: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  return async (clock, signal) => {
    const sums = new MeasurementSums();
    let rows = 0;
    let id = 0;
    let sensorId = 0;
    let value = 0;
    let timestamp = 0n;
    clock.start();
    for await (const each of connection.executeQueryStream(sql, { signal })) {
      const row = each as unknown as Row;
      rows += 1;
      id += row.id;
      sensorId += row.sensor_id;
      value += row.value;
      timestamp += row.timestamp;
      if (rows === BLOCK_ROWS) {
        sums.add(rows, id, sensorId, value, timestamp);
        rows = 0;
        id = 0;
        sensorId = 0;
        value = 0;
        timestamp = 0n;
      }
    }
    sums.add(rows, id, sensorId, value, timestamp);
    clock.stop();
    return sums.checksum;
  };
};

/** Reads by `for await (const rows of executeQueryStream(...).chunks())`: arrays of rows, dropped once consumed. */
export const chunks: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  return async (clock, signal) => {
    const sums = new MeasurementSums();
    clock.start();
    for await (const rows of connection.executeQueryStream(sql, { signal }).chunks()) {
      // Summed inline: the registers of a suspended function keep the arguments of its last call alive. The collector
      // that runs before the next chunk would copy this chunk's rows.
      let count = 0;
      let id = 0;
      let sensorId = 0;
      let value = 0;
      let timestamp = 0n;
      for (const row of rows as unknown as Row[]) {
        count += 1;
        id += row.id;
        sensorId += row.sensor_id;
        value += row.value;
        timestamp += row.timestamp;
        if (count === BLOCK_ROWS) {
          sums.add(count, id, sensorId, value, timestamp);
          count = 0;
          id = 0;
          sensorId = 0;
          value = 0;
          timestamp = 0n;
        }
      }
      sums.add(count, id, sensorId, value, timestamp);
    }
    clock.stop();
    return sums.checksum;
  };
};

/** Reads by `for await (const rows of executeQueryStream(...).cursor())`: one accessor a batch, which moves from row to row. */
export const cursor: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  const { columns } = workloadEntry(workload);
  if (hasTexts(columns)) return textCursor(connection, sql, columns);
  return async (clock, signal) => {
    const sums = new MeasurementSums();
    clock.start();
    for await (const rows of connection.executeQueryStream<Row>(sql, { signal }).cursor()) sumCursor(rows, sums);
    clock.stop();
    return sums.checksum;
  };
};

/** The lane `cursor` of texts, each made by its getter. */
function textCursor(connection: Connection, sql: string, columns: readonly string[]): LaneRun {
  return async (clock, signal) => {
    const parts: Checksum[] = [];
    clock.start();
    for await (const rows of connection.executeQueryStream<TextRow>(sql, { signal }).cursor()) {
      parts.push(sumTextObjects(rows));
    }
    const checksum = mergeChecksums(parts, columns);
    clock.stop();
    return checksum;
  };
}

/**
 * Reads by `for await (const chunk of executeQueryColumnar(...))`: each column's typed array, or its texts as an array,
 * then the chunk is released.
 */
export const columnar: Lane = (connection, { workload, table, readAhead, batchRows }) => {
  const sql = queryOf(workload, table);
  const { columns } = workloadEntry(workload);
  const areTexts = hasTexts(columns);
  return async (clock, signal) => {
    const sums = new ColumnSums(columns);
    clock.start();
    for await (const chunk of connection.executeQueryColumnar(sql, { signal, readAhead, batchRows })) {
      sums.addRows(chunk.rowCount);
      columns.forEach((name, position) => {
        if (areTexts) sums.addSum(position, sumTexts(chunk.values(name) as string[]));
        else sums.addColumn(position, chunk.column(name) as ColumnValues);
      });
      chunk.release();
    }
    clock.stop();
    return sums.checksum;
  };
};

/** The lanes out, by name. */
export const lanesOut: Readonly<Record<string, Lane>> = {
  'naive-objects': naiveObjects,
  objects,
  'objects-number': objectsNumber,
  stream,
  chunks,
  cursor,
  columnar,
};

function sumRows(rows: readonly Row[]): Checksum {
  const sums = new MeasurementSums();
  for (let start = 0; start < rows.length; start += BLOCK_ROWS) {
    const end = Math.min(start + BLOCK_ROWS, rows.length);
    let id = 0;
    let sensorId = 0;
    let value = 0;
    let timestamp = 0n;
    for (let at = start; at < end; at += 1) {
      const row = rows[at] as Row;
      id += row.id;
      sensorId += row.sensor_id;
      value += row.value;
      timestamp += row.timestamp;
    }
    sums.add(end - start, id, sensorId, value, timestamp);
  }
  return sums.checksum;
}

/** Adds the rows of a cursor. A function of its own, since V8 compiles the loops of asynchronous functions less well. */
function sumCursor(rows: RowCursor<Row>, sums: MeasurementSums): void {
  let count = 0;
  let id = 0;
  let sensorId = 0;
  let value = 0;
  let timestamp = 0n;
  for (const row of rows) {
    count += 1;
    id += row.id;
    sensorId += row.sensor_id;
    value += row.value;
    timestamp += row.timestamp;
    if (count === BLOCK_ROWS) {
      sums.add(count, id, sensorId, value, timestamp);
      count = 0;
      id = 0;
      sensorId = 0;
      value = 0;
      timestamp = 0n;
    }
  }
  sums.add(count, id, sensorId, value, timestamp);
}

function sumNumberRows(rows: readonly NumberRow[]): Checksum {
  const sums = new MeasurementSums();
  for (let start = 0; start < rows.length; start += BLOCK_ROWS) {
    const end = Math.min(start + BLOCK_ROWS, rows.length);
    let id = 0;
    let sensorId = 0;
    let value = 0;
    let timestamp = 0;
    for (let at = start; at < end; at += 1) {
      const row = rows[at] as NumberRow;
      id += row.id;
      sensorId += row.sensor_id;
      value += row.value;
      timestamp += row.timestamp;
    }
    sums.add(end - start, id, sensorId, value, BigInt(timestamp));
  }
  return sums.checksum;
}
