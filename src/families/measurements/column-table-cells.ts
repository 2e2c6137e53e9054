/**
 * The `js` cells of in-memory tables in pure JavaScript. Timed for an insert: from the rows or columns that the caller keeps to
 * a finished table with its own copy of them; for a query: from the table to the last value consumed. Not timed: making rows and
 * columns, loading the tables that are read, checking.
 */
import type { Cell, Checksum } from '../../records/record.js';
import type {
  JsTableClient,
  MeasurementColumns,
  MeasurementObject,
  MeasurementRow,
} from '../../clients/measurement-table.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { expectedOf } from './closed-forms.js';
import { aggregate, filter, scan } from './column-loops.js';
import type { LoadedTables } from './loaded-tables.js';
import { matrix, workloadEntry } from './matrix.js';
import { sumMeasurementObjects } from './object-sums.js';
import { rowCheckOf } from './row-check.js';
import { BATCH_ROWS, ColumnBatch, RowBatch, type RowRange, batchesOf, newColumns } from './rows.js';

/** The number of rows of a table. */
export interface TableSize {
  readonly rows: number;
}

/** Makes a table of so many rows, untimed. */
export function buildTable<Table>(client: JsTableClient<Table>, { rows }: TableSize): Table {
  const memory = new ColumnBatch();
  const batches = [...batchesOf({ start: 0, rows })].map((part) => copyOf(memory.make(part)));
  return client.fromBatches(batches);
}

/** Opens a cell of such a client. */
export async function openColumnTableCell<Table>(
  client: JsTableClient<Table>,
  tables: LoadedTables<TableSize, Table>,
  { workload, lane, rows }: Cell,
): Promise<OpenCell> {
  const range = { start: 0, rows };
  const expected = expectedOf(workload, [range]);
  if (workloadEntry(workload).direction === 'in') {
    const build = lane === 'row' ? fromRows : fromColumns;
    return {
      expected,
      sample: async (stopwatch, signal) => scan(client.toBatches(build(client, range, stopwatch, signal))),
      verify: async (stopwatch, signal) => {
        checkBatches(client.toBatches(build(client, range, stopwatch, signal)), range);
      },
      close: async () => {},
    };
  }
  const { table, release } = await tables.acquire({ rows });
  const read = lane === 'objects' ? readObjects : readColumns;
  return {
    expected,
    sample: async (stopwatch) => {
      stopwatch.start();
      const checksum = read(client, table, workload);
      stopwatch.stop();
      return checksum;
    },
    verify: async () => {
      // Filters and aggregates are this module's own loops: what is checked are the rows that the library hands out.
      if (lane !== 'objects') return checkBatches(client.toBatches(table), range);
      const check = rowCheckOf(workload, range);
      check.addRows(objectsOf(client, table, workload));
      check.finish();
    },
    close: release,
  };
}

/** Makes a table from rows, written one by one into the columns of a batch. */
function fromRows<Table>(
  client: JsTableClient<Table>,
  range: RowRange,
  stopwatch: Stopwatch,
  signal: AbortSignal,
): Table {
  const memory = new RowBatch(Math.min(BATCH_ROWS, range.rows));
  return build(client, range, stopwatch, signal, (part) => memory.make(part), columnsOfRows);
}

/** Makes a table from columns, which are copied, since the memory remains the caller's. */
function fromColumns<Table>(
  client: JsTableClient<Table>,
  range: RowRange,
  stopwatch: Stopwatch,
  signal: AbortSignal,
): Table {
  const memory = new ColumnBatch(newColumns(Math.min(BATCH_ROWS, range.rows)));
  return build(client, range, stopwatch, signal, (part) => memory.make(part), copyOf);
}

function build<Table, Piece>(
  client: JsTableClient<Table>,
  range: RowRange,
  stopwatch: Stopwatch,
  signal: AbortSignal,
  make: (part: RowRange) => Piece,
  toColumns: (piece: Piece) => MeasurementColumns,
): Table {
  const batches: MeasurementColumns[] = [];
  for (const part of batchesOf(range)) {
    signal.throwIfAborted();
    const piece = make(part);
    stopwatch.start();
    batches.push(toColumns(piece));
    stopwatch.stop();
  }
  stopwatch.start();
  const table = client.fromBatches(batches);
  stopwatch.stop();
  return table;
}

const TWO_TO_32 = 2 ** 32;

function columnsOfRows(rows: readonly MeasurementRow[]): MeasurementColumns {
  const columns = newColumns(rows.length);
  const { id, sensor_id, value } = columns;
  const halves = new Int32Array(columns.timestamp.buffer);
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at] as MeasurementRow;
    const timestamp = row[3];
    id[at] = row[0];
    sensor_id[at] = row[1];
    value[at] = row[2];
    halves[2 * at] = timestamp;
    halves[2 * at + 1] = Math.floor(timestamp / TWO_TO_32);
  }
  return columns;
}

function copyOf({ id, sensor_id, value, timestamp }: MeasurementColumns): MeasurementColumns {
  return { id: id.slice(), sensor_id: sensor_id.slice(), value: value.slice(), timestamp: timestamp.slice() };
}

function readColumns<Table>(client: JsTableClient<Table>, table: Table, workload: string): Checksum {
  const batches = client.toBatches(table);
  const { columns, filteredSensor } = workloadEntry(workload);
  if (!columns.includes('id')) return aggregate(batches, matrix.sensors);
  return filteredSensor === undefined ? scan(batches) : filter(batches, filteredSensor);
}

/** Reads a result as row objects, which are all kept until the last one is made; then all their values are read. */
function readObjects<Table>(client: JsTableClient<Table>, table: Table, workload: string): Checksum {
  return sumMeasurementObjects(objectsOf(client, table, workload));
}

function objectsOf<Table>(client: JsTableClient<Table>, table: Table, workload: string): MeasurementObject[] {
  const { filteredSensor } = workloadEntry(workload);
  return filteredSensor === undefined ? client.toObjects(table) : filteredObjects(client, table, filteredSensor);
}

function checkBatches(batches: readonly MeasurementColumns[], range: RowRange): void {
  const check = rowCheckOf('query.full_scan', range);
  for (const { id, sensor_id, value, timestamp } of batches) {
    check.addColumns(id.length, [id, sensor_id, value, timestamp]);
  }
  check.finish();
}

function filteredObjects<Table>(client: JsTableClient<Table>, table: Table, sensor: number): MeasurementObject[] {
  const objects: MeasurementObject[] = [];
  client.toBatches(table).forEach(({ sensor_id: sensorIds }, batch) => {
    const objectAt = client.objectsOfBatch(table, batch);
    for (let at = 0; at < sensorIds.length; at += 1) {
      if (sensorIds[at] === sensor) objects.push(objectAt(at));
    }
  });
  return objects;
}
