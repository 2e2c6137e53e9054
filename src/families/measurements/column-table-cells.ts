/**
 * The `js` cells of in-memory tables in pure JavaScript. Timed for an insert: from the rows or columns that the caller
 * keeps to a finished table with its own copy of them. Timed for a query: from the table to the last value consumed.
 * Not timed: making rows and columns, loading the tables that are read, checking.
 */
import type { Checksum } from '../../records/record.js';
import type {
  JsTableClient,
  MeasurementColumns,
  MeasurementObject,
  MeasurementRow,
} from '../../clients/measurement-table.js';
import { aggregate, filter, scan } from './column-loops.js';
import type { LaneClock } from './lane.js';
import { matrix, workloadEntry } from './matrix.js';
import { sumMeasurementObjects } from './object-sums.js';
import { BATCH_ROWS, ColumnBatch, type RowRange, batchesOf, keptColumns, keptRows, newColumns } from './rows.js';
import type { TableClient } from './table-cells.js';

/** The tables of such a library. */
export function columnTables<Table>(client: JsTableClient<Table>): TableClient<Table> {
  return {
    load: ({ rows }) => {
      const memory = new ColumnBatch();
      return client.fromBatches([...batchesOf({ start: 0, rows })].map((part) => copyOf(memory.make(part))));
    },
    writer: ({ lane, rows }) => {
      const fill = lane === 'row' ? fromRows : fromColumns;
      return (clock, signal) => fill(client, rows, clock, signal);
    },
    sums: (table) => scan(client.toBatches(table)),
    reader: (table, { workload, lane }) =>
      lane === 'objects'
        ? {
            // All objects are kept until the last one is made. Then all their values are read.
            sum: () => sumMeasurementObjects(objectsOf(client, table, workload)),
            check: (check) => check.addRows(objectsOf(client, table, workload)),
          }
        : {
            sum: () => readColumns(client, table, workload),
            // Filters and aggregates are this module's own loops: what is checked are the rows that the library hands out.
            checked: 'query.full_scan',
            check: (check) => {
              for (const { id, sensor_id, value, timestamp } of client.toBatches(table)) {
                check.addColumns(id.length, [id, sensor_id, value, timestamp]);
              }
            },
          },
  };
}

/** Makes a table from rows, written one by one into the columns of a batch. */
function fromRows<Table>(client: JsTableClient<Table>, rows: number, clock: LaneClock, signal: AbortSignal): Table {
  const memory = keptRows(Math.min(BATCH_ROWS, rows));
  return build(client, rows, clock, signal, (part) => memory.make(part), columnsOfRows);
}

/** Makes a table from columns, which are copied, since the memory remains the caller's. */
function fromColumns<Table>(client: JsTableClient<Table>, rows: number, clock: LaneClock, signal: AbortSignal): Table {
  const memory = keptColumns(Math.min(BATCH_ROWS, rows));
  return build(client, rows, clock, signal, (part) => memory.make(part), copyOf);
}

function build<Table, Piece>(
  client: JsTableClient<Table>,
  rows: number,
  clock: LaneClock,
  signal: AbortSignal,
  make: (part: RowRange) => Piece,
  toColumns: (piece: Piece) => MeasurementColumns,
): Table {
  const batches: MeasurementColumns[] = [];
  for (const part of batchesOf({ start: 0, rows })) {
    signal.throwIfAborted();
    const piece = make(part);
    clock.start();
    batches.push(toColumns(piece));
    clock.stop();
  }
  clock.start();
  const table = client.fromBatches(batches);
  clock.stop();
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

function objectsOf<Table>(client: JsTableClient<Table>, table: Table, workload: string): MeasurementObject[] {
  const { filteredSensor } = workloadEntry(workload);
  return filteredSensor === undefined ? client.toObjects(table) : filteredObjects(client, table, filteredSensor);
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
