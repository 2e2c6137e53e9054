/** The cells of the `napi` side. */
import type { Connection } from '../../library/engine/connection.js';
import type { Checksum, RowCell } from '../../records/record.js';
import type { OpenCell } from '../workload.js';
import { mergeChecksums } from './checksum.js';
import { expectedOf } from './closed-forms.js';
import type { LaneRun, LaneTask } from './lane.js';
import { LaneWorkers } from './lane-workers.js';
import { prepareLane } from './lanes.js';
import { LoadedTables } from './table-cells.js';
import { matrix, workloadEntry } from './matrix.js';
import { type TableShares, loadTables, unloadTables, inNewTables, tableNames } from './query-tables.js';
import { readBack } from './read-back.js';
import { splitRows } from './rows.js';
import { verifyReader, verifyTable } from './verify-lane.js';

/** The tables that the queries of an engine read. */
export type QueryTables = LoadedTables<TableShares, TableShares>;

/** The engine of a cell, with the tables that its queries read. */
export interface AddonEngine {
  readonly connection: Connection;
  readonly tables: QueryTables;
  /** The most rows of a batch of a query, if the lane is `columnar`; absent: the default of queries. */
  readonly batchRows?: number;
}

/** The tables of an engine, loaded through this connection. Tables that are shared are loaded if they are missing, and kept. */
export function queryTablesOf(connection: Connection, isShared: boolean): QueryTables {
  return new LoadedTables<TableShares, TableShares>({
    load: async (key) => {
      if (!isShared || !(await areLoaded(connection, key))) await loadTables(connection, key);
      return key;
    },
    unload: async (key) => {
      if (!isShared) await unloadTables(connection, key);
    },
  });
}

/** Whether the tables are there with all their rows: a process may have ended while it loaded them. */
async function areLoaded(connection: Connection, { table, rows, workers }: TableShares): Promise<boolean> {
  try {
    return (await readBack(connection, tableNames(table, workers))).rows === rows;
  } catch {
    // A table is missing.
    return false;
  }
}

/** Opens a cell of the `napi` side. */
export async function openNapiCell(engine: AddonEngine, cell: RowCell): Promise<OpenCell> {
  const { direction } = workloadEntry(cell.workload);
  return direction === 'in' ? openWriter(engine, cell) : openReader(engine, cell);
}

async function openWriter({ connection }: AddonEngine, cell: RowCell): Promise<OpenCell> {
  const workers = cell.workers ?? 1;
  const names = tableNames(INSERT_TABLE, workers);
  const tasks = tasksOf(cell, names);
  const team = await openTeam(connection, tasks);
  return {
    expected: expectedOf(cell.workload, splitRows(cell.rows, workers)),
    sample: (stopwatch, signal) =>
      inNewTables(connection, names, async () => {
        await team.run(stopwatch, signal);
        return readBack(connection, names);
      }),
    verify: (stopwatch, signal) =>
      inNewTables(connection, names, async () => {
        await team.run(stopwatch, signal);
        for (const task of tasks) await verifyTable(connection, task);
      }),
    close: () => team.close(),
  };
}

async function openReader({ connection, tables, batchRows }: AddonEngine, cell: RowCell): Promise<OpenCell> {
  const workers = cell.workers ?? 1;
  const lease = await tables.acquire(queryTables(cell.rows, workers));
  try {
    const tasks = tasksOf(cell, tableNames(lease.table.table, workers), batchRows);
    const team = await openTeam(connection, tasks);
    return {
      expected: expectedOf(cell.workload, splitRows(cell.rows, workers)),
      sample: async (stopwatch, signal) =>
        mergeChecksums(await team.run(stopwatch, signal), workloadEntry(cell.workload).columns),
      verify: async () => {
        for (const task of tasks) await verifyReader(connection, task);
      },
      close: async () => {
        await team.close();
        await lease.release();
      },
    };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** The threads that do the work of a cell: this one, or several workers. */
interface Team {
  /** Executes the work once, timed. Resolves to the checksums of the rows read by lanes out. */
  run(...args: Parameters<OpenCell['sample']>): Promise<readonly Checksum[]>;
  close(): Promise<void>;
}

/** The tasks of a cell, one for each table. */
function tasksOf({ workload, lane, engine, rows }: RowCell, names: readonly string[], batchRows?: number): LaneTask[] {
  const ranges = splitRows(rows, names.length);
  // Several workers leave no core to an engine of this process that would run ahead of them.
  const readAhead = names.length === 1 || matrix.engines[engine]?.server !== undefined;
  const shared = { workload, lane, readAhead, ...(batchRows !== undefined && { batchRows }) };
  return names.map((table, worker) => ({ ...shared, table, range: ranges[worker]! }));
}

async function openTeam(connection: Connection, tasks: readonly LaneTask[]): Promise<Team> {
  const [only, ...others] = tasks;
  if (only === undefined) throw new Error('a cell has at least one worker');
  return others.length === 0 ? thisThread(await prepareLane(connection, only)) : await workerThreads(connection, tasks);
}

function thisThread(run: LaneRun): Team {
  return {
    run: async (stopwatch, signal) => {
      const checksum = await run(stopwatch, signal);
      return checksum === undefined ? [] : [checksum];
    },
    close: async () => {},
  };
}

async function workerThreads(connection: Connection, tasks: readonly LaneTask[]): Promise<Team> {
  const workers = await LaneWorkers.start(connection, tasks);
  return {
    run: async (stopwatch, signal) => {
      const { timing, checksums } = await workers.run(signal);
      stopwatch.add(timing);
      return checksums;
    },
    close: () => workers.close(),
  };
}

/** The table name of all inserts: the samples of a run follow one another, and each drops its tables. */
export const INSERT_TABLE = `${matrix.table}_insert`;

/** The tables of a query. Lanes with fewer rows have tables of their own. */
export function queryTables(rows: number, workers: number): TableShares {
  return { table: `${matrix.table}_${rows}`, rows, workers };
}
