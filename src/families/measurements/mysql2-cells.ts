/**
 * The `js` cells of `mysql2` on the server of the engine `mysql`. Timed for an insert: from the begin of the transaction to its
 * commit, without making the rows. Timed for a query: from its start until its last value is consumed.
 */
import type { Checksum, RowCell } from '../../records/record.js';
import { mysql2 } from '../../clients/mysql2.js';
import { optionalVersion } from '../../clients/optional-package.js';
import type { JsSqlConnection } from '../../clients/js-sql-client.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { type AddonEngine, queryTables } from './addon-cells.js';
import { expectedOf } from './closed-forms.js';
import type { ConnectedEngine } from './connected-engine.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumResult } from './object-sums.js';
import { type CellOpener, readerCell } from './table-cells.js';
import { readBack } from './read-back.js';
import { BATCH_ROWS, batchesOf, RowBatch, type RowRange } from './rows.js';
import { inNewTables } from './query-tables.js';
import { verifyTable } from './verify-lane.js';

/** The table of all inserts of this client. */
const INSERT_TABLE = `${matrix.table}_js_insert`;

const COLUMNS = ['id', 'sensor_id', 'value', 'timestamp'];

/** The rows of one statement. More gain nothing. */
const STATEMENT_ROWS = 10_000;

/** Opens the place of these cells: the database of a URL, with the tables of the engine. `isPrepared`: queries are prepared statements. */
export async function openMysql2Place(
  url: string,
  engine: ConnectedEngine,
  { isPrepared = false } = {},
): Promise<CellOpener> {
  const connection = await mysql2.connect(url, undefined);
  return {
    versions: { mysql2: optionalVersion('mysql2') },
    openCell: async (cell) => openCell({ engine: await engine.over(undefined), connection, isPrepared }, cell),
    close: async () => {
      await connection.close();
      await engine.close();
    },
  };
}

interface Mysql2Place {
  /** The same server by the addon, for untimed work. */
  readonly engine: AddonEngine;
  readonly connection: JsSqlConnection;
  readonly isPrepared: boolean;
}

async function openCell(place: Mysql2Place, cell: RowCell): Promise<OpenCell> {
  const { workload, rows } = cell;
  const { direction, columns } = workloadEntry(workload);
  if (direction === 'in') return openWriter(place, { start: 0, rows }, expectedOf(workload, [{ start: 0, rows }]));
  const lease = await place.engine.tables.acquire(queryTables(rows, 1));
  const sql = queryOf(workload, lease.table.table);
  const parameters = place.isPrepared ? [] : undefined;
  const objects = async (): Promise<readonly object[]> =>
    ((await place.connection.request({ sql, parameters })).rows ?? []) as readonly object[];
  return readerCell(lease, cell, {
    sum: async () => sumResult(await objects(), columns),
    check: async (check) => check.addRows(await objects()),
  });
}

function openWriter({ engine, connection }: Mysql2Place, range: RowRange, expected: Checksum): OpenCell {
  const memory = new RowBatch(Math.min(BATCH_ROWS, range.rows));
  const run = (sql: string): Promise<unknown> => connection.request({ sql, parameters: undefined });
  const fill = async (stopwatch: Stopwatch, signal: AbortSignal): Promise<void> => {
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
  };
  return {
    expected,
    sample: (stopwatch, signal) =>
      inNewTables(engine.connection, [INSERT_TABLE], async () => {
        await fill(stopwatch, signal);
        return readBack(engine.connection, [INSERT_TABLE]);
      }),
    verify: (stopwatch, signal) =>
      inNewTables(engine.connection, [INSERT_TABLE], async () => {
        await fill(stopwatch, signal);
        await verifyTable(engine.connection, { table: INSERT_TABLE, range });
      }),
    close: async () => {},
  };
}
