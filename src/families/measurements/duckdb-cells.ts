/**
 * The `js` cells of `@duckdb/node-api`. Timed for an insert: from opening the appender to closing it, which publishes the rows,
 * without making the input. Timed for a query: from its start until its last value is consumed.
 */
import type * as Api from '@duckdb/node-api';

import type { Checksum } from '../../records/record.js';
import {
  type DuckDbColumn,
  type DuckDbInterface,
  type DuckDbPeer,
  type DuckDbWriter,
  library,
} from '../../clients/duckdb-node-api.js';
import { ColumnSums } from './checksum.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumResult } from './object-sums.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import { ColumnBatch, type RowRange, batchesOf, bigintRows } from './rows.js';
import { type Fill, INSERT_TABLE, type TableClient, UNENDING, UNTIMED } from './table-cells.js';

const { DuckDBBigIntVector, DuckDBDoubleVector, DuckDBIntegerVector } = library;

/** The rows made at once for the client: an array and a `bigint` per row, so fewer than elsewhere. */
const PIECE_ROWS = 16_384;

/** The tables of the database, by one of the client's interfaces. */
export function duckDbTables(peer: DuckDbPeer, client: DuckDbInterface): TableClient<string> {
  const { connection } = peer;
  const writer = (table: string, lane: string, rows: number): Fill<string> => {
    const memory = new ColumnBatch();
    return async (clock, signal) => {
      await peer.createTable(table);
      clock.start();
      const appender = await connection.createAppender(table);
      const write =
        lane === 'row'
          ? addPiece(client.writeRows(appender), bigintRows)
          : addPiece(client.writeColumns(appender), (part) => memory.make(part));
      for (const part of batchesOf({ start: 0, rows }, PIECE_ROWS)) {
        signal.throwIfAborted();
        clock.stop();
        const add = write.make(part);
        clock.start();
        add();
      }
      write.finish();
      clock.stop();
      return table;
    };
  };
  return {
    load: ({ rows }) => writer(`${matrix.table}_${rows}`, 'columns', rows)(UNTIMED, UNENDING),
    writer: ({ lane, rows }) => writer(INSERT_TABLE, lane, rows),
    sums: async (table) => checksumOfSums((await client.objects(connection, sumsQuery(table)))[0] ?? {}),
    reader: (table, { workload, lane }) => {
      const sql = queryOf(workload, table);
      const { columns } = workloadEntry(workload);
      if (lane === 'objects') {
        return {
          sum: async () => sumResult(await client.objects(connection, sql), columns),
          check: async (check) => check.addRows(await client.objects(connection, sql)),
        };
      }
      return {
        sum: () => sumChunks(client.columns(connection, sql), columns),
        check: async (check) => {
          for await (const chunk of client.columns(connection, sql)) {
            check.addColumns(lengthOf(chunk[0]!), chunk.map(valuesOf));
          }
        },
      };
    },
    drop: (table) => peer.dropTable(table),
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

async function sumChunks(chunks: AsyncIterable<readonly DuckDbColumn[]>, names: readonly string[]): Promise<Checksum> {
  const sums = new ColumnSums(names);
  for await (const columns of chunks) {
    sums.addRows(lengthOf(columns[0]!));
    columns.forEach((column, position) => sums.addSum(position, sumColumn(column)));
  }
  return sums.checksum;
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
