/**
 * The `js` cells of SQLite. Timed for an insert: from the begin of the transaction to its commit, without making the rows; for a
 * query: from its start until its last value is consumed.
 */
import type { Cell, Checksum } from '../../records/record.js';
import type { MeasurementObject } from '../../clients/measurement-table.js';
import type { SqliteClient } from '../../clients/sqlite.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { BLOCK_ROWS, MeasurementSums } from './checksum.js';
import { expectedOf } from './closed-forms.js';
import type { TableSize } from './column-table-cells.js';
import type { LoadedTables } from './loaded-tables.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumMeasurementObjects, sumObjects } from './object-sums.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import { rowCheckOf } from './row-check.js';
import { BATCH_ROWS, RowBatch, type RowRange, batchesOf } from './rows.js';

const INSERT_TABLE = `${matrix.table}_insert`;

/** Creates the table that queries of so many rows read, untimed; returns its name. */
export function loadSqliteTable(client: SqliteClient, { rows }: TableSize): string {
  const table = `${matrix.table}_${rows}`;
  client.createTable(table);
  const writer = client.write(table);
  const memory = new RowBatch(Math.min(BATCH_ROWS, rows));
  for (const part of batchesOf({ start: 0, rows })) writer.add(memory.make(part));
  writer.finish();
  return table;
}

/** Opens a cell. */
export async function openSqliteCell(
  client: SqliteClient,
  tables: LoadedTables<TableSize, string>,
  { workload, lane, rows }: Cell,
): Promise<OpenCell> {
  const range = { start: 0, rows };
  const expected = expectedOf(workload, [range]);
  if (workloadEntry(workload).direction === 'in') return openWriter(client, range, expected);
  const { table, release } = await tables.acquire({ rows });
  const sql = queryOf(workload, table);
  const { columns } = workloadEntry(workload);
  return {
    expected,
    sample: async (stopwatch) => {
      stopwatch.start();
      const checksum = lane === 'stream' ? sumIterated(client, sql) : sumAll(client, sql, columns);
      stopwatch.stop();
      return checksum;
    },
    verify: async () => {
      const check = rowCheckOf(workload, range);
      check.addRows(lane === 'stream' ? client.iterate(sql) : client.all(sql));
      check.finish();
    },
    close: release,
  };
}

function openWriter(client: SqliteClient, range: RowRange, expected: Checksum): OpenCell {
  const memory = new RowBatch(Math.min(BATCH_ROWS, range.rows));
  const fill = (stopwatch: Stopwatch, signal: AbortSignal): void => {
    client.createTable(INSERT_TABLE);
    stopwatch.start();
    const writer = client.write(INSERT_TABLE);
    for (const part of batchesOf(range)) {
      stopwatch.stop();
      if (signal.aborted) client.rollBack();
      signal.throwIfAborted();
      const rows = memory.make(part);
      stopwatch.start();
      writer.add(rows);
    }
    writer.finish();
    stopwatch.stop();
  };
  return {
    expected,
    sample: async (stopwatch, signal) => {
      fill(stopwatch, signal);
      const [sums] = client.all(sumsQuery(INSERT_TABLE));
      client.dropTable(INSERT_TABLE);
      return checksumOfSums(sums ?? {});
    },
    verify: async (stopwatch, signal) => {
      fill(stopwatch, signal);
      const check = rowCheckOf('insert.bulk', range);
      check.addRows(client.iterate(queryOf('query.full_scan', INSERT_TABLE)));
      client.dropTable(INSERT_TABLE);
      check.finish();
    },
    close: async () => {},
  };
}

function sumAll(client: SqliteClient, sql: string, columns: readonly string[]): Checksum {
  const objects = client.all(sql);
  return columns.includes('id')
    ? sumMeasurementObjects(objects as unknown as MeasurementObject[])
    : sumObjects(objects, columns);
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
