/**
 * The `js` cells of `mysql2` on the server of the engine `mysql`. Timed for an insert: from the begin of the transaction to its
 * commit, without making the rows; for a query: from its start until its last value is consumed.
 */
import { SqlClient } from '../../library/sql/sql-client.js';
import type { Cell, Checksum } from '../../records/record.js';
import type { MeasurementObject } from '../../clients/measurement-table.js';
import { mysql2 } from '../../clients/mysql2.js';
import type { SqlTargetConnection } from '../../clients/sql-target.js';
import type { OpenCell } from '../workload.js';
import { expectedOf } from './closed-forms.js';
import type { TableSize } from './column-table-cells.js';
import { LoadedTables } from './loaded-tables.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumMeasurementObjects, sumObjects } from './object-sums.js';
import type { Place } from './place.js';
import { checksumOfSums, sumsQuery } from './read-back.js';
import { BATCH_ROWS, batchesOf, RowBatch, type RowRange } from './rows.js';

/** The names of this client's tables, beside those of the engine in the same database. */
const TABLE = `${matrix.table}_js`;
const INSERT_TABLE = `${TABLE}_insert`;

const COLUMNS = ['id', 'sensor_id', 'value', 'timestamp'];

/** The rows of one statement; more gain nothing. */
const STATEMENT_ROWS = 10_000;

/** Opens the place of these cells: the database of a URL. `isPrepared`: queries are prepared statements. */
export async function openMysql2Place(url: string, { isPrepared = false } = {}): Promise<Place> {
  const client = await SqlClient.connect(url, { connections: 1, int64: 'number' });
  let connection: SqlTargetConnection;
  try {
    connection = await mysql2.connect(url, undefined);
  } catch (error) {
    await client.close();
    throw error;
  }
  const tables = new LoadedTables<TableSize, string>({
    load: (size) => load(client, size),
    unload: async (_size, table) => void (await client.query(`DROP TABLE IF EXISTS ${table}`)),
  });
  return {
    versions: { mysql2: mysql2.version() },
    openCell: (cell) => openCell({ client, connection, tables, isPrepared }, cell),
    unloadIdle: () => tables.unloadIdle(),
    close: async () => {
      try {
        await tables.unloadAll();
      } finally {
        await connection.close();
        await client.close();
      }
    },
  };
}

interface Mysql2Place {
  /** Our client, for untimed work. */
  readonly client: SqlClient;
  readonly connection: SqlTargetConnection;
  readonly tables: LoadedTables<TableSize, string>;
  readonly isPrepared: boolean;
}

async function createTable(client: SqlClient, table: string): Promise<void> {
  await client.query(`DROP TABLE IF EXISTS ${table}`);
  await client.query(`CREATE TABLE ${table} (id INT NOT NULL, sensor_id INT, value DOUBLE, timestamp BIGINT)`);
}

async function load(client: SqlClient, { rows }: TableSize): Promise<string> {
  const table = `${TABLE}_${rows}`;
  await createTable(client, table);
  const memory = new RowBatch(Math.min(BATCH_ROWS, rows));
  for (const part of batchesOf({ start: 0, rows })) await client.insertRows(table, COLUMNS, memory.make(part));
  return table;
}

async function openCell(place: Mysql2Place, { workload, rows }: Cell): Promise<OpenCell> {
  const range = { start: 0, rows };
  const expected = expectedOf(workload, [range]);
  const { direction, columns } = workloadEntry(workload);
  if (direction === 'in') return openWriter(place, range, expected);
  const { table, release } = await place.tables.acquire({ rows });
  const sql = queryOf(workload, table);
  const parameters = place.isPrepared ? [] : undefined;
  return {
    expected,
    sample: async (stopwatch) => {
      stopwatch.start();
      const { rows: objects = [] } = await place.connection.request({ sql, parameters });
      const checksum = columns.includes('id')
        ? sumMeasurementObjects(objects as unknown as MeasurementObject[])
        : sumObjects(objects, columns);
      stopwatch.stop();
      return checksum;
    },
    close: release,
  };
}

function openWriter({ client, connection }: Mysql2Place, range: RowRange, expected: Checksum): OpenCell {
  const memory = new RowBatch(Math.min(BATCH_ROWS, range.rows));
  const run = (sql: string): Promise<unknown> => connection.request({ sql, parameters: undefined });
  return {
    expected,
    sample: async (stopwatch, signal) => {
      await createTable(client, INSERT_TABLE);
      stopwatch.start();
      await run('BEGIN');
      for (const part of batchesOf(range)) {
        stopwatch.stop();
        if (signal.aborted) await run('ROLLBACK');
        signal.throwIfAborted();
        const rows = memory.make(part);
        stopwatch.start();
        for (let start = 0; start < rows.length; start += STATEMENT_ROWS) {
          await connection.insertRows(INSERT_TABLE, COLUMNS, rows.slice(start, start + STATEMENT_ROWS));
        }
      }
      await run('COMMIT');
      stopwatch.stop();
      const [sums] = (await client.query(sumsQuery(INSERT_TABLE, matrix.engines['mysql']))).rows();
      await client.query(`DROP TABLE ${INSERT_TABLE}`);
      return checksumOfSums(sums ?? {});
    },
    close: async () => {},
  };
}
