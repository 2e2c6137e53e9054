/**
 * The `js` cells of DuckDB's clients from npm. An insert is one transaction: it adds all rows or none, as ours does,
 * and is as fast as without one or faster. Timed for an insert: from opening the appender to the commit, without making
 * the input. Timed for a query: from its start until its last value is consumed.
 */
import type { DuckDbClient, DuckDbColumn, DuckDbWriter } from '../../clients/duckdb-client.js';
import type { Checksum } from '../../records/record.js';
import {
  type CellOpener,
  type Fill,
  INSERT_TABLE,
  type TableClient,
  UNENDING,
  UNTIMED,
  tablePlace,
} from './table-cells.js';
import { ColumnSums, type ColumnValues, hasTexts, sumTexts } from './checksum.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumResult } from './object-sums.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import { ColumnBatch, type RowRange, batchesOf } from './rows.js';

/** The rows made at once for a client: so few that they are in the cache when they are added. */
export const PIECE_ROWS = 4_096;

/** Makes the rows of a range in a client's form. */
type MakeRows<Row> = (part: RowRange) => readonly Row[];

/** The place of a client's cells. */
export function duckDbPlace<Row>(client: DuckDbClient<Row>, makeRows: MakeRows<Row>): CellOpener {
  return tablePlace(client.versions, duckDbTables(client, makeRows), async () => client.close());
}

/** The command that makes an empty table of measurements, instead of one of its name. */
export function createSql(table: string): string {
  return `CREATE OR REPLACE TABLE ${table} (id INT NOT NULL, sensor_id INT, value DOUBLE, timestamp BIGINT)`;
}

function duckDbTables<Row>(client: DuckDbClient<Row>, makeRows: MakeRows<Row>): TableClient<string> {
  const writer = (table: string, lane: string, rows: number): Fill<string> => {
    const memory = new ColumnBatch();
    return async (clock, signal) => {
      await client.run(createSql(table));
      clock.start();
      await client.run('BEGIN');
      const write =
        lane === 'row'
          ? addPiece(await client.writeRows(table), makeRows)
          : addPiece(await client.writeColumns(table), (part) => memory.make(part));
      for (const part of batchesOf({ start: 0, rows }, PIECE_ROWS)) {
        signal.throwIfAborted();
        clock.stop();
        const add = write.make(part);
        clock.start();
        add();
      }
      write.finish();
      await client.run('COMMIT');
      clock.stop();
      return table;
    };
  };
  return {
    load: ({ rows }) => writer(`${matrix.table}_${rows}`, 'columns', rows)(UNTIMED, UNENDING),
    writer: ({ lane, rows }) => writer(INSERT_TABLE, lane, rows),
    sums: async (table) => checksumOfSums((await client.objects(sumsQuery(table)))[0] ?? {}),
    reader: (table, { workload, lane }) => {
      const sql = queryOf(workload, table);
      const { columns } = workloadEntry(workload);
      if (lane === 'objects') {
        return {
          sum: async () => sumResult(await client.objects(sql), columns),
          check: async (check) => check.addRows(await client.objects(sql)),
        };
      }
      return {
        sum: () => sumChunks(client.columns(sql), columns),
        check: async (check) => {
          for await (const chunk of client.columns(sql)) check.addColumns(chunk[0]!.length, chunk);
        },
      };
    },
    drop: async (table) => {
      await client.run(`DROP TABLE ${table}`);
    },
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
  const areTexts = hasTexts(names);
  for await (const columns of chunks) {
    sums.addRows(columns[0]!.length);
    columns.forEach((column, position) => {
      if (ArrayBuffer.isView(column)) sums.addColumn(position, column as ColumnValues);
      else if (areTexts) sums.addSum(position, sumTexts(column as readonly string[]));
      else sums.addSum(position, typeof column[0] === 'bigint' ? sumBigInts(column) : sumNumbers(column));
    });
  }
  return sums.checksum;
}

// The sums of one column's values, exact for up to 4 Mi ints. The loops are separate, so that each is compiled for one kind of values.

function sumNumbers(values: readonly unknown[]): number {
  let sum = 0;
  for (const value of values) sum += value as number;
  return sum;
}

function sumBigInts(values: readonly unknown[]): bigint {
  let sum = 0n;
  for (const value of values) sum += value as bigint;
  return sum;
}
