/**
 * `mariadb`, in JavaScript alone. It sends statements ahead of their responses, and rows in packets of many if the server
 * supports that. Its settings: prepared statements, the default, `text`, and `shared`, one connection for all callers.
 * The sources are its `README.md`, "Pipelining", and the comments in its `types/share.d.ts`.
 */
import type { Connection, UpsertResult } from 'mariadb';

import {
  answerOf,
  connectionOptions,
  parseSqlUrl,
  settleCharset,
  type SqlAnswer,
  type JsSqlClient,
  type JsSqlConnection,
  type JsSqlRequest,
} from './js-sql-client.js';
import { importPackage } from './optional-package.js';

const { createConnection } = await importPackage('mariadb', () => import('mariadb'));

export const mariadb: JsSqlClient = {
  connect: async (url, setting) => {
    const connection = await createConnection({
      ...connectionOptions(url),
      collation: parseSqlUrl(url).collation.toUpperCase(),
      pipelining: true,
      // Checks that the other clients do not make either.
      checkNumberRange: false,
      bigIntAsNumber: true,
      insertIdAsNumber: true,
      decimalAsNumber: true,
    });
    await settleCharset(
      url,
      async (sql) => answerOf(await connection.query(sql)),
      () => connection.end(),
    );
    return new MariadbConnection(connection, setting === 'text');
  },
};

class MariadbConnection implements JsSqlConnection {
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
    const answer: unknown =
      parameters === undefined
        ? await this.#connection.query(sql)
        : this.#isText
          ? await this.#connection.query(sql, parameters)
          : await this.#connection.execute(sql, parameters);
    return answerOf(answer);
  }

  requests(requests: readonly JsSqlRequest[]): Promise<readonly SqlAnswer[]> {
    return Promise.all(requests.map((request) => this.request(request)));
  }

  async insertRows(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<number> {
    const placeholders = columns.map(() => '?').join(', ');
    const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders})`;
    const answer = await this.#connection.batch<UpsertResult | UpsertResult[]>(sql, rows as unknown[][]);
    return (Array.isArray(answer) ? answer : [answer]).reduce((sum, { affectedRows }) => sum + affectedRows, 0);
  }

  close(): Promise<void> {
    return this.#connection.end();
  }
}
