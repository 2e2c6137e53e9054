/**
 * The `js` cells of Polars. Timed for an insert: from columns that the caller keeps to a finished frame; for a query: from its
 * start until its last value is consumed. Not timed: making columns, loading the frames that are read, checking.
 */
import type { Checksum } from '../../records/record.js';
import type { MeasurementColumns } from '../../clients/measurement-table.js';
import type { PolarsClient, PolarsFrame, PolarsValues } from '../../clients/nodejs-polars.js';
import { ColumnSums } from './checksum.js';
import type { LaneClock } from './lane.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumResult } from './object-sums.js';
import { BATCH_ROWS, ColumnBatch, batchesOf, keptColumns, newColumns } from './rows.js';
import type { TableClient } from './table-cells.js';

/** The values summed at once, few enough for exact sums. */
const PIECE_VALUES = 2 ** 20;

/** The frames of the library. */
export function polarsTables(client: PolarsClient): TableClient<PolarsFrame> {
  return {
    load: ({ rows }) => client.frameOf(new ColumnBatch(newColumns(rows)).make({ start: 0, rows })),
    writer:
      ({ rows }) =>
      (clock, signal) =>
        fromColumns(client, rows, clock, signal),
    sums: (frame) => sumColumns(frame, workloadEntry('insert.bulk').columns),
    reader: (frame, { workload, lane }) => {
      const sql = queryOf(workload, matrix.table);
      const { columns } = workloadEntry(workload);
      const query = (): PolarsFrame => client.query(frame, matrix.table, sql);
      if (lane === 'objects') {
        return {
          sum: () => sumResult(query().toRecords(), columns),
          check: (check) => check.addRows(query().toRecords()),
        };
      }
      return {
        sum: () => sumColumns(query(), columns),
        check: (check) => {
          const result = query();
          check.addColumns(
            result.height,
            columns.map((name) => result.getColumn(name).toTypedArray()),
          );
        },
      };
    },
  };
}

/** Makes a frame from columns, in which batches are copied into whole columns, which the frame then copies. */
function fromColumns(client: PolarsClient, rows: number, clock: LaneClock, signal: AbortSignal): PolarsFrame {
  const memory = keptColumns(BATCH_ROWS);
  clock.start();
  const columns = newColumns(rows);
  clock.stop();
  for (const part of batchesOf({ start: 0, rows })) {
    signal.throwIfAborted();
    const batch = memory.make(part);
    clock.start();
    copyInto(columns, batch, part.start);
    clock.stop();
  }
  clock.start();
  const frame = client.frameOf(columns);
  clock.stop();
  return frame;
}

function copyInto(columns: MeasurementColumns, batch: MeasurementColumns, at: number): void {
  columns.id.set(batch.id, at);
  columns.sensor_id.set(batch.sensor_id, at);
  columns.value.set(batch.value, at);
  columns.timestamp.set(batch.timestamp, at);
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
