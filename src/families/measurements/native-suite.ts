import { engineOf, type Connection } from '../../library/engine/connection.js';
import { explainedAsync } from '../../errors.js';
import type { Checksum } from '../../records/record.js';
import type { NativeTiming } from '../workload.js';

/** The tables of a cell: one with this name, or `table_0`, `table_1`, ... with their shares of the rows. */
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
  /** The client library of the lane, if it does not use the engine. */
  readonly client?: string;
  /** The most rows of a batch of a query. Default: 65536. */
  readonly batchRows?: number;
}

/** One execution of a cell. */
export interface NativeSample extends NativeTiming {
  readonly checksum: Checksum;
}

/** Executes a cell once in Rust, on the thread of the native suite while the event loop is idle. */
export async function runNative(connection: Connection, spec: NativeSpec): Promise<NativeSample> {
  return JSON.parse(await explainedAsync(() => engineOf(connection).runNative(JSON.stringify(spec)))) as NativeSample;
}

/** Executes a cell once in Rust, untimed, and checks each row that it read or stored. */
export async function verifyNative(connection: Connection, spec: NativeSpec): Promise<void> {
  await explainedAsync(() => engineOf(connection).verifyNative(JSON.stringify(spec)));
}

/** Makes the tables that queries read, for all sides, in Rust, which is fastest. */
export async function loadTables(connection: Connection, tables: NativeTables): Promise<void> {
  await explainedAsync(() => engineOf(connection).loadNative(JSON.stringify(tables)));
}

/** Drops the tables of `loadTables`. */
export async function unloadTables(connection: Connection, tables: NativeTables): Promise<void> {
  await explainedAsync(() => engineOf(connection).unloadNative(JSON.stringify(tables)));
}
