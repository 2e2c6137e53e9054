import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { BoundaryError, SqlClient, SqlType, typed } from '../../../src/index.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { codeOf } from '../../error-with.js';

describe.skipIf(lacks('mysql'))('SqlClient', () => {
  const mysql = mysqlOfSuite();

  const number = async (sql: string): Promise<number> =>
    Number(Object.values((await mysql.client.query(sql)).rows()[0]!)[0]);

  /** Waits until the server runs a statement that contains `what`, or, if `runs` is false, until it runs none. */
  const until = async (what: string, runs: boolean): Promise<void> => {
    const running = `SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%${what}%' AND id <> CONNECTION_ID()`;
    while ((await number(running)) > 0 !== runs) await new Promise((next) => setTimeout(next, 10));
  };

  test('values of every type come back from every kind of call', async () => {
    await mysql.client.query(
      'CREATE TABLE types (n INT NOT NULL PRIMARY KEY, b BOOL, i BIGINT, d DOUBLE, t LONGTEXT, y LONGBLOB, m DECIMAL(20, 3), a DATE, s DATETIME(6)) CHARACTER SET utf8mb4',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 100 }).filter((value) => !/\p{Surrogate}/u.test(value)),
      fc.constantFrom('', "'\\\0\n\t", '漢字 🚀'.repeat(50), 'x'.repeat(300)),
    );
    const row = fc.tuple(
      fc.option(fc.boolean()),
      fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value))),
      fc.option(text),
      fc.option(fc.uint8Array({ maxLength: 300 })),
    );
    let first = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
        const columns = ['n', 'b', 'i', 'd', 't', 'y'];
        const numbered = rows.map((values, index) => [
          first + index,
          ...values.map((value) =>
            typeof value === 'number' && Number.isInteger(value) ? typed(SqlType.double(), value) : value,
          ),
        ]);
        first += rows.length;
        await mysql.client.insertRows('types', columns, numbered);
        const keys = numbered.map(([n]) => [n as number]);
        const many = await mysql.client.queryMany('SELECT b, i, d, t, y FROM types WHERE n = ?', keys);
        expect(Array.from(many.cursor(), (row) => row.toObject())).toEqual(many.rows());
        const found = many.rows().map(({ b, i, d, t, y }) => [b, i, d, t, y]);
        expect(found).toEqual(rows);
        for (const [index, key] of keys.entries()) {
          expect(Array.from(many.at(index).cursor(), (row) => row.toObject())).toEqual(many.at(index).rows());
          expect(many.at(index).rows()).toEqual(
            (await mysql.client.execute('SELECT b, i, d, t, y FROM types WHERE n = ?', key)).rows(),
          );
        }
        const changed = await mysql.client.executeBatch(
          'UPDATE types SET b = ?, i = ?, d = ?, t = ?, y = ? WHERE n = ?',
          numbered.map(([n, ...values]) => [...values, n!]),
        );
        expect([changed.errors, changed.affectedRows]).toEqual([[], rows.length]);
      }),
      { numRuns: 40 },
    );
    const typedRow = [
      -1,
      typed(SqlType.decimal(20, 3), '-12345678901234567.125'),
      typed(SqlType.date(), 19_723),
      new Date(1_700_000_000_123),
    ];
    await mysql.client.execute('INSERT INTO types (n, m, a, s) VALUES (?, ?, ?, ?)', typedRow);
    const [read] = (await mysql.client.execute('SELECT m, a, s FROM types WHERE n = ?', [-1])).rows();
    expect(read).toEqual({ m: '-12345678901234567.125', a: 19_723, s: 1_700_000_000_123_000n });
    expect((await mysql.client.query('SELECT m, a, s FROM types WHERE n = -1')).rows()).toEqual([read]);
  });

  test('times are the same texts from text and from prepared statements', async () => {
    await mysql.client.query('CREATE TABLE times (a TIME, b TIME(2), c TIME(6))');
    await mysql.client.query(
      "INSERT INTO times VALUES ('00:00:00', '10:00:00', '10:00:00'), ('-838:59:59', '-00:00:01.25', '25:00:00.000001')",
    );
    const sql = 'SELECT a, b, c, SEC_TO_TIME(1.5) AS d FROM times';
    const [first, second] = (await mysql.client.execute(sql)).rows();
    expect(first).toMatchObject({ a: '00:00:00', b: '10:00:00.00', c: '10:00:00.000000' });
    expect(second).toMatchObject({ a: '-838:59:59', b: '-00:00:01.25', c: '25:00:00.000001' });
    expect((await mysql.client.query(sql)).rows()).toEqual([first, second]);
  });

  test('results say what was done', async () => {
    await mysql.client.query('CREATE TABLE done (id INT AUTO_INCREMENT PRIMARY KEY, v INT)');
    const inserted = await mysql.client.execute('INSERT INTO done (v) VALUES (?), (?)', [1, 2]);
    expect([inserted.affectedRows, inserted.lastInsertId, inserted.rowCount, inserted.rows()]).toEqual([2, 1, 0, []]);
    expect([...inserted.cursor()]).toEqual([]);
    const selected = await mysql.client.query('SELECT COUNT(*) AS n, SUM(v) AS s FROM done');
    expect(selected.rows()).toEqual([{ n: 2n, s: '3' }]);
    expect(selected.columns.map(({ name }) => name)).toEqual(['n', 's']);
    const statement = await mysql.client.prepare('SELECT v FROM done WHERE id = ?');
    expect(statement.parameterCount).toBe(1);
    expect((await statement.execute([2])).rows()).toEqual([{ v: 2 }]);
    const many = await statement.queryMany([[1], [7], [2]]);
    expect([...many].map((result) => result.rows())).toEqual([[{ v: 1 }], [], [{ v: 2 }]]);
    using chunk = many.chunk()!;
    expect([...chunk.column<Int32Array>('v')]).toEqual([1, 2]);
    await using numbers = await SqlClient.connect(mysql.url, { int64: 'number' });
    expect((await numbers.query('SELECT COUNT(*) AS n FROM done')).rows()).toEqual([{ n: 2 }]);
    const tooBig = await numbers.query('SELECT 9007199254740993 AS n');
    expect(() => tooBig.rows()).toThrow('row 0, column "n"');
    expect((await mysql.client.queryMany('SELECT 1', [])).length).toBe(0);
    await mysql.client.ping();
    expect(mysql.client.version).toMatch(/\d/);
  });

  test('the time zone of the sessions is UTC, or the one that is given', async () => {
    const zoneOf = async (timeZone?: string): Promise<unknown> => {
      await using one = await SqlClient.connect(mysql.url, { timeZone });
      return (await one.query('SELECT @@time_zone AS zone')).rows()[0]!.zone;
    };
    expect([await zoneOf(), await zoneOf('-03:30')]).toEqual(['+00:00', '-03:30']);
    expect(await codeOf(zoneOf("'"))).toBe('BB_INVALID_ARGUMENT');
  });

  test('results of thousands of shapes are each read by their own', async () => {
    await using one = await SqlClient.connect(mysql.url, { connections: 1, int64: 'number' });
    const early = await one.query('SELECT 1 AS early');
    const wrong: unknown[] = [];
    for (let number = 0; number < 4200; number += 1) {
      const [row] = (await one.query(`SELECT ${number} AS c${number}`)).rows();
      if (row![`c${number}`] !== number) wrong.push(row);
    }
    expect(wrong).toEqual([]);
    expect(early.rows()).toEqual([{ early: 1 }]);
  }, 60_000);

  test('an error in one request is its own', async () => {
    await mysql.client.query('CREATE TABLE keyed (id INT NOT NULL PRIMARY KEY)');
    const results = await mysql.client.executeBatch('INSERT INTO keyed VALUES (?)', [[1], [1], [null], [2]]);
    expect(results.errors.map(({ index, error }) => [index, error.code])).toEqual([
      [1, 'BB_ENGINE'],
      [2, 'BB_ENGINE'],
    ]);
    expect(results.error(1)?.message).toContain('error 1062 (23000): Duplicate entry');
    expect(() => results.at(1)).toThrow(BoundaryError);
    expect(() => results.throwIfFailed()).toThrow('1062');
    expect(results.at(3).affectedRows).toBe(1);
    expect(await number('SELECT SUM(id) FROM keyed')).toBe(3);
    await expect(mysql.client.query('SELECT * FROM missing')).rejects.toThrow('error 1146');
    await expect(mysql.client.execute('SELEC 1')).rejects.toThrow('error 1064');
    await expect(mysql.client.insertRows('keyed', ['id'], [[5], [6], [5]])).rejects.toThrow('1062');
    expect(await number('SELECT SUM(id) FROM keyed')).toBe(3);
  });

  test('requests of several statements run in their order over one connection', async () => {
    await mysql.client.query('CREATE TABLE mixed (id INT NOT NULL PRIMARY KEY, v INT)');
    const results = await mysql.client.run([
      { sql: 'BEGIN' },
      { sql: 'INSERT INTO mixed VALUES (?, ?)', parameters: [1, 10] },
      { sql: 'SELECT v FROM mixed WHERE id = ?', parameters: [1] },
      { sql: 'INSERT INTO mixed VALUES (?, ?)', parameters: [2, 20] },
      { sql: 'SELECT v FROM mixed WHERE id = ?', parameters: [2] },
      { sql: 'SELECT v FROM mixed ORDER BY id' },
      { sql: 'ROLLBACK' },
    ]);
    expect(results.errors).toEqual([]);
    expect([2, 4, 5].map((index) => results.at(index).rows())).toEqual([
      [{ v: 10 }],
      [{ v: 20 }],
      [{ v: 10 }, { v: 20 }],
    ]);
    expect(results.rows(2)).toEqual([{ v: 10 }, { v: 20 }]);
    expect(await number('SELECT COUNT(*) FROM mixed')).toBe(0);
  });

  test('rows that cannot be sent leave the transaction of the session as it was', async () => {
    await mysql.client.query('CREATE TABLE unsent (d DOUBLE, t LONGTEXT)');
    for (const extensions of ['on', 'off']) {
      await using one = await SqlClient.connect(`${mysql.url}?extensions=${extensions}`, { connections: 1 });
      await one.query('BEGIN');
      await one.execute('INSERT INTO unsent VALUES (1, NULL)');
      const rows = [[1, 'x'.repeat(3 << 20)], [Number.NaN, 'y']]; // prettier-ignore
      await expect(one.insertRows('unsent', ['d', 't'], rows)).rejects.toThrow('row 1, value 1: the server has no NaN');
      await one.execute('INSERT INTO unsent VALUES (2, NULL)');
      await one.query('ROLLBACK');
      expect(await number('SELECT COUNT(*) FROM unsent')).toBe(0);
    }
  });

  test('integral doubles beyond 64 bits and unsigned 64-bit integers are sent as what they are', async () => {
    await mysql.client.query('CREATE TABLE great (id INT PRIMARY KEY, d DOUBLE, u BIGINT UNSIGNED)');
    const rows = [
      [1, 1e22, 2n ** 64n - 1n],
      [2, -1e308, 2n ** 63n],
      [3, 2 ** 63, 5],
      [4, 0.5, 7n],
      [5, -(2 ** 63), null],
    ];
    const read = rows.map(([id, d, u]) => ({ id, d, u: u === null ? null : String(u) }));
    const insert = 'INSERT INTO great VALUES (?, ?, ?)';
    const ways = [
      (sql: SqlClient) => sql.insertRows('great', ['id', 'd', 'u'], rows),
      (sql: SqlClient) => sql.executeBatch(insert, rows),
      async (sql: SqlClient) => {
        for (const row of rows) await sql.execute(insert, row);
      },
      (sql: SqlClient) => sql.run(rows.map((parameters) => ({ sql: insert, parameters }))),
    ];
    for (const extensions of ['on', 'off']) {
      await using sql = await SqlClient.connect(`${mysql.url}?extensions=${extensions}`);
      for (const way of ways) {
        await way(sql);
        expect((await sql.query('SELECT * FROM great ORDER BY id')).rows()).toEqual(read);
        const found = await sql.queryMany('SELECT id FROM great WHERE u = ?', [[2n ** 64n - 1n], [2n ** 63n]]);
        expect(found.rows()).toEqual([{ id: 1 }, { id: 2 }]);
        expect((await sql.execute('SELECT id FROM great WHERE d = ?', [1e22])).rows()).toEqual([{ id: 1 }]);
        await sql.query('DELETE FROM great');
      }
    }
  });

  test('calls under way at once are answered each with its own', async () => {
    for (const connections of [1, 3]) {
      await using few = await SqlClient.connect(mysql.url, { connections, int64: 'number' });
      const numbers = Array.from({ length: 500 }, (_, index) => index);
      const answers = await Promise.all(numbers.map((n) => few.execute('SELECT ? AS n', [n])));
      expect(answers.map((answer) => answer.rows()[0]!['n'])).toEqual(numbers);
    }
  });

  test('statements that cannot be sent are refused, and nothing of them is sent', async () => {
    const bad = Symbol('bad') as unknown as string;
    expect(await codeOf(mysql.client.execute('SELECT ?', [bad]))).toBe('BB_INVALID_ARGUMENT');
    await expect(mysql.client.queryMany('SELECT ?', [[1], [bad]])).rejects.toThrow('list 1, parameter 1: ');
    await expect(mysql.client.queryMany('SELECT ?', [[1], [1, 2]])).rejects.toThrow(
      'list 1 is not an array of 1 values',
    );
    await expect(mysql.client.execute('SELECT ?', [1, 2])).rejects.toThrow('the statement takes 1 parameters, not 2');
    await expect(mysql.client.execute('SELECT ?', [2 ** 60])).rejects.toThrow('not a safe integer');
    await expect(mysql.client.execute('SELECT ?', [-(2 ** 63 - 1024)])).rejects.toThrow('not a safe integer');
    await expect(mysql.client.execute('SELECT ?', [2n ** 64n])).rejects.toThrow('does not fit into 64 bits');
    await expect(mysql.client.execute('SELECT ?', [-(2n ** 63n) - 1n])).rejects.toThrow('does not fit into 64 bits');
    await expect(mysql.client.execute('SELECT ?', [Number.NaN])).rejects.toThrow('parameter 1: the server has no NaN');
    await expect(mysql.client.execute('SELECT ?', ['\ud800'])).rejects.toThrow('lone surrogate');
    expect(await codeOf(mysql.client.query(7 as unknown as string))).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(mysql.client.run('x' as unknown as []))).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(mysql.client.insertRows('t', ['a'], [[1, 2]]))).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(SqlClient.connect(mysql.url, { connections: 0 }))).toBe('BB_INVALID_ARGUMENT');
    const secret = 'mysql://me:geheim@127.0.0.1:1/';
    const refused = await SqlClient.connect(secret).catch((error: BoundaryError) => error);
    expect(refused).toMatchObject({ code: 'BB_CONNECTION' });
    expect(String(refused)).not.toContain('geheim');
    expect(await codeOf(SqlClient.connect(mysql.url.replace(/:[^:@/]+@/, ':wrong@')))).toBe('BB_CONNECTION');
  });

  test('calls that take too long or are aborted are given up, also by the server', async () => {
    expect(await codeOf(mysql.client.query('SELECT SLEEP(20) /* slow */', { timeoutMs: 100 }))).toBe('BB_TIMEOUT');
    await until('slow', false);
    const controller = new AbortController();
    const waiting = codeOf(mysql.client.query('SELECT SLEEP(20) /* dropped */', { signal: controller.signal }));
    await until('dropped', true);
    controller.abort(new Error('enough'));
    expect(await waiting).toBe('BB_ABORTED');
    await until('dropped', false);
    expect(await codeOf(mysql.client.ping({ signal: AbortSignal.abort() }))).toBe('BB_ABORTED');
    // A call that waits for the only connection.
    await using one = await SqlClient.connect(mysql.url, { connections: 1, timeoutMs: 300 });
    const slow = codeOf(one.query('SELECT SLEEP(20)'));
    expect(await codeOf(one.ping({ timeoutMs: 50 }))).toBe('BB_TIMEOUT');
    expect(await slow).toBe('BB_TIMEOUT');
    await one.ping();
  });

  test('a cut connection is an error for what was in flight, and the next call reconnects', async () => {
    await using one = await SqlClient.connect(mysql.url, { connections: 1, int64: 'number' });
    const id = async (): Promise<number> =>
      (await one.query('SELECT CONNECTION_ID() AS id')).rows()[0]!['id'] as number;
    const first = await id();
    await mysql.client.query('CREATE TABLE once (id INT)');
    const waiting = one.run([
      { sql: 'INSERT INTO once VALUES (1)' },
      { sql: 'SELECT SLEEP(20) /* cut */' },
      { sql: 'INSERT INTO once VALUES (2)' },
    ]);
    await until('cut', true);
    await mysql.client.query(`KILL ${first}`);
    const results = await waiting;
    expect([results.error(0), results.error(1)?.code, results.error(2)?.code]).toEqual([
      undefined,
      'BB_CONNECTION',
      'BB_CONNECTION',
    ]);
    const second = await id();
    expect(second).not.toBe(first);
    expect(await number('SELECT COUNT(*) FROM once')).toBe(1);
    // The connection is killed while no statement is in flight.
    await mysql.client.query(`KILL ${second}`);
    await new Promise((next) => setTimeout(next, 50));
    expect(await id()).not.toBe(second);
  });

  test('closing ends what is under way', async () => {
    const other = await SqlClient.connect(mysql.url, { connections: 1 });
    const waiting = [codeOf(other.query('SELECT SLEEP(20) /* closing */')), codeOf(other.ping())];
    await until('closing', true);
    await other.close();
    await other.close();
    expect(await Promise.all(waiting)).toEqual(['BB_CLOSED', 'BB_CLOSED']);
    expect(await codeOf(other.ping())).toBe('BB_CLOSED');
    await until('closing', false);
  });
});
