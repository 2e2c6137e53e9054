/**
 * The cells of Hyper's own Node binding, over a server of its own. Timed as the addon's lanes are. For an insert: from making the
 * inserter until `execute` has returned, without making the input. For a query: from its start until its last value is consumed.
 */
import { library } from '../../clients/flechette.js';
import type { HyperdbChunk, HyperdbClient, HyperdbConnection, HyperdbRow } from '../../clients/hyperdb-api-node.js';
import type { Checksum } from '../../records/record.js';
import { BLOCK_ROWS, FLOAT_COLUMNS, MeasurementSums } from './checksum.js';
import { encodeStream, InputStream } from './input-stream.js';
import type { LaneClock } from './lane.js';
import { sumArrow } from './lanes-arrow.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumObjects } from './object-sums.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import type { RowCheck } from './row-check.js';
import { batchesOf, INPUT_ROWS, keptColumns, keptRows } from './rows.js';
import { INSERT_TABLE, type TableClient, UNENDING, UNTIMED } from './table-cells.js';

const { tableFromIPC } = library;

const INT32_COLUMNS: ReadonlySet<string> = new Set(['id', 'sensor_id']);

/** The bytes of the mark at the end of an Arrow IPC stream. */
const END_BYTES = 8;

/** Inserts rows into a table. */
type Fill = (
  client: HyperdbClient,
  table: string,
  rows: number,
  clock: LaneClock,
  signal: AbortSignal,
) => Promise<void>;

/** The tables of the server. */
export function hyperdbTables(client: HyperdbClient): TableClient<string> {
  const { connection } = client;
  const fillNew = async (fill: Fill, table: string, ...rest: [number, LaneClock, AbortSignal]): Promise<string> => {
    await client.createTable(table);
    await fill(client, table, ...rest);
    return table;
  };
  return {
    load: ({ rows }) => fillNew(fillByArrow, `${matrix.table}_${rows}`, rows, UNTIMED, UNENDING),
    writer:
      ({ lane, rows }) =>
      (clock, signal) =>
        fillNew(FILLS[lane]!, INSERT_TABLE, rows, clock, signal),
    sums: (table) => readBack(connection, table),
    reader: (table, { workload, lane }) => {
      const sql = queryOf(workload, table);
      const { columns } = workloadEntry(workload);
      const { sum, check } = READERS[lane] ?? READERS['columnar']!;
      return {
        sum: (clock) => sum(connection, sql, columns, clock),
        check: (rows) => check(connection, sql, columns, rows),
      };
    },
    drop: (table) => client.dropTable(table),
  };
}

async function readBack(connection: HyperdbConnection, table: string): Promise<Checksum> {
  const [row] = await connection.executeQuery(sumsQuery(table));
  return checksumOfSums({
    row_count: row?.getInt64(0),
    id: row?.getString(1),
    sensor_id: row?.getString(2),
    value: row?.getFloat64(3),
    timestamp: row?.getString(4),
  });
}

async function fillByRows(...[client, table, rows, clock, signal]: Parameters<Fill>): Promise<void> {
  const memory = keptRows(Math.min(INPUT_ROWS, rows));
  clock.start();
  const inserter = client.rowInserter(table);
  for (const part of batchesOf({ start: 0, rows }, INPUT_ROWS)) {
    clock.stop();
    signal.throwIfAborted();
    const piece = memory.make(part);
    clock.start();
    inserter.addRows(piece);
  }
  await inserter.execute();
  clock.stop();
}

/** Inserts columns, which the binding takes as arrays of numbers. */
async function fillByColumns(...[client, table, rows, clock, signal]: Parameters<Fill>): Promise<void> {
  const memory = keptColumns(Math.min(INPUT_ROWS, rows));
  clock.start();
  const inserter = client.rowInserter(table);
  for (const part of batchesOf({ start: 0, rows }, INPUT_ROWS)) {
    clock.stop();
    signal.throwIfAborted();
    const { id, sensor_id, value, timestamp } = memory.make(part);
    const integers = { 0: Array.from(id), 1: Array.from(sensor_id) };
    const [floats, times] = [{ 2: Array.from(value) }, { 3: Array.from(timestamp, Number) }];
    clock.start();
    inserter.addColumnar(integers, floats, times, part.rows);
  }
  await inserter.execute();
  clock.stop();
}

/** The memory of the streams, which one execution leaves to the next. */
const streams = new InputStream();

/** Inserts the pieces of one Arrow IPC stream: the schema comes with the first piece, the mark of the end with the last. */
async function fillByArrow(...[client, table, rows, clock, signal]: Parameters<Fill>): Promise<void> {
  const memory = keptColumns(Math.min(INPUT_ROWS, rows));
  clock.start();
  const inserter = client.arrowInserter(table);
  try {
    for (const part of batchesOf({ start: 0, rows }, INPUT_ROWS)) {
      clock.stop();
      signal.throwIfAborted();
      const { buffer, byteOffset, byteLength } = streams.make(part);
      const bytes = Buffer.from(buffer, byteOffset, byteLength);
      const start = part.start === 0 ? 0 : schemaBytes(bytes);
      const isLast = part.start + part.rows === rows;
      const piece = bytes.subarray(start, isLast ? bytes.length : bytes.length - END_BYTES);
      clock.start();
      await inserter.insertRaw(piece);
    }
    await inserter.execute();
  } catch (error) {
    await inserter.cancel();
    throw error;
  }
  clock.stop();
  for (const part of batchesOf({ start: 0, rows }, INPUT_ROWS)) {
    signal.throwIfAborted();
    const columns = memory.make(part);
    clock.apart('encode', () => encodeStream(columns));
  }
}

/** The bytes of the first message of a stream: a mark, the length of the schema, and the schema. */
function schemaBytes(stream: Buffer): number {
  return 8 + stream.readInt32LE(4);
}

const FILLS: Readonly<Record<string, Fill>> = {
  row: fillByRows,
  columns: fillByColumns,
  'arrow-ipc': fillByArrow,
};

/** A way of reading a result. */
interface Reader {
  /** Sums the columns of a result, while the clock runs. */
  sum(connection: HyperdbConnection, sql: string, columns: readonly string[], clock: LaneClock): Promise<Checksum>;
  /** Hands the rows of a result to a check. */
  check(connection: HyperdbConnection, sql: string, columns: readonly string[], check: RowCheck): Promise<void>;
}

const READERS: Readonly<Record<string, Reader>> = {
  objects: {
    async sum(connection, sql, columns) {
      const rows = await connection.executeQuery(sql);
      return columns.includes('id')
        ? sumRows(rows, new MeasurementSums())
        : sumObjects(
            rows.map((row) => objectOf(row, columns)),
            columns,
          );
    },
    async check(connection, sql, columns, check) {
      check.addRows((await connection.executeQuery(sql)).map((row) => objectOf(row, columns)));
    },
  },
  chunks: {
    async sum(connection, sql) {
      const sums = new MeasurementSums();
      const stream = connection.executeQueryStream(sql);
      for (let rows = await stream.nextChunk(); rows !== null; rows = await stream.nextChunk()) sumRows(rows, sums);
      return sums.checksum;
    },
    async check(connection, sql, columns, check) {
      const stream = connection.executeQueryStream(sql);
      for (let rows = await stream.nextChunk(); rows !== null; rows = await stream.nextChunk()) {
        check.addRows(rows.map((row) => objectOf(row, columns)));
      }
    },
  },
  columnar: {
    async sum(connection, sql, columns) {
      const sums = new MeasurementSums();
      const groups: object[] = [];
      const stream = connection.executeQueryColumnar(sql);
      for (let chunk = await stream.nextChunk(); chunk !== null; chunk = await stream.nextChunk()) {
        if (columns.includes('id')) sumChunk(chunk, sums);
        else groups.push(...objectsOf(chunk, columns));
      }
      return columns.includes('id') ? sums.checksum : sumObjects(groups, columns);
    },
    async check(connection, sql, columns, check) {
      const stream = connection.executeQueryColumnar(sql);
      for (let chunk = await stream.nextChunk(); chunk !== null; chunk = await stream.nextChunk()) {
        check.addColumns(chunk.rowCount, columnsOf(chunk, columns));
      }
    },
  },
  'arrow-ipc': {
    async sum(connection, sql, columns, clock) {
      const bytes = await connection.executeQueryToArrow(sql);
      clock.stop();
      const table = clock.apart('decode', () => tableFromIPC(bytes, { useBigInt: true }));
      clock.start();
      return sumArrow(table, columns);
    },
    async check(connection, sql, columns, check) {
      const table = tableFromIPC(await connection.executeQueryToArrow(sql), { useBigInt: true });
      check.addColumns(
        table.numRows,
        columns.map((name) => table.getChild(name).toArray() as unknown[]),
      );
    },
  },
};

/** Adds rows to the sums, each value by a call of the binding. A null adds nothing, so that a sum is wrong. */
function sumRows(rows: readonly HyperdbRow[], sums: MeasurementSums): Checksum {
  for (let start = 0; start < rows.length; start += BLOCK_ROWS) {
    const end = Math.min(start + BLOCK_ROWS, rows.length);
    let [id, sensorId, value, timestamp] = [0, 0, 0, 0];
    for (let at = start; at < end; at += 1) {
      const row = rows[at] as HyperdbRow;
      id += row.getInt32(0)!;
      sensorId += row.getInt32(1)!;
      value += row.getFloat64(2)!;
      timestamp += row.getInt64(3)!;
    }
    sums.add(end - start, id, sensorId, value, BigInt(timestamp));
  }
  return sums.checksum;
}

/** Adds a chunk to the sums, each column by a call of the binding. */
function sumChunk(chunk: HyperdbChunk, sums: MeasurementSums): void {
  const [ids, sensorIds] = [chunk.getInt32Column(0), chunk.getInt32Column(1)];
  const [values, timestamps] = [chunk.getFloat64Column(2), chunk.getInt64Column(3)];
  for (let start = 0; start < chunk.rowCount; start += BLOCK_ROWS) {
    const end = Math.min(start + BLOCK_ROWS, chunk.rowCount);
    let [id, sensorId, value, timestamp] = [0, 0, 0, 0];
    for (let at = start; at < end; at += 1) {
      id += ids[at] as number;
      sensorId += sensorIds[at] as number;
      value += values[at] as number;
      timestamp += timestamps[at] as number;
    }
    sums.add(end - start, id, sensorId, value, BigInt(timestamp));
  }
}

function objectOf(row: HyperdbRow, columns: readonly string[]): object {
  return Object.fromEntries(
    columns.map((name, column) => {
      if (FLOAT_COLUMNS.has(name)) return [name, row.getFloat64(column)];
      return [name, INT32_COLUMNS.has(name) ? row.getInt32(column) : row.getInt64(column)];
    }),
  );
}

function columnsOf(chunk: HyperdbChunk, columns: readonly string[]): number[][] {
  return columns.map((name, column) => {
    if (FLOAT_COLUMNS.has(name)) return chunk.getFloat64Column(column);
    return INT32_COLUMNS.has(name) ? chunk.getInt32Column(column) : chunk.getInt64Column(column);
  });
}

function objectsOf(chunk: HyperdbChunk, columns: readonly string[]): object[] {
  const values = columnsOf(chunk, columns);
  return Array.from({ length: chunk.rowCount }, (_, at) =>
    Object.fromEntries(columns.map((name, column) => [name, values[column]![at]])),
  );
}
