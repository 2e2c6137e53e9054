/**
 * The lanes in, from Node through the addon. Timed, as on the `rust` side: opening the inserter, the lane's own work on
 * each piece of input, and `execute` until the rows are published. Not timed: making the table and each piece of input.
 *
 * Pieces are small enough to be in the cache when the lane takes them, as rows that a program has just made are.
 */
import { tableFromIPC, tableToIPC } from '@uwdata/flechette';

import { ArrowInserter } from '../../library/arrow-inserter.js';
import { NaiveRowInserter } from '../../library/naive.js';
import { RowInserter } from '../../library/row-inserter.js';
import { flechette } from '../../targets/flechette.js';
import type { MeasurementColumns, MeasurementRow } from '../../targets/measurement-table.js';
import { type Lane, type LaneClock, measurementsTable } from './lane.js';
import { BATCH_ROWS, ColumnBatch, RowBatch, type RowRange, batchesOf, newColumns } from './rows.js';

/** Every value crosses by itself: `addRows` of the naive inserter, with arrays of values. */
export const naiveRow: Lane = (connection, { table, range }) => {
  const memory = new RowBatch(Math.min(BATCH_ROWS, range.rows));
  return insert(
    range,
    () => new NaiveRowInserter(connection, measurementsTable(table)),
    (part) => memory.make(part),
    (inserter, rows) => ready(inserter, inserter.addRows(rows as MeasurementRow[])),
  );
};

/** `RowInserter.addRow` with an array of values for each row; the timestamp is a number. */
export const stagedRow: Lane = (connection, { table, range }) => {
  const memory = new RowBatch(Math.min(BATCH_ROWS, range.rows));
  return insert(
    range,
    () => new RowInserter(connection, measurementsTable(table)),
    (part) => memory.make(part),
    async (inserter, rows) => {
      let hadToWait = false;
      for (let at = addUntilFull(inserter, rows, 0); at !== MAY_GO_ON; at = addUntilFull(inserter, rows, at)) {
        await inserter.drain();
        hadToWait = true;
      }
      return hadToWait;
    },
  );
};

/** `RowInserter.addColumns` with the columns of 64 Ki rows as typed arrays. */
export const columns: Lane = (connection, { table, range }) => {
  const memory = new ColumnBatch(newColumns(Math.min(BATCH_ROWS, range.rows)));
  return insert(
    range,
    () => new RowInserter(connection, measurementsTable(table)),
    (part) => memory.make(part),
    (inserter, batch) => ready(inserter, inserter.addColumns({ ...batch })),
  );
};

/** `ArrowInserter.insert` with one Arrow IPC stream for each 64 Ki rows. */
export const arrowIpc: Lane = (connection, { table, range }) => {
  const streams = new StreamBatch();
  return insert(
    range,
    () => new ArrowInserter(connection, measurementsTable(table)),
    (part) => streams.make(part),
    (inserter, bytes) => ready(inserter, inserter.insert(bytes)),
  );
};

/** The lanes in, by name. */
export const lanesIn: Readonly<Record<string, Lane>> = {
  'naive-row': naiveRow,
  'staged-row': stagedRow,
  columns,
  'arrow-ipc': arrowIpc,
};

interface Inserter {
  drain(): Promise<void>;
  execute(): Promise<number>;
  abort(): Promise<void>;
}

/**
 * Feeds pieces of input to an inserter. `feed` says whether the engine was behind, so that it had to wait. Then the
 * clock goes on while the next piece is made: the engine has queued rows to store meanwhile, and a pause would hide
 * that work.
 */
function insert<T extends Inserter, Piece>(
  range: RowRange,
  begin: () => T,
  make: (part: RowRange) => Piece,
  feed: (inserter: T, piece: Piece) => Promise<boolean>,
): (clock: LaneClock, signal: AbortSignal) => Promise<undefined> {
  return async (clock, signal) => {
    clock.start();
    const inserter = begin();
    try {
      let isBehind = false;
      for (const part of batchesOf(range)) {
        signal.throwIfAborted();
        if (!isBehind) clock.stop();
        const piece = make(part);
        if (!isBehind) clock.start();
        isBehind = await feed(inserter, piece);
      }
      await inserter.execute();
    } catch (error) {
      await inserter.abort();
      throw error;
    }
    clock.stop();
  };
}

/** Waits where the inserter asks for it, and says whether it did. */
async function ready(inserter: Inserter, mayGoOn: boolean): Promise<boolean> {
  if (!mayGoOn) await inserter.drain();
  return !mayGoOn;
}

const MAY_GO_ON = -1;

/** Adds rows until the inserter asks to wait; the position of the first row left, or `MAY_GO_ON` when all are added. */
function addUntilFull(inserter: RowInserter, rows: readonly MeasurementRow[], start: number): number {
  for (let at = start; at < rows.length; at += 1) {
    if (!inserter.addRow(rows[at] as MeasurementRow)) return at + 1;
  }
  return MAY_GO_ON;
}

/**
 * Memory for the Arrow IPC stream of one batch. The stream is encoded once for each number of rows; after that its
 * columns are filled where they lie in its bytes, so that pauses stay short. What `make` returns is valid until the next
 * `make`.
 */
class StreamBatch {
  #rows = 0;
  #bytes: Uint8Array = new Uint8Array();
  #columns = new ColumnBatch(newColumns(0));

  make(part: RowRange): Uint8Array {
    if (part.rows !== this.#rows) this.#encode(part.rows);
    this.#columns.make(part);
    return this.#bytes;
  }

  #encode(rows: number): void {
    this.#bytes = encodeStream(newColumns(rows));
    const [columns] = flechette.toBatches(tableFromIPC(this.#bytes, { useBigInt: true }));
    if (columns === undefined || columns.timestamp.buffer !== this.#bytes.buffer) {
      throw new Error('the decoded columns do not lie in the bytes of the stream');
    }
    this.#rows = rows;
    this.#columns = new ColumnBatch(columns);
  }
}

/** One batch as an Arrow IPC stream. */
function encodeStream(batch: MeasurementColumns): Uint8Array {
  const bytes = tableToIPC(flechette.fromBatches([batch]), { format: 'stream' });
  if (bytes === null) throw new Error('flechette returned no bytes');
  return bytes;
}
