import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import { mysql2 } from '../../../src/clients/mysql2.js';
import { parseSqlUrl } from '../../../src/clients/js-sql-client.js';
import { sqlFamily } from '../../../src/families/sql/family.js';
import { run } from '../../../src/runner/run.js';
import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { REQUESTS, openCells, sampleCells, signal, stopwatch } from '../sampled-cells.js';
import { folderOfTest } from '../../temporary-folder.js';

test('URLs are taken apart for clients that do not read all of them', () => {
  expect(parseSqlUrl('mysql://localhost')).toMatchObject({ host: 'localhost', port: 3306, user: '', tls: 'off' });
  expect(parseSqlUrl('mysql://me:p%40s:s@[::1]:3307/d%20b?tls=verify&tls-ca=/a.pem')).toEqual({
    host: '::1',
    port: 3307,
    user: 'me',
    password: 'p@s:s',
    database: 'd b',
    socket: undefined,
    tls: 'verify',
    authorities: '/a.pem',
    collation: 'utf8mb4_general_ci',
  });
  expect(parseSqlUrl('mysql://u@/db?socket=/tmp/a%20b')).toMatchObject({
    host: '',
    socket: '/tmp/a b',
    database: 'db',
  });
});

describe.skipIf(lacks('mysql'))('the sql family', () => {
  const mysql = mysqlOfSuite({ int64: 'number' });

  /** The table of the cell that is open. */
  const tableOfCell = async (): Promise<string> => {
    const [named] = (await mysql.client.query('SHOW TABLES')).rows();
    return Object.values(named!)[0] as string;
  };

  // The first two keys that are read are 1 and 7920. All but the last mistake leave the sums as they are.
  const PAIR = '(a.id = 1 AND b.id = 7920) OR (a.id = 7920 AND b.id = 1)';
  const exchange = (column: string): string => `{table} a JOIN {table} b ON ${PAIR} SET a.${column} = b.${column}`;
  test.each([
    ['select_pk', 'two rows have exchanged their names', `UPDATE ${exchange('name')}`],
    ['select_pk', 'two rows have exchanged their scores', `UPDATE ${exchange('score')}`],
    [
      'select_pk',
      "a row's numbers are exchanged",
      'UPDATE {table} SET age = age + 1, active = 1 - active WHERE id = 7920',
    ],
    [
      'select_pk',
      'a name is cut, and a text is longer',
      "UPDATE {table} SET name = LEFT(name, 10), email = CONCAT('x', email) WHERE id = 1",
    ],
    ['oltp_point_select', 'two rows have exchanged their texts', `UPDATE ${exchange('c')}`],
    [
      'oltp_point_select',
      'a row came instead of another',
      'UPDATE {table} a JOIN {table} b ON a.id = 1 AND b.id = 7920 SET a.c = b.c',
    ],
    ['oltp_point_select', 'a text is an older one', "UPDATE {table} SET c = CONCAT('0', LEFT(c, 118)) WHERE id = 7920"],
    ['select_pk', 'a row is missing', 'DELETE FROM {table} WHERE id = 7920'],
  ])(
    'each cell of %s notices that %s',
    async (workload, what, sql) => {
      const options = { ...REQUESTS, engines: { mysql: mysql.url }, operations: 50, connections: [2], batch: [1, 8] };
      const cells = sqlFamily
        .plan(options)
        .filter(({ cell }) => cell.driver === undefined && cell.workload === workload);
      await openCells(await sqlFamily.open(options, cells), cells, async (cell, id) => {
        await cell.verify!(stopwatch, signal);
        await mysql.client.query(sql.replaceAll('{table}', await tableOfCell()));
        if (what !== 'a row is missing') verifyChecksum(await cell.sample(stopwatch, signal), cell.expected);
        await expect(cell.verify!(stopwatch, signal), id).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
      });
      expect(cells.length).toBeGreaterThan(4);
      expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    },
    120_000,
  );

  // The server exchanges a part of two rows' values as they are written.
  const triggers: Readonly<Record<string, string>> = {
    insert: 'INSERT ON {table} FOR EACH ROW SET NEW.age = NEW.age + (NEW.id = 7) - (NEW.id = 8)',
    insert_multi_values: 'INSERT ON {table} FOR EACH ROW SET NEW.age = NEW.age + (NEW.id = 7) - (NEW.id = 8)',
    update_range: 'UPDATE ON {table} FOR EACH ROW SET NEW.score = NEW.score + 2 * (NEW.id = 7) - 2 * (NEW.id = 8)',
    oltp_write_only: 'INSERT ON {table} FOR EACH ROW SET NEW.k = NEW.k + (NEW.id = 7) - (NEW.id = 8)',
  };
  test.each(Object.entries(triggers))(
    'each cell of %s notices rows that were stored wrongly',
    async (name, trigger) => {
      const options = { ...REQUESTS, engines: { mysql: mysql.url }, operations: 50, batch: [1, 8] };
      const cells = sqlFamily.plan(options).filter(({ cell }) => cell.workload === name && cell.driver === undefined);
      expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
      await openCells(await sqlFamily.open(options, cells), cells, async (cell, id) => {
        await cell.verify!(stopwatch, signal);
        await mysql.client.query(`CREATE TRIGGER wrong BEFORE ${trigger.replace('{table}', await tableOfCell())}`);
        verifyChecksum(await cell.sample(stopwatch, signal), cell.expected);
        await expect(cell.verify!(stopwatch, signal), id).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
      });
    },
    120_000,
  );

  test('every cell of every side does its work and leaves no table', async () => {
    const options = { ...REQUESTS, engines: { mysql: mysql.url }, operations: 50, connections: [3], batch: [1, 8] };
    // The drivers in Rust are tested in `native/suite/tests/references.rs`.
    const cells = sqlFamily.plan(options).filter(({ cell }) => cell.driver === undefined);
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    const lanes = cells.filter(({ cell }) => cell.side === 'napi').map(({ cell }) => cell.lane);
    expect(new Set(lanes)).toEqual(new Set(['call', 'call-async', 'call-blocking', 'batch']));
    const family = await sqlFamily.open(options, cells);
    const tables = 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()';
    const left = async (id: string): Promise<void> =>
      expect({ id, tables: (await mysql.client.query(tables)).rows() }).toEqual({ id, tables: [] });
    await sampleCells(family, cells, left);
  }, 300_000);

  test.each([
    { setting: undefined, executed: 3, areArrays: false },
    { setting: 'arrays', executed: 3, areArrays: true },
    { setting: 'text', executed: 0, areArrays: false },
  ])('the setting $setting of mysql2 takes effect', async ({ setting, executed, areArrays }) => {
    const executions = async (): Promise<number> => {
      const [row] = (await mysql.client.query("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")).rows();
      return Number(row!['Value']);
    };
    const connection = await mysql2.connect(mysql.url, setting);
    onTestFinished(() => connection.close());
    const before = await executions();
    const request = { sql: 'SELECT ? + 1 AS next', parameters: [41] };
    const answers = await connection.requests([request, request, request]);
    expect((await executions()) - before).toBe(executed);
    for (const { rows } of answers) expect(Array.isArray(rows![0])).toBe(areArrays);
    expect(answers.map(({ rows }) => Object.values(rows![0]!).map(Number))).toEqual([[42], [42], [42]]);
  });

  test('the cells do their work on a server in the mode ANSI', async () => {
    const [before] = (await mysql.client.query('SELECT @@GLOBAL.sql_mode AS mode')).rows();
    await mysql.client.query("SET GLOBAL sql_mode = 'ANSI'");
    onTestFinished(async () => void (await mysql.client.query(`SET GLOBAL sql_mode = '${String(before!['mode'])}'`)));
    const options = { ...REQUESTS, engines: { mysql: mysql.url }, operations: 20, connections: [2] };
    const cells = sqlFamily
      .plan(options)
      .filter(({ cell, askedBy = [] }) => cell.driver === undefined && !askedBy.includes('lane'))
      .filter(({ cell }) => ['select_range', 'update_where'].includes(cell.workload));
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    await sampleCells(await sqlFamily.open(options, cells), cells);
  }, 120_000);

  test.each([
    ['nothing', 'USAGE ON *.*', 'CREATE DATABASE'],
    ['no table', 'SELECT, INSERT, DROP ON test.*', 'CREATE TABLE'],
    ['no index', 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON test.*', 'CREATE INDEX'],
    ['no row', 'SELECT, UPDATE, DELETE, CREATE, DROP, INDEX ON test.*', 'INSERT INTO'],
    ['no end of a table', 'SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX ON test.*', 'DROP TABLE'],
    ['no deletion', 'SELECT, INSERT, UPDATE, CREATE, DROP, INDEX ON test.*', 'DELETE FROM'],
  ])('a run by a user who may create %s ends before its first cell, by one error', async (name, granted, statement) => {
    await mysql.client.query("CREATE OR REPLACE USER 'lowly'@'%' IDENTIFIED BY 'secret'");
    await mysql.client.query(`GRANT ${granted} TO 'lowly'@'%'`);
    const own = new URL(mysql.url);
    own.username = 'lowly';
    own.password = 'secret';
    if (name === 'nothing') own.pathname = '/';
    const directory = join(folderOfTest(), 'out');
    const asked = { families: [sqlFamily], engines: { mysql: own.href }, directory, filters: { workload: ['count'] } };
    await expect(run(asked)).rejects.toMatchObject({
      code: 'BB_SERVER_UNUSABLE',
      message: expect.stringContaining(`the server refuses ${statement}`),
      hint: expect.stringContaining('Grant the user'),
    });
    await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' });
    const tables = await mysql.client.query('SHOW TABLES');
    expect(tables.rows()).toEqual([]);
  });

  test('a row that is missing is seen, a sample can be aborted, and the limits of the server are reported', async () => {
    const options = { ...REQUESTS, engines: { mysql: mysql.url }, operations: 50 };
    const cells = sqlFamily
      .plan(options)
      .filter(({ cell }) => cell.side === 'napi' && cell.workload === 'select_pk')
      .slice(0, 1);
    await openCells(await sqlFamily.open(options, cells), cells, async (cell) => {
      await mysql.client.query(`DELETE FROM ${await tableOfCell()} WHERE id = 1`);
      expect(await cell.sample(stopwatch, signal)).not.toEqual(cell.expected);
      await expect(cell.sample(stopwatch, AbortSignal.abort())).rejects.toMatchObject({ code: 'BB_ABORTED' });
    });
  });
});
