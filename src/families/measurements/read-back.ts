import type { Checksum } from '../../records/record.js';
import type { Connection } from '../../library/engine/connection.js';
import { ColumnSums, type ColumnValues, mergeChecksums } from './checksum.js';
import { queryOf, workloadEntry } from './matrix.js';

/** The checksum of the rows in these tables, untimed: computed by the engine if it runs SQL, else by a scan. */
export async function readBack(connection: Connection, tables: readonly string[]): Promise<Checksum> {
  const { columns } = workloadEntry('insert.bulk');
  const read = connection.engine.sql ? summedByEngine : scanned;
  const parts: Checksum[] = [];
  for (const table of tables) parts.push(await read(connection, table, columns));
  return mergeChecksums(parts, columns);
}

/**
 * The query by which a database sums the columns of a table. Sums of 64-bit integers need more than 64 bits, which hyperd's sums
 * lack without a cast. They arrive complete as text, or as `decimal`s, whose type has one name on all servers.
 */
export function sumsQuery(table: string, sums: 'text' | 'decimal' = 'text'): string {
  const whole = (column: string, what = column): string =>
    `CAST(coalesce(sum(${what}), 0) AS ${sums === 'text' ? 'VARCHAR' : 'DECIMAL(38, 0)'}) AS ${column}`;
  const value = 'coalesce(sum(value), 0)';
  return `SELECT count(*) AS row_count, ${whole('id')}, ${whole('sensor_id')},
    ${sums === 'text' ? `CAST(${value} AS DOUBLE PRECISION)` : value} AS value,
    ${whole('timestamp', 'CAST(timestamp AS DECIMAL(38, 0))')} FROM ${table}`;
}

/** The checksum in the only row of `sumsQuery`. */
export function checksumOfSums(row: Readonly<Record<string, unknown>>): Checksum {
  const { row_count: rows, id, sensor_id, value, timestamp } = row;
  return {
    rows: Number(rows),
    sums: { id: String(id), sensor_id: String(sensor_id), value: Number(value), timestamp: String(timestamp) },
  };
}

async function summedByEngine(connection: Connection, table: string): Promise<Checksum> {
  const [row] = await connection.executeQuery(sumsQuery(table, 'decimal'));
  return checksumOfSums(row as Record<string, unknown>);
}

async function scanned(connection: Connection, table: string, columns: readonly string[]): Promise<Checksum> {
  const sums = new ColumnSums(columns);
  for await (const chunk of connection.executeQueryColumnar(queryOf('query.full_scan', table))) {
    sums.addRows(chunk.rowCount);
    columns.forEach((name, position) => sums.addColumn(position, chunk.column(name) as ColumnValues));
    chunk.release();
  }
  return sums.checksum;
}
