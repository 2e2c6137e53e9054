import type { MeasurementColumns } from './measurement-table.js';

/** An appender of a table. Its rows are visible after `finish`. */
export interface DuckDbWriter<Batch> {
  add(batch: Batch): void;
  finish(): void;
}

/** A row object of a result. */
export type DuckDbObject = Record<string, unknown>;

/** The numbers of a column, or of a part of it, without nulls. */
export type DuckDbNumbers = Int32Array | Float64Array | BigInt64Array;

/** The values of one column, in the client's form. */
export type DuckDbColumn = DuckDbNumbers | Uint8Array | Int16Array | Float32Array | readonly unknown[];

/** A client of DuckDB from npm, with a database of its own in memory. `Row` is the row that it takes. */
export interface DuckDbClient<Row> {
  readonly versions: Readonly<Record<string, string>>;
  /** Runs a command. */
  run(sql: string): Promise<unknown>;
  writeRows(table: string): Promise<DuckDbWriter<readonly Row[]>>;
  writeColumns(table: string): Promise<DuckDbWriter<MeasurementColumns>>;
  /** All rows of a query, as objects. */
  objects(sql: string): Promise<DuckDbObject[]>;
  /** The columns of a query, chunk by chunk or in one piece. */
  columns(sql: string): AsyncGenerator<readonly DuckDbColumn[]>;
  close(): void;
}

/** The rows of a data chunk: libduckdb's vector size. */
export const CHUNK_ROWS = 2048;

/**
 * The settings of the DuckDB databases in memory that are measured, by this package and by others. DuckDB keeps the
 * memory of blocks that are dropped, up to this size, and uses it again. Without it a part of them, which differs from
 * execution to execution, goes back to the kernel, and the next insert pays for new pages.
 */
export const DUCKDB_SETTINGS = { block_allocator_memory: '4GB' } as const;

/** Further settings of a database, by their names. */
export type DuckDbSettings = Readonly<Record<string, string>>;
