/**
 * The `js` cells of Polars. Timed for an insert: from columns that the caller keeps to a finished frame; for a query: from its
 * start until its last value is consumed. Not timed: making columns, loading the frames that are read, checking.
 */
import type { Cell, Checksum } from '../../records/record.js';
import type { MeasurementColumns, MeasurementObject } from '../../clients/measurement-table.js';
import type { PolarsClient, PolarsFrame, PolarsValues } from '../../clients/nodejs-polars.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { ColumnSums } from './checksum.js';
import { expectedOf } from './closed-forms.js';
import type { TableSize } from './column-table-cells.js';
import type { LoadedTables } from './loaded-tables.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumMeasurementObjects, sumObjects } from './object-sums.js';
import { type RowCheck, rowCheckOf } from './row-check.js';
import { ColumnBatch, type RowRange, batchesOf, newColumns } from './rows.js';

/** The values summed at once, few enough for exact sums. */
const PIECE_VALUES = 2 ** 20;

/** Makes the frame that queries of so many rows read, untimed. */
export function loadPolarsFrame(client: PolarsClient, { rows }: TableSize): PolarsFrame {
  return client.frameOf(new ColumnBatch(newColumns(rows)).make({ start: 0, rows }));
}

/** Opens a cell. */
export async function openPolarsCell(
  client: PolarsClient,
  frames: LoadedTables<TableSize, PolarsFrame>,
  { workload, lane, rows }: Cell,
): Promise<OpenCell> {
  const range = { start: 0, rows };
  const expected = expectedOf(workload, [range]);
  const { columns, direction } = workloadEntry(workload);
  if (direction === 'in') {
    return {
      expected,
      sample: async (stopwatch, signal) => sumColumns(fromColumns(client, range, stopwatch, signal), columns),
      verify: async (stopwatch, signal) => {
        checkFrame(fromColumns(client, range, stopwatch, signal), rowCheckOf(workload, range), columns);
      },
      close: async () => {},
    };
  }
  const { table: frame, release } = await frames.acquire({ rows });
  const sql = queryOf(workload, matrix.table);
  const read = lane === 'objects' ? sumRecords : sumColumns;
  return {
    expected,
    sample: async (stopwatch) => {
      stopwatch.start();
      const checksum = read(client.query(frame, matrix.table, sql), columns);
      stopwatch.stop();
      return checksum;
    },
    verify: async () => {
      const check = rowCheckOf(workload, range);
      const result = client.query(frame, matrix.table, sql);
      if (lane !== 'objects') return checkFrame(result, check, columns);
      check.addRows(result.toRecords());
      check.finish();
    },
    close: release,
  };
}

/** Makes a frame from columns, in which batches are copied into whole columns, which the frame then copies. */
function fromColumns(client: PolarsClient, range: RowRange, stopwatch: Stopwatch, signal: AbortSignal): PolarsFrame {
  const memory = new ColumnBatch();
  stopwatch.start();
  const columns = newColumns(range.rows);
  stopwatch.stop();
  for (const part of batchesOf(range)) {
    signal.throwIfAborted();
    const batch = memory.make(part);
    stopwatch.start();
    copyInto(columns, batch, part.start);
    stopwatch.stop();
  }
  stopwatch.start();
  const frame = client.frameOf(columns);
  stopwatch.stop();
  return frame;
}

function copyInto(columns: MeasurementColumns, batch: MeasurementColumns, at: number): void {
  columns.id.set(batch.id, at);
  columns.sensor_id.set(batch.sensor_id, at);
  columns.value.set(batch.value, at);
  columns.timestamp.set(batch.timestamp, at);
}

function checkFrame(frame: PolarsFrame, check: RowCheck, columns: readonly string[]): void {
  check.addColumns(
    frame.height,
    columns.map((name) => frame.getColumn(name).toTypedArray()),
  );
  check.finish();
}

function sumRecords(frame: PolarsFrame, columns: readonly string[]): Checksum {
  const objects = frame.toRecords();
  return columns.includes('id')
    ? sumMeasurementObjects(objects as unknown as MeasurementObject[])
    : sumObjects(objects, columns);
}

function sumColumns(frame: PolarsFrame, names: readonly string[]): Checksum {
  const sums = new ColumnSums(names);
  sums.addRows(frame.height);
  names.forEach((name, position) => {
    const values = frame.getColumn(name).toTypedArray();
    for (let start = 0; start < values.length; start += PIECE_VALUES) {
      sums.addColumn(position, signed(values.subarray(start, start + PIECE_VALUES)));
    }
  });
  return sums.checksum;
}

/** The values as signed integers: counts are unsigned, and far below 2^31. */
function signed(values: PolarsValues): Exclude<PolarsValues, Uint32Array> {
  return values instanceof Uint32Array ? new Int32Array(values.buffer, values.byteOffset, values.length) : values;
}
