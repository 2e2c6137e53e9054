/**
 * `mysql2`, in JavaScript alone. Its settings are prepared statements (the default), `text` and `arrays`. With `text`, it writes
 * the parameters into the SQL. With `arrays`, the rows of prepared statements come as arrays, which saves the names of the columns.
 * The sources are "Prepared Statements" of its documentation, sidorares.github.io/node-mysql2, and `rowsAsArray` in its
 * `typings/mysql/lib/Connection.d.ts`. It keeps the statements that it has prepared, and has no pipelining.
 */
import type { Connection, ResultSetHeader, TypedParameterValue } from 'mysql2/promise';

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
import { BoundaryError, UNSUPPORTED } from '../errors.js';
import { importPackage, optionalVersion } from './optional-package.js';

const { createConnection } = await importPackage('mysql2/promise', () => import('mysql2/promise'));
/** Only `mysql2` itself is known to have it, and only its default export shows it to `import`: it is a getter in CommonJS. */
const { TypedParameter } = await importPackage<Partial<typeof import('mysql2')>>(
  'mysql2',
  async () => (await import('mysql2')).default,
);

/** Parameter values of the family's statements. */
type Values = (string | number | boolean)[];

/** A parameter with its type, if it is an integer of 32 bits. */
function typed(value: unknown): Values[number] | TypedParameterValue {
  return Number.isInteger(value) && (value as number) === ((value as number) | 0)
    ? TypedParameter!.INT(value as number)
    : (value as Values[number]);
}

export const mysql2: JsSqlClient = {
  connect: async (url, setting, typesIntegers = false) => {
    if (typesIntegers && TypedParameter === undefined) {
      throw new BoundaryError(
        UNSUPPORTED,
        `mysql2 ${optionalVersion('mysql2')} can't say the type of an integer, and the server finds an INT by no other type`,
      );
    }
    const connection = await createConnection({
      ...connectionOptions(url),
      charset: parseSqlUrl(url).collation.toUpperCase(),
      rowsAsArray: setting === 'arrays',
    });
    await settleCharset(
      url,
      async (sql) => answerOf((await connection.query(sql))[0]),
      () => connection.end(),
    );
    return new Mysql2Connection(connection, setting === 'text', typesIntegers);
  },
};

class Mysql2Connection implements JsSqlConnection {
  readonly #connection: Connection;
  readonly #isText: boolean;
  readonly #typesIntegers: boolean;

  constructor(connection: Connection, isText: boolean, typesIntegers: boolean) {
    this.#connection = connection;
    this.#isText = isText;
    this.#typesIntegers = typesIntegers;
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
          : await this.#connection.execute(sql, this.#typesIntegers ? parameters.map(typed) : (parameters as Values));
    return answerOf(answer);
  }

  /**
   * Runs requests. The client sends a statement after the previous response. Queueing all at once saves the turns between them.
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
