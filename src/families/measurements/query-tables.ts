/** The tables that queries read, made through the addon. */
import { UNSUPPORTED, toBoundaryError } from '../../errors.js';
import { type Connection, engineOf } from '../../library/engine/connection.js';
import { matrix } from './matrix.js';
import { measurementsTable } from './lane.js';
import { columns } from './lanes-in.js';
import { type RowRange, splitRows } from './rows.js';

/** Tables with their shares of the rows: one with this name, or `table_0`, `table_1`, ... */
export interface TableShares {
  readonly table: string;
  readonly rows: number;
  readonly workers: number;
}

/** Makes and fills tables. Existing ones are replaced. A server that takes no rows makes them by itself. */
export async function loadTables(connection: Connection, { table, rows, workers }: TableShares): Promise<void> {
  const names = tableNames(table, workers);
  for (const [worker, range] of splitRows(rows, workers).entries()) {
    await connection.createTable(measurementsTable(names[worker]!), { mode: 'replace' });
    await fill(connection, names[worker]!, range);
  }
}

/** Drops the tables of `loadTables`. */
export async function unloadTables(connection: Connection, { table, workers }: TableShares): Promise<void> {
  await dropTables(connection, tableNames(table, workers));
}

async function fill(connection: Connection, table: string, range: RowRange): Promise<void> {
  const untimed = { start: () => {}, stop: () => {}, apart: <T>(_: unknown, execute: () => T): T => execute() };
  const workload = 'insert.bulk';
  const insert = columns(connection, { workload, lane: 'columns', table, range, readAhead: false });
  try {
    await insert(untimed, new AbortController().signal);
  } catch (refusal) {
    const command = isUnsupported(refusal) ? commandToFill(connection, table, range) : undefined;
    if (command === undefined) throw refusal;
    await connection.execute(command);
  }
}

function isUnsupported(error: unknown): boolean {
  return toBoundaryError(error).code === UNSUPPORTED;
}

/** The command with which a server makes the rows of a range, by their closed form. `undefined` for an engine that takes rows. */
function commandToFill(connection: Connection, table: string, { start, rows }: RowRange): string | undefined {
  const { sensors, valueStep, timestampStart, timestampStep } = matrix;
  const numbers = engineOf(connection).numbers(start, start + rows);
  if (numbers === null) return undefined;
  // The step has an exponent, without which a server may take it for a decimal, whose products differ in their last bits.
  const value = `i * ${valueStep.toExponential()}`;
  const columnsOf = `CAST(i AS INTEGER), CAST(i % ${sensors} AS INTEGER), ${value}, ${timestampStart} + i * ${timestampStep}`;
  return `INSERT INTO ${table} SELECT ${columnsOf} FROM ${numbers}`;
}

/** The names of the workers' tables, as in the native suite: the name itself for one worker, else `name_0`, `name_1`, ... */
export function tableNames(name: string, workers: number): string[] {
  return workers === 1 ? [name] : Array.from({ length: workers }, (_, worker) => `${name}_${worker}`);
}

/** Creates empty tables of measurements, dropping tables with their names. */
export async function createTables(connection: Connection, names: readonly string[]): Promise<void> {
  for (const name of names) await connection.createTable(measurementsTable(name), { mode: 'replace' });
}

/** Runs work on empty tables of measurements with these names, and drops them afterwards, even if the work fails. */
export async function inNewTables<T>(
  connection: Connection,
  names: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  await createTables(connection, names);
  try {
    return await work();
  } finally {
    await dropTables(connection, names);
  }
}

export async function dropTables(connection: Connection, names: readonly string[]): Promise<void> {
  for (const name of names) await connection.dropTable(name);
}
