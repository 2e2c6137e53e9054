/**
 * The `js` cells of SQLite. Timed for an insert: from the begin of the transaction to its commit, without making the rows; for a
 * query: from its start until its last value is consumed.
 */
import type { Checksum } from '../../records/record.js';
import type { MeasurementObject } from '../../clients/measurement-table.js';
import type { SqliteClient } from '../../clients/sqlite.js';
import { BLOCK_ROWS, MeasurementSums } from './checksum.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumResult } from './object-sums.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import { BATCH_ROWS, RowBatch, batchesOf } from './rows.js';
import { type Fill, INSERT_TABLE, type TableClient, UNENDING, UNTIMED } from './table-cells.js';

/** The tables of a database. */
export function sqliteTables(client: SqliteClient): TableClient<string> {
  const writer = (table: string, rows: number): Fill<string> => {
    const memory = new RowBatch(Math.min(BATCH_ROWS, rows));
    return (clock, signal) => {
      client.createTable(table);
      clock.start();
      const into = client.write(table);
      for (const part of batchesOf({ start: 0, rows })) {
        clock.stop();
        if (signal.aborted) client.rollBack();
        signal.throwIfAborted();
        const batch = memory.make(part);
        clock.start();
        into.add(batch);
      }
      into.finish();
      clock.stop();
      return table;
    };
  };
  return {
    load: ({ rows }) => writer(`${matrix.table}_${rows}`, rows)(UNTIMED, UNENDING),
    writer: ({ rows }) => writer(INSERT_TABLE, rows),
    sums: (table) => checksumOfSums(client.all(sumsQuery(table))[0] ?? {}),
    reader: (table, { workload, lane }) => {
      const sql = queryOf(workload, table);
      const { columns } = workloadEntry(workload);
      return lane === 'objects'
        ? { sum: () => sumResult(client.all(sql), columns), check: (check) => check.addRows(client.all(sql)) }
        : { sum: () => sumIterated(client, sql), check: (check) => check.addRows(client.iterate(sql)) };
    },
    drop: (table) => client.dropTable(table),
  };
}

function sumIterated(client: SqliteClient, sql: string): Checksum {
  const sums = new MeasurementSums();
  let [rows, id, sensorId, value, timestamp] = [0, 0, 0, 0, 0];
  for (const object of client.iterate(sql)) {
    const row = object as unknown as MeasurementObject;
    rows += 1;
    id += row.id;
    sensorId += row.sensor_id;
    value += row.value;
    timestamp += row.timestamp as number;
    if (rows === BLOCK_ROWS) {
      sums.add(rows, id, sensorId, value, BigInt(timestamp));
      rows = id = sensorId = value = timestamp = 0;
    }
  }
  sums.add(rows, id, sensorId, value, BigInt(timestamp));
  return sums.checksum;
}
