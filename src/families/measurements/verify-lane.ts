/** The exact check of what the lanes of the addon read and store. It has loops of its own, so that it shapes no lane's code. */
import type { Connection } from '../../library/engine/connection.js';
import { executeQueryNaive } from '../../library/engine/naive.js';
import { hasTexts } from './checksum.js';
import type { LaneTask } from './lane.js';
import { queryOf, workloadEntry } from './matrix.js';
import { ARROW_IPC } from './packages.js';
import { type RowCheck, rowCheckOf } from './row-check.js';

/** Reads a result in the way of one lane, and checks its rows. */
type Read = (
  connection: Connection,
  sql: string,
  check: RowCheck,
  columns: readonly string[],
  options: Pick<LaneTask, 'readAhead' | 'batchRows'>,
) => Promise<void>;

const columnar: Read = async (connection, sql, check, columns, options) => {
  for await (const chunk of connection.executeQueryColumnar(sql, options)) {
    check.addColumns(
      chunk.rowCount,
      columns.map((name) => (hasTexts(columns) ? chunk.values(name) : (chunk.column(name) as Float64Array))),
    );
    chunk.release();
  }
};

const READS: Readonly<Record<string, Read>> = {
  'naive-objects': async (connection, sql, check) => check.addRows(await executeQueryNaive(connection, sql)),
  objects: async (connection, sql, check) => check.addRows(await connection.executeQuery(sql)),
  'objects-number': async (connection, sql, check) =>
    check.addRows(await connection.executeQuery(sql, { int64: 'number' })),
  stream: async (connection, sql, check) => {
    for await (const row of connection.executeQueryStream(sql)) check.addRows([row]);
  },
  chunks: async (connection, sql, check) => {
    for await (const rows of connection.executeQueryStream(sql).chunks()) check.addRows(rows);
  },
  cursor: async (connection, sql, check) => {
    for await (const rows of connection.executeQueryStream(sql).cursor()) check.addRows(rows);
  },
  columnar,
  [ARROW_IPC]: async (connection, sql, check, columns) =>
    (await import('./lanes-arrow.js')).readArrow(connection, sql, check, columns),
};

/** Reads what the lane of a task reads, and checks each row. Throws a `BoundaryError` for the first that is wrong. */
export async function verifyReader(connection: Connection, { workload, lane, ...share }: LaneTask): Promise<void> {
  await readAndCheck(READS[lane]!, connection, workload, share);
}

/** Checks each row of a table that a lane in has filled. */
export async function verifyTable(
  connection: Connection,
  { table, range }: Pick<LaneTask, 'table' | 'range'>,
): Promise<void> {
  await readAndCheck(columnar, connection, 'query.full_scan', { table, range, readAhead: true });
}

async function readAndCheck(
  read: Read,
  connection: Connection,
  workload: string,
  { table, range, ...options }: Omit<LaneTask, 'lane' | 'workload'>,
): Promise<void> {
  const check = rowCheckOf(workload, range);
  await read(connection, queryOf(workload, table), check, workloadEntry(workload).columns, options);
  check.finish();
}
