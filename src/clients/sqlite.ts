/**
 * SQLite by `node:sqlite` or `better-sqlite3`, as an in-memory database. Both are synchronous, and the API used here is the
 * same: rows are inserted by one prepared statement in one transaction, their fastest way.
 */
import type { MeasurementRow } from './measurement-table.js';
import { loadPackage } from './optional-package.js';

/** The API that both packages share. */
interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface SqliteStatement {
  run(...values: readonly unknown[]): unknown;
  all(): Record<string, unknown>[];
  iterate(): IterableIterator<Record<string, unknown>>;
}

type DatabaseClass = new (path: string) => SqliteDatabase;

/** Inserts rows into a table; they are visible after `finish`. */
export interface SqliteWriter {
  add(rows: readonly MeasurementRow[]): void;
  finish(): void;
}

export class SqliteClient {
  readonly #database: SqliteDatabase;

  /** `name` is the package or module. */
  constructor(name: string) {
    const module = loadPackage<DatabaseClass | { DatabaseSync: DatabaseClass }>(name);
    const Database = 'DatabaseSync' in module ? module.DatabaseSync : module;
    this.#database = new Database(':memory:');
  }

  /** Creates the table, dropping a table with its name. */
  createTable(table: string): void {
    this.dropTable(table);
    this.#database.exec(
      `CREATE TABLE ${table} (id INT NOT NULL, sensor_id INT, value DOUBLE PRECISION, timestamp BIGINT)`,
    );
  }

  dropTable(table: string): void {
    this.#database.exec(`DROP TABLE IF EXISTS ${table}`);
  }

  /** Begins a transaction that inserts rows. */
  write(table: string): SqliteWriter {
    this.#database.exec('BEGIN');
    const statement = this.#database.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?)`);
    return {
      add: (rows) => {
        for (const row of rows) statement.run(row[0], row[1], row[2], row[3]);
      },
      finish: () => void this.#database.exec('COMMIT'),
    };
  }

  /** Ends an unfinished transaction without its rows. */
  rollBack(): void {
    this.#database.exec('ROLLBACK');
  }

  /** All rows of a query, as objects; 64-bit integers are numbers. */
  all(sql: string): Record<string, unknown>[] {
    return this.#database.prepare(sql).all();
  }

  /** The rows of a query, one by one. */
  iterate(sql: string): IterableIterator<Record<string, unknown>> {
    return this.#database.prepare(sql).iterate();
  }

  close(): void {
    this.#database.close();
  }
}
