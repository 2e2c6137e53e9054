import { SqlClient } from '../../library/sql/sql-client.js';
import { BoundaryError } from '../../errors.js';
import { checkTable } from './answer-check.js';
import { SqlSums } from './data.js';
import { withDatabase } from './database.js';
import type { SqlPlan } from './plan.js';
import type { SqlDialect } from './server.js';

/** The table of a cell, with the connection that creates, empties and reads it, all untimed. */
export class SqlTable {
  /** The URL with a database in it. */
  readonly url: string;
  readonly name: string;
  readonly #client: SqlClient;
  readonly #plan: SqlPlan;
  readonly #dialect: SqlDialect;

  private constructor(url: string, name: string, client: SqlClient, plan: SqlPlan, dialect: SqlDialect) {
    this.url = url;
    this.name = name;
    this.#client = client;
    this.#plan = plan;
    this.#dialect = dialect;
  }

  /** Creates the table with its rows. Throws `BB_UNSUPPORTED` for statements that the server does not support. */
  static async open(url: string, name: string, plan: SqlPlan, dialect: SqlDialect): Promise<SqlTable> {
    const own = await withDatabase(url);
    const client = await SqlClient.connect(own, { connections: 1, int64: 'number' });
    const table = new SqlTable(own, name, client, plan, dialect);
    try {
      await table.#make();
      return table;
    } catch (thrown) {
      await table.close();
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
  }

  async #fill(): Promise<void> {
    await this.#client.insertRows(this.name, this.#plan.table?.columns ?? [], this.#plan.contents());
  }

  /** Restores the contents of the table before a sample. */
  async reset(signal: AbortSignal): Promise<void> {
    if (!this.#plan.writes) return;
    await this.#client.query(`${this.#dialect.emptying} ${this.name}`, { signal });
    if (!this.#plan.startsEmpty) await this.#fill();
  }

  /** The sums of the table's contents. */
  async sums(affected: number, signal: AbortSignal): Promise<SqlSums> {
    const [row = {}] = (await this.#client.query(this.#plan.contentsQuery(this.name), { signal })).rows();
    const sums = new SqlSums();
    // By their order, since not every server names the columns as it is told. None may be named by an integer, which goes first.
    [sums.rows = NaN, sums.ints = NaN, sums.doubles = NaN, sums.texts = NaN] = Object.values(row).map(Number);
    sums.affected = affected;
    return sums;
  }

  /** Checks each row that a cell has left in the table. */
  async checkContents(signal: AbortSignal): Promise<void> {
    const { columns } = this.#plan.table!;
    const rows = (await this.#client.query(`SELECT ${columns.join(', ')} FROM ${this.name}`, { signal })).rows();
    checkTable(
      rows.map((row) => columns.map((column) => row[column])),
      this.#plan.rowsAfter(),
    );
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
