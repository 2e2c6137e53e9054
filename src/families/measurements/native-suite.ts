import { engineOf, type Connection } from '../../library/engine/connection.js';
import { toBoundaryError } from '../../errors.js';
import type { Checksum } from '../../records/record.js';
import type { NativeTiming } from '../workload.js';

/** The tables of a cell: one of this name, or `table_0`, `table_1`, ... with their share of the rows. */
export interface NativeTables {
  readonly table: string;
  readonly rows: number;
  readonly workers: number;
}

/** A cell of the `rust` side. */
export interface NativeSpec extends NativeTables {
  readonly workload: string;
  readonly lane: string;
  readonly flavor: string;
  /** The client library of the lane, where it does not go through the engine. */
  readonly target?: string;
  /** Of a query: the most rows of a batch; 65536 where it is absent. */
  readonly batchRows?: number;
}

/** One execution of it. */
export interface NativeSample extends NativeTiming {
  readonly checksum: Checksum;
}

/** Executes a cell once in Rust, on a thread of its own while the event loop idles. */
export async function runNative(connection: Connection, spec: NativeSpec): Promise<NativeSample> {
  return JSON.parse(await call(() => engineOf(connection).runNative(JSON.stringify(spec)))) as NativeSample;
}

/** Makes the tables that queries read, for all sides: Rust is the fastest to do it. */
export async function loadTables(connection: Connection, tables: NativeTables): Promise<void> {
  await call(() => engineOf(connection).loadNative(JSON.stringify(tables)));
}

/** Drops the tables of `loadTables`. */
export async function unloadTables(connection: Connection, tables: NativeTables): Promise<void> {
  await call(() => engineOf(connection).unloadNative(JSON.stringify(tables)));
}

async function call<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toBoundaryError(error);
  }
}
