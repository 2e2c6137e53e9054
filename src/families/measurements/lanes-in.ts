/**
 * The lanes in, from Node through the addon. Timed, as on the `rust` side: opening the inserter, the lane's own work on
 * each piece of input, and `execute` until the rows are published. Also timed: waiting at the end of each piece until
 * the engine has taken it, so that nothing is stored while the clock is paused. Not timed: making the table and each
 * piece of input. Encoding the input is timed separately.
 *
 * Memory, as on the `rust` side: each piece of input is made in the memory of the previous piece, which the lane keeps
 * from one execution to the next. The addon copies it into recycled memory of its own. Threads: JavaScript's, and the
 * inserter's, which gives the batches to an engine that does not take them at once.
 */
import { NaiveRowInserter } from '../../library/engine/naive.js';
import { RowInserter } from '../../library/engine/row-inserter.js';
import type { RowWriter } from '../../library/engine/row-writer.js';
import type { MeasurementRow } from '../../clients/measurement-table.js';
import { type Lane, type LaneClock, measurementsTable } from './lane.js';
import { ColumnBatch, INPUT_ROWS, RowBatch, type RowRange, batchesOf, newColumns } from './rows.js';

/** Inserts value by value: `addRows` of the naive inserter, with arrays of values. */
export const naiveRow: Lane = (connection, { table, range }) => {
  const memory = new RowBatch(Math.min(INPUT_ROWS, range.rows));
  return insert(
    range,
    () => new NaiveRowInserter(connection, measurementsTable(table)),
    (part) => memory.make(part),
    (inserter, rows) => inserter.addRows(rows as MeasurementRow[]),
  );
};

/** Inserts by `RowInserter.addRow` with an array of values per row. The timestamp is a number. */
export const stagedRow: Lane = (connection, { table, range }) => {
  const memory = new RowBatch(Math.min(INPUT_ROWS, range.rows));
  return insert(
    range,
    () => new RowInserter(connection, measurementsTable(table)),
    (part) => memory.make(part),
    async (inserter, rows) => {
      for (let at = addUntilFull(inserter, rows, 0); at !== MAY_GO_ON; at = addUntilFull(inserter, rows, at)) {
        await inserter.drain();
      }
    },
  );
};

/**
 * Inserts by `RowInserter.writer()`, whose setters are given the values of each row. The values are there as one array
 * per column, since a caller of setters needs no array or object for a row. Timestamps are numbers.
 */
export const rowWriter: Lane = (connection, { table, range }) => {
  const rows = Math.min(INPUT_ROWS, range.rows);
  const memory = new ColumnBatch(newColumns(rows));
  const timestamp = new Float64Array(rows);
  return insert(
    range,
    () => new RowInserter(connection, measurementsTable(table)),
    (part): RowColumns => {
      const columns = memory.make(part);
      columns.timestamp.forEach((time, at) => {
        timestamp[at] = Number(time);
      });
      return { ...columns, timestamp };
    },
    async (inserter, columns) => {
      const writer = inserter.writer<MeasurementNumbers>();
      for (let at = writeUntilFull(writer, columns, 0); at !== MAY_GO_ON; at = writeUntilFull(writer, columns, at)) {
        await inserter.drain();
      }
    },
  );
};

/** Inserts by `RowInserter.addColumns` with the columns of a piece of input as typed arrays. */
export const columns: Lane = (connection, { table, range }) => {
  const memory = new ColumnBatch(newColumns(Math.min(INPUT_ROWS, range.rows)));
  return insert(
    range,
    () => new RowInserter(connection, measurementsTable(table)),
    (part) => memory.make(part),
    (inserter, batch) => inserter.addColumns({ ...batch }),
  );
};

/** The lanes in, by name. */
export const lanesIn: Readonly<Record<string, Lane>> = {
  'naive-row': naiveRow,
  'staged-row': stagedRow,
  'row-writer': rowWriter,
  columns,
};

interface Inserter {
  drain(): Promise<void>;
  execute(): Promise<number>;
  abort(): Promise<void>;
}

/** Feeds pieces of input to an inserter, which blocks a caller that adds too fast. */
export function insert<T extends Inserter, Piece>(
  range: RowRange,
  begin: () => T,
  make: (part: RowRange) => Piece,
  feed: (inserter: T, piece: Piece) => unknown,
): (clock: LaneClock, signal: AbortSignal) => Promise<undefined> {
  return async (clock, signal) => {
    clock.start();
    const inserter = begin();
    try {
      for (const part of batchesOf(range, INPUT_ROWS)) {
        signal.throwIfAborted();
        clock.stop();
        const piece = make(part);
        clock.start();
        await feed(inserter, piece);
        await inserter.drain();
      }
      await inserter.execute();
    } catch (error) {
      await inserter.abort();
      throw error;
    }
    clock.stop();
  };
}

/** The values of a row, as the setters of a writer take them. */
interface MeasurementNumbers {
  id: number;
  sensor_id: number;
  value: number;
  timestamp: number;
}

/** The values of rows, column by column. */
type RowColumns = { readonly [Name in keyof MeasurementNumbers]: Int32Array | Float64Array };

const MAY_GO_ON = -1;

/** Adds rows until the inserter asks to wait. Returns the position of the first row left, or `MAY_GO_ON` if all are added. */
function addUntilFull(inserter: RowInserter, rows: readonly MeasurementRow[], start: number): number {
  for (let at = start; at < rows.length; at += 1) {
    if (!inserter.addRow(rows[at] as MeasurementRow)) return at + 1;
  }
  return MAY_GO_ON;
}

/** Writes rows until the inserter asks to wait. Returns as `addUntilFull` does. */
function writeUntilFull(writer: RowWriter<MeasurementNumbers>, columns: RowColumns, start: number): number {
  const { id, sensor_id: sensorId, value, timestamp } = columns;
  for (let at = start; at < id.length; at += 1) {
    writer.id = id[at] as number;
    writer.sensor_id = sensorId[at] as number;
    writer.value = value[at] as number;
    writer.timestamp = timestamp[at] as number;
    if (!writer.next()) return at + 1;
  }
  return MAY_GO_ON;
}
