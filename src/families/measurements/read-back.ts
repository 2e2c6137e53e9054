import type { Checksum } from '../../records/record.js';
import type { Connection } from '../../library/engine/connection.js';
import { ColumnSums, type ColumnValues, mergeChecksums } from './checksum.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';

/** The checksum of the rows in these tables, untimed: computed by the engine if it runs SQL, else by a scan. */
export async function readBack(connection: Connection, tables: readonly string[]): Promise<Checksum> {
  const { columns } = workloadEntry('insert.bulk');
  const read = connection.engine.sql ? summedByEngine : scanned;
  const parts: Checksum[] = [];
  for (const table of tables) parts.push(await read(connection, table, columns));
  return mergeChecksums(parts, columns);
}

/** The query by which the engine sums the columns of a table. */
export function sumsQuery(table: string, { textType = 'VARCHAR', doubleType = 'DOUBLE PRECISION' } = {}): string {
  // Sums of 64-bit integers need more than 64 bits, which hyperd's sums lack without a cast; as text they arrive complete.
  const whole = (column: string, what = column): string =>
    `CAST(coalesce(sum(${what}), 0) AS ${textType}) AS ${column}`;
  return `SELECT count(*) AS row_count, ${whole('id')}, ${whole('sensor_id')},
    CAST(coalesce(sum(value), 0) AS ${doubleType}) AS value,
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
  const [row] = await connection.executeQuery(sumsQuery(table, matrix.engines[connection.engine.name]));
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
