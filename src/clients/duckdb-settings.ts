/**
 * The settings of the DuckDB databases in memory that are measured, by this package and by others. DuckDB keeps the
 * memory of blocks that are dropped, up to this size, and uses it again. Without it a part of them, which differs from
 * execution to execution, goes back to the kernel, and the next insert pays for new pages.
 */
export const DUCKDB_SETTINGS = { block_allocator_memory: '4GB' } as const;

/** Further settings of a database, by their names. */
export type DuckDbSettings = Readonly<Record<string, string>>;
