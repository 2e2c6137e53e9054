/**
 * The lanes of Arrow IPC, from Node through the addon, timed as the other lanes, with memory and threads as theirs. They are apart
 * from the other lanes, since the package that reads and writes Arrow streams in JavaScript may not be installed.
 */
import type { Table } from '@uwdata/flechette';

import { library } from '../../clients/flechette.js';
import { ArrowInserter } from '../../library/engine/arrow-inserter.js';
import type { Connection } from '../../library/engine/connection.js';
import type { Checksum } from '../../records/record.js';
import { ColumnSums, type ColumnValues } from './checksum.js';
import { encodeStream, InputStream } from './input-stream.js';
import { type Lane, measurementsTable } from './lane.js';
import { insert } from './lanes-in.js';
import { queryOf, workloadEntry } from './matrix.js';
import type { RowCheck } from './row-check.js';
import { ColumnBatch, INPUT_ROWS, batchesOf, newColumns } from './rows.js';

const { tableFromIPC } = library;

/**
 * Inserts by `ArrowInserter.insert` with one Arrow IPC stream per piece of input, of batches of 64 Ki rows. The streams
 * are inserted from reused memory. To time the encoding, all pieces are encoded after the insert, so that no garbage of
 * it is collected while the insert is timed.
 */
export const arrowIn: Lane = (connection, { table, range }) => {
  const memory = new ColumnBatch(newColumns(Math.min(INPUT_ROWS, range.rows)));
  const streams = new InputStream();
  const insertStreams = insert(
    range,
    () => new ArrowInserter(connection, measurementsTable(table)),
    (part) => streams.make(part),
    (inserter, bytes) => inserter.insert(bytes),
  );
  return async (clock, signal) => {
    await insertStreams(clock, signal);
    for (const part of batchesOf(range, INPUT_ROWS)) {
      signal.throwIfAborted();
      const columns = memory.make(part);
      clock.apart('encode', () => encodeStream(columns));
    }
    return undefined;
  };
};

/** Reads by `executeQueryToArrow`. Flechette decodes the bytes into typed arrays. */
export const arrowOut: Lane = (connection, { workload, table }) => {
  const sql = queryOf(workload, table);
  const { columns } = workloadEntry(workload);
  return async (clock, signal) => {
    clock.start();
    const bytes = await connection.executeQueryToArrow(sql, { signal });
    clock.stop();
    const table = clock.apart('decode', () => tableFromIPC(bytes, { useBigInt: true }));
    clock.start();
    const checksum = sumArrow(table, columns);
    clock.stop();
    return checksum;
  };
};

/** Reads a result as Arrow IPC, and checks its rows. */
export async function readArrow(
  connection: Connection,
  sql: string,
  check: RowCheck,
  columns: readonly string[],
): Promise<void> {
  const table = tableFromIPC(await connection.executeQueryToArrow(sql), { useBigInt: true });
  check.addColumns(
    table.numRows,
    columns.map((name) => table.getChild(name).toArray() as unknown[]),
  );
}

/** The checksum of a decoded result. */
export function sumArrow(table: Table, columns: readonly string[]): Checksum {
  const sums = new ColumnSums(columns);
  sums.addRows(table.numRows);
  columns.forEach((name, position) => {
    for (const batch of table.getChild(name).data) sums.addColumn(position, batch.values as ColumnValues);
  });
  return sums.checksum;
}
