import type { Connection } from '../../library/engine/connection.js';
import { measurementsTable } from './lane.js';

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
