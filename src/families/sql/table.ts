import { SqlClient } from '../../library/sql/sql-client.js';
import { BoundaryError } from '../../errors.js';
import type { Checksum } from '../../records/record.js';
import { verifyChecksum } from '../verify-checksum.js';
import { checkTable } from './answer-check.js';
import { SqlSums } from './data.js';
import type { SqlPlan, TableRow } from './plan.js';
import { addSbtestColumns, addUserColumns } from './read-answers.js';
import type { SqlDialect } from './server.js';

/** The table of a cell, with the connection that creates, empties and reads it, all untimed. */
export class SqlTable {
  readonly name: string;
  readonly #client: SqlClient;
  readonly #plan: SqlPlan;
  readonly #dialect: SqlDialect;
  /** The sums of the rows before a sample. */
  #sumsBefore: Checksum | undefined;

  private constructor(name: string, client: SqlClient, plan: SqlPlan, dialect: SqlDialect) {
    this.name = name;
    this.#client = client;
    this.#plan = plan;
    this.#dialect = dialect;
  }

  /** Creates the table with its rows. Throws `BB_UNSUPPORTED` for statements that the server does not support. */
  static async open(url: string, name: string, plan: SqlPlan, dialect: SqlDialect): Promise<SqlTable> {
    const client = await SqlClient.connect(url, { connections: 1, int64: 'number' });
    const table = new SqlTable(name, client, plan, dialect);
    try {
      await table.#make();
      return table;
    } catch (thrown) {
      // The first error is the more useful one.
      await table.close().catch(() => {});
      throw thrown;
    }
  }

  async #make(): Promise<void> {
    const { table } = this.#plan;
    if (table === undefined) return;
    await this.#client.query(`DROP TABLE IF EXISTS ${this.name}`);
    try {
      await this.#client.query(`CREATE TABLE ${this.name} (${table.definition})`);
      for (const [index, column] of Object.entries(table.indexes ?? {})) {
        await this.#client.query(`CREATE INDEX ${index} ON ${this.name} (${column})`);
      }
      for (const { kind = 'prepared', sql } of this.#plan.workload.steps) {
        if (kind === 'prepared' && sql !== undefined) await this.#client.prepare(sql.replaceAll('{table}', this.name));
      }
    } catch (thrown) {
      const { code, message } = thrown as BoundaryError;
      throw code === 'BB_ENGINE' ? new BoundaryError('BB_UNSUPPORTED', `the server can't do it: ${message}`) : thrown;
    }
    await this.#fill();
    await this.#checkStart();
  }

  async #fill(): Promise<void> {
    await this.#client.insertRows(this.name, this.#plan.table?.columns ?? [], this.#plan.contents());
  }

  async #refill(signal?: AbortSignal): Promise<void> {
    await this.#client.query(`${this.#dialect.emptying} ${this.name}`, { signal });
    if (!this.#plan.startsEmpty) await this.#fill();
  }

  /**
   * Checks each row of the table before a cell works on it. Refills the table if its rows differ, as the rows of an
   * earlier table may.
   */
  async #checkStart(): Promise<void> {
    try {
      await this.#checkRows(this.#plan.contents());
    } catch {
      await this.#refill();
      await this.#checkRows(this.#plan.contents());
    }
  }

  /** Restores the contents of the table before a sample, and checks them by their sums. */
  async reset(signal: AbortSignal): Promise<void> {
    if (!this.#plan.writes) return;
    await this.#refill(signal);
    this.#sumsBefore ??= this.#plan.sumsOf(this.#plan.contents()).checksum();
    verifyChecksum((await this.sums(0, signal)).checksum(), this.#sumsBefore);
  }

  /** The sums of the table's contents. They are made here, since few aggregates are known to every server. */
  async sums(affected: number, signal: AbortSignal): Promise<SqlSums> {
    const sums = new SqlSums();
    sums.affected = affected;
    const results = await this.#client.queryMany(this.#all, [[]], { signal });
    results.throwIfFailed();
    const chunk = results.chunk();
    if (chunk === undefined) return sums;
    if (this.#plan.workload.table === 'users') addUserColumns(chunk, sums);
    else addSbtestColumns(chunk, sums);
    chunk.release();
    return sums;
  }

  /** Checks each row that a cell has left in the table. */
  checkContents(signal: AbortSignal): Promise<void> {
    return this.#checkRows(this.#plan.rowsAfter(), signal);
  }

  async #checkRows(expected: readonly TableRow[], signal?: AbortSignal): Promise<void> {
    const { columns } = this.#plan.table!;
    const rows = (await this.#client.execute(this.#all, [], { signal })).rows();
    checkTable(
      rows.map((row) => columns.map((column) => row[column])),
      expected,
    );
  }

  /** The query for all rows. It is prepared, since some servers write doubles as text wrongly. */
  get #all(): string {
    return `SELECT ${this.#plan.table!.columns.join(', ')} FROM ${this.name}`;
  }

  /** Drops the table, and closes the connection. */
  async close(): Promise<void> {
    try {
      if (this.#plan.table !== undefined) await this.#client.query(`DROP TABLE IF EXISTS ${this.name}`);
    } finally {
      await this.#client.close();
    }
  }
}
