/**
 * `mysql2`, in JavaScript alone. Its settings: prepared statements, the default; `text`, in which it writes the parameters into the
 * SQL; and `arrays`, prepared statements whose rows come as arrays, which saves the names of the columns. The sources are
 * "Prepared Statements" of its documentation, sidorares.github.io/node-mysql2, and `rowsAsArray` in its
 * `typings/mysql/lib/Connection.d.ts`. It keeps the statements that it has prepared, and has no pipelining.
 */
import type { Connection, ResultSetHeader } from 'mysql2/promise';

import {
  answerOf,
  connectionOptions,
  type SqlAnswer,
  type JsSqlClient,
  type JsSqlConnection,
  type JsSqlRequest,
} from './js-sql-client.js';
import { importPackage } from './optional-package.js';

const { createConnection } = await importPackage('mysql2/promise', () => import('mysql2/promise'));

/** Parameter values of the family's statements. */
type Values = (string | number | boolean)[];

export const mysql2: JsSqlClient = {
  connect: async (url, setting) => {
    const connection = await createConnection({
      ...connectionOptions(url),
      // A character set that servers with a partial dialect support, too.
      charset: 'UTF8MB4_GENERAL_CI',
      rowsAsArray: setting === 'arrays',
    });
    return new Mysql2Connection(connection, setting === 'text');
  },
};

class Mysql2Connection implements JsSqlConnection {
  readonly #connection: Connection;
  readonly #isText: boolean;

  constructor(connection: Connection, isText: boolean) {
    this.#connection = connection;
    this.#isText = isText;
  }

  ping(): Promise<unknown> {
    return this.#connection.ping();
  }

  async request({ sql, parameters }: JsSqlRequest): Promise<SqlAnswer> {
    const [answer] =
      parameters === undefined
        ? await this.#connection.query(sql)
        : this.#isText
          ? await this.#connection.query(sql, parameters as Values)
          : await this.#connection.execute(sql, parameters as Values);
    return answerOf(answer);
  }

  /**
   * Runs requests. The client sends a statement after the previous response; queueing all at once saves the turns between them.
   */
  requests(requests: readonly JsSqlRequest[]): Promise<readonly SqlAnswer[]> {
    return Promise.all(requests.map((request) => this.request(request)));
  }

  async insertRows(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<number> {
    const [answer] = await this.#connection.query(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ?`, [rows]);
    return (answer as ResultSetHeader).affectedRows;
  }

  close(): Promise<void> {
    return this.#connection.end();
  }
}
