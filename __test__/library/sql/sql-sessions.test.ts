/** A session that ends with its connection is not taken for another, and prepared statements follow what changes in a session. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { beforeAll, describe, expect, test } from 'vitest';

import { type BoundaryError, SqlClient, type SqlClientOptions } from '../../../src/index.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { WireTap } from '../../wire-tap.js';
import { listening } from '../../listening.js';

/** A proxy in front of a server. `lost` resolves when the client has seen the end of its newest connection. */
async function startProxy(url: string): Promise<{ readonly url: string; lost(): Promise<unknown>; close(): void }> {
  const { hostname, port } = new URL(url);
  let newest: Socket | undefined;
  const server = createServer((client) => {
    newest = client;
    const behind = connect(Number(port), hostname);
    client.on('error', () => behind.destroy()).pipe(behind);
    // The end of the server is passed on. The socket closes when the client has ended, too.
    behind.on('error', () => client.end()).pipe(client);
  });
  const own = new URL(url);
  own.host = `127.0.0.1:${await listening(server)}`;
  return {
    url: own.href,
    lost: async () => newest?.closed === false && (await once(newest, 'close')),
    close: () => void server.close(),
  };
}

describe.skipIf(lacks('mysql'))('the session of a SqlClient', () => {
  const mysql = mysqlOfSuite();
  let proxy: Awaited<ReturnType<typeof startProxy>>;

  beforeAll(async () => {
    await mysql.client.query('CREATE DATABASE other');
    for (const database of ['test', 'other']) await mysql.client.query(`CREATE TABLE ${database}.t (v VARCHAR(20))`);
    proxy = await startProxy(mysql.url);
    return () => proxy.close();
  });

  const client = (options: SqlClientOptions = {}): Promise<SqlClient> =>
    SqlClient.connect(proxy.url, { connections: 1, int64: 'number', ...options });

  const value = async (sql: SqlClient, query: string): Promise<unknown> =>
    Object.values((await sql.query(query)).rows()[0]!)[0];

  const kill = async (id: unknown): Promise<unknown> => mysql.client.query(`KILL ${String(id)}`);

  /** Ends the idle connection of a client from the server's side. */
  const end = async (sql: SqlClient): Promise<void> => {
    await kill(await value(sql, 'SELECT CONNECTION_ID()'));
    await proxy.lost();
  };

  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'resolved',
      (thrown: unknown) => `${(thrown as BoundaryError).code} ${(thrown as BoundaryError).message}`,
    );

  test.each(['KILL', 'wait_timeout'])(
    'a transaction whose connection ends by %s does not go on in another session',
    async (how) => {
      await using sql = await client();
      if (how === 'wait_timeout') await sql.query('SET SESSION wait_timeout = 1');
      await sql.query('BEGIN');
      await sql.query(`INSERT INTO t VALUES ('before')`);
      if (how === 'KILL') await end(sql);
      else await proxy.lost();
      const lost = how === 'KILL' ? 'the open transaction' : 'the open transaction, variables';
      expect(await failure(sql.query(`INSERT INTO t VALUES ('after')`))).toMatch(
        new RegExp(`^BB_CONNECTION mysql: the session has ended with its connection, and with it ${lost};`),
      );
      // Said once: the caller goes on in a new session.
      await sql.query('COMMIT');
      expect(await value(sql, 'SELECT COUNT(*) FROM t')).toBe(0);
    },
  );

  test.each([
    ['USE other', 'the database that USE has chosen'],
    ['SET @a = 1', 'variables'],
    [`SET sql_mode = 'ANSI'`, 'variables'],
    ['CREATE TEMPORARY TABLE mine (v INT)', 'temporary tables'],
    ['LOCK TABLES t READ', 'locks'],
    [`SELECT GET_LOCK('mine', 0)`, 'locks'],
    [`PREPARE mine FROM 'SELECT 1'`, 'statements of PREPARE'],
  ])('what %s has left is not lost in silence', async (statement, lost) => {
    await using sql = await client();
    await sql.query(statement);
    await end(sql);
    expect(await failure(sql.ping())).toContain(`and with it ${lost};`);
    await sql.ping();
  });

  test('a session that was left as it was is replaced in silence', async () => {
    await using sql = await client();
    const batch = ['SET NAMES utf8mb4', 'BEGIN', 'INSERT INTO t VALUES (1)', 'ROLLBACK', 'SELECT 1', 'CALL other.p()'];
    await sql.run(batch.map((statement) => ({ sql: statement })));
    await end(sql);
    expect(await failure(sql.ping())).toBe('resolved');
  });

  test('calls that wait for a session that ends are not sent to another one', async () => {
    await using sql = await client();
    for (const way of ['lost', 'timed out']) {
      await sql.query('BEGIN');
      const id = await value(sql, 'SELECT CONNECTION_ID()');
      const slow = failure(sql.query('SELECT SLEEP(20)', way === 'lost' ? {} : { timeoutMs: 100 }));
      const waiting = [sql.query(`INSERT INTO t VALUES ('late')`), sql.query('COMMIT')].map(failure);
      if (way === 'lost') await kill(id);
      expect(await slow).toMatch(way === 'lost' ? /^BB_CONNECTION/ : /^BB_TIMEOUT/);
      for (const late of waiting) expect(await late).toMatch(/^BB_CONNECTION .*the open transaction/);
      await sql.ping();
    }
    expect(await value(sql, 'SELECT COUNT(*) FROM t')).toBe(0);
  });

  test('of several connections, only an open transaction is told as lost', async () => {
    await using sql = await client({ connections: 3 });
    await sql.query('SET @a = 1');
    await end(sql);
    await sql.ping();
    await sql.query('BEGIN');
    await end(sql);
    expect(await failure(sql.ping())).toMatch(/^BB_CONNECTION .*the open transaction/);
    await sql.ping();
  });

  test('reads in a transaction and SET NAMES are sent ahead of their responses', async () => {
    const marked = (sent: Buffer): number => sent.toString('latin1').split('/*ahead*/').length - 1;
    const tap = await WireTap.start(mysql.url, marked);
    await using sql = await SqlClient.connect(tap.through(mysql.url), { connections: 1 });
    for (const statement of ['SET NAMES utf8mb4', 'BEGIN']) {
      await sql.query(statement);
      tap.hold(3);
      const ahead = statement === 'BEGIN' ? 'SELECT COUNT(*) FROM t /*ahead*/' : '/*ahead*/ SET NAMES utf8mb4';
      const results = await sql.run(Array.from({ length: 3 }, () => ({ sql: ahead })));
      expect(results.errors).toEqual([]);
    }
    tap.stop();
  });
});
