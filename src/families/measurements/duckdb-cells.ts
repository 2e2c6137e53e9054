/**
 * The `js` cells of `@duckdb/node-api`. Timed for an insert: from opening the appender to closing it, which publishes the rows,
 * without making the input; for a query: from its start until its last value is consumed.
 */
import type * as Api from '@duckdb/node-api';

import type { Cell, Checksum } from '../../records/record.js';
import {
  type DuckDbColumn,
  type DuckDbInterface,
  type DuckDbPeer,
  type DuckDbWriter,
  library,
} from '../../clients/duckdb-node-api.js';
import type { MeasurementObject } from '../../clients/measurement-table.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { FLOAT_COLUMNS } from './checksum.js';
import { expectedOf } from './closed-forms.js';
import type { TableSize } from './column-table-cells.js';
import type { LoadedTables } from './loaded-tables.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumMeasurementObjects, sumObjects } from './object-sums.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import { rowCheckOf } from './row-check.js';
import { ColumnBatch, type RowRange, batchesOf, bigintRows } from './rows.js';

const { DuckDBBigIntVector, DuckDBDoubleVector, DuckDBIntegerVector } = library;

const INSERT_TABLE = `${matrix.table}_insert`;

/** The rows made at once for the client: an array and a `bigint` per row, so fewer than elsewhere. */
const PIECE_ROWS = 16_384;

/** Creates the table that queries of so many rows read, untimed; resolves to its name. */
export async function loadDuckDbTable(peer: DuckDbPeer, client: DuckDbInterface, { rows }: TableSize): Promise<string> {
  const table = `${matrix.table}_${rows}`;
  await peer.createTable(table);
  const writer = client.writeColumns(await peer.connection.createAppender(table));
  const memory = new ColumnBatch();
  for (const part of batchesOf({ start: 0, rows })) writer.add(memory.make(part));
  writer.finish();
  return table;
}

/** Opens a cell of one of the client's interfaces. */
export async function openDuckDbCell(
  peer: DuckDbPeer,
  client: DuckDbInterface,
  tables: LoadedTables<TableSize, string>,
  { workload, lane, rows }: Cell,
): Promise<OpenCell> {
  const range = { start: 0, rows };
  const expected = expectedOf(workload, [range]);
  if (workloadEntry(workload).direction === 'in') return openWriter(peer, client, lane, range, expected);
  const { table, release } = await tables.acquire({ rows });
  const sql = queryOf(workload, table);
  const { columns } = workloadEntry(workload);
  const read = lane === 'objects' ? readObjects : readColumns;
  return {
    expected,
    sample: async (stopwatch) => {
      stopwatch.start();
      const checksum = await read(peer, client, sql, columns);
      stopwatch.stop();
      return checksum;
    },
    verify: async () => {
      const check = rowCheckOf(workload, range);
      if (lane === 'objects') check.addRows(await client.objects(peer.connection, sql));
      else {
        for await (const chunk of client.columns(peer.connection, sql)) {
          check.addColumns(lengthOf(chunk[0]!), chunk.map(valuesOf));
        }
      }
      check.finish();
    },
    close: release,
  };
}

function openWriter(
  peer: DuckDbPeer,
  client: DuckDbInterface,
  lane: string,
  range: RowRange,
  expected: Checksum,
): OpenCell {
  const memory = new ColumnBatch();
  const fill = async (stopwatch: Stopwatch, signal: AbortSignal): Promise<void> => {
    await peer.createTable(INSERT_TABLE);
    stopwatch.start();
    const appender = await peer.connection.createAppender(INSERT_TABLE);
    const write =
      lane === 'row'
        ? addPiece(client.writeRows(appender), bigintRows)
        : addPiece(client.writeColumns(appender), (part) => memory.make(part));
    for (const part of batchesOf(range, PIECE_ROWS)) {
      signal.throwIfAborted();
      stopwatch.stop();
      const add = write.make(part);
      stopwatch.start();
      add();
    }
    write.finish();
    stopwatch.stop();
  };
  return {
    expected,
    sample: async (stopwatch, signal) => {
      await fill(stopwatch, signal);
      const [sums] = await client.objects(peer.connection, sumsQuery(INSERT_TABLE));
      await peer.dropTable(INSERT_TABLE);
      return checksumOfSums(sums ?? {});
    },
    verify: async (stopwatch, signal) => {
      await fill(stopwatch, signal);
      const check = rowCheckOf('insert.bulk', range);
      check.addRows(await client.objects(peer.connection, queryOf('query.full_scan', INSERT_TABLE)));
      await peer.dropTable(INSERT_TABLE);
      check.finish();
    },
    close: async () => {},
  };
}

/** Pairs a writer with the maker of its input: `make` is not timed, the function it returns is. */
function addPiece<Piece>(writer: DuckDbWriter<Piece>, make: (part: RowRange) => Piece) {
  return {
    make: (part: RowRange): (() => void) => {
      const piece = make(part);
      return () => writer.add(piece);
    },
    finish: (): void => writer.finish(),
  };
}

async function readObjects(
  { connection }: DuckDbPeer,
  client: DuckDbInterface,
  sql: string,
  columns: readonly string[],
): Promise<Checksum> {
  const objects = await client.objects(connection, sql);
  return columns.includes('id')
    ? sumMeasurementObjects(objects as unknown as MeasurementObject[])
    : sumObjects(objects, columns);
}

async function readColumns(
  { connection }: DuckDbPeer,
  client: DuckDbInterface,
  sql: string,
  names: readonly string[],
): Promise<Checksum> {
  const integers = names.map(() => 0n);
  const floats = names.map(() => 0);
  let rows = 0;
  for await (const columns of client.columns(connection, sql)) {
    columns.forEach((column, position) => {
      if (position === 0) rows += lengthOf(column);
      const sum = sumColumn(column);
      if (typeof sum === 'bigint') integers[position] = (integers[position] ?? 0n) + sum;
      else if (FLOAT_COLUMNS.has(names[position] ?? '')) floats[position] = (floats[position] ?? 0) + sum;
      else integers[position] = (integers[position] ?? 0n) + BigInt(sum);
    });
  }
  const sums = names.map((name, position): [string, string | number] => [
    name,
    FLOAT_COLUMNS.has(name) ? (floats[position] ?? 0) : `${integers[position] ?? 0n}`,
  ]);
  return { rows, sums: Object.fromEntries(sums) };
}

function lengthOf(column: DuckDbColumn): number {
  return 'itemCount' in column ? column.itemCount : column.length;
}

/** The values of a column as an array. */
function valuesOf(column: DuckDbColumn): readonly unknown[] {
  return 'itemCount' in column ? column.toArray() : column;
}

// The sum of one column's values, exact for up to 4 Mi ints. The loops are separate, so that each is compiled for one kind of
// values.

function sumColumn(column: DuckDbColumn): number | bigint {
  if (column instanceof DuckDBIntegerVector) return sumIntegers(column);
  if (column instanceof DuckDBDoubleVector) return sumDoubles(column);
  if (column instanceof DuckDBBigIntVector) return sumBigInts(column);
  return typeof column[0] === 'bigint' ? sumBigIntValues(column as bigint[]) : sumValues(column as number[]);
}

function sumIntegers(vector: Api.DuckDBIntegerVector): number {
  let sum = 0;
  for (let at = 0; at < vector.itemCount; at += 1) sum += vector.getItem(at) as number;
  return sum;
}

function sumDoubles(vector: Api.DuckDBDoubleVector): number {
  let sum = 0;
  for (let at = 0; at < vector.itemCount; at += 1) sum += vector.getItem(at) as number;
  return sum;
}

function sumBigInts(vector: Api.DuckDBBigIntVector): bigint {
  let sum = 0n;
  for (let at = 0; at < vector.itemCount; at += 1) sum += vector.getItem(at) as bigint;
  return sum;
}

function sumValues(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

function sumBigIntValues(values: readonly bigint[]): bigint {
  let sum = 0n;
  for (const value of values) sum += value;
  return sum;
}
