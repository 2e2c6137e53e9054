/** Calls that cross one by one: as futures on tokio's threads, and on libuv's pool. */
import { stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';

import { crossingFile } from '../../src/binaries.js';
import { crossing } from '../../src/crossing-addon.js';
import { toBoundaryError } from '../../src/errors.js';
import { startRawServer } from '../library/http/http-server.js';
import { startScriptedRedis } from '../library/kv/scripted-redis.js';
import { greeting, PLAIN, startScriptedMysql } from '../library/sql/scripted-mysql.js';
import { mysqlOfSuite } from '../mysql-server.js';
import { lacks } from '../needs.js';

/** The code of the error that a call throws or rejects with. */
async function codeOf(call: () => unknown): Promise<string> {
  try {
    return `resolved to ${String(await call())}`;
  } catch (thrown) {
    return toBoundaryError(thrown).code;
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}

/** A server that answers SET, and holds the connections of those who GET. */
async function startHoldingRedis() {
  const held: Socket[] = [];
  const server = await startScriptedRedis(([name], socket) => {
    if (name === 'GET') held.push(socket);
    else socket.write('+OK\r\n');
  });
  const release = (): void => void held.shift()!.write('$1\r\nx\r\n');
  return { held, release, url: `${server.url}?cluster=false`, close: () => server.close() };
}

const NOWHERE = '127.0.0.1:1';
const ODD: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['a number', 1],
  ['an object', {}],
  ['a symbol', Symbol('odd')],
];

describe.each([
  { kind: 'asynchronous', isBlocking: false },
  { kind: 'blocking', isBlocking: true },
])('$kind calls', ({ isBlocking }) => {
  const Kv = { open: (url: string) => crossing.KvCalls.open(url, isBlocking) };
  const Sql = { open: (url: string) => crossing.SqlCalls.open(url, isBlocking) };
  const Http = { open: (url: string) => crossing.HttpCalls.open(url, isBlocking) };

  test.each(ODD)('refuse %s as a URL, a server, a key or a body', async (_, value) => {
    const redis = await startHoldingRedis();
    const web = await startRawServer(({ answer }) => answer('x'));
    const kv = await Kv.open(redis.url);
    const http = await Http.open(web.url);
    const uses = [
      () => Kv.open(value as string),
      () => Sql.open(value as string),
      () => Http.open(value as string),
      () => kv.get(value as string),
      () => kv.set('a', value as string),
      () => http.post(value as string, ''),
      () => http.post('/', value as string),
    ];
    for (const use of uses) expect(await codeOf(use)).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(() => (kv.set as Function).call(value, 'a', 'b'))).toBe('BB_UNEXPECTED');
    expect(await kv.set('a', 'b')).toBeUndefined();
    expect(await http.post('/', '')).toEqual({ status: 200, text: 'x' });
    kv.close();
    http.close();
    redis.close();
    await web[Symbol.asyncDispose]();
  });

  test('tell a wrong URL from a server that is not there', async () => {
    for (const url of ['', 'x', 'redis://h:99999', 'redis://h?x=y']) {
      expect(await codeOf(() => Kv.open(url))).toBe('BB_INVALID_ARGUMENT');
      expect(await codeOf(() => Sql.open(url))).toBe('BB_INVALID_ARGUMENT');
    }
    expect(await codeOf(() => Kv.open(`redis://${NOWHERE}`))).toBe('BB_CONNECTION');
    expect(await codeOf(() => Sql.open(`mysql://${NOWHERE}`))).toBe('BB_CONNECTION');
    expect(await codeOf(() => Http.open(`http://${NOWHERE}`))).toBe('BB_CONNECTION');
  });

  test('reject with the error of the server, and go on', async () => {
    const answers = ['-ERR no\r\n', '$-1\r\n', '$2\r\n\u00c3\u00a4\r\n'];
    const server = await startScriptedRedis((_, socket) => void socket.write(answers.shift()!, 'latin1'));
    const calls = await Kv.open(`${server.url}?cluster=false`);
    expect(await codeOf(() => calls.get('a'))).toBe('BB_ENGINE');
    expect([await calls.get('a'), await calls.get('a')]).toEqual([null, 'ä']);
    calls.close();
    server.close();

    await using web = await startRawServer(({ answer }) => answer('x'));
    const http = await Http.open(web.url);
    expect(await codeOf(() => http.post('no path', ''))).toBe('BB_INVALID_ARGUMENT');
    expect(await http.post('/', '')).toEqual({ status: 200, text: 'x' });
    http.close();
  });

  test('are rejected when the server goes away', async () => {
    const redis = await startScriptedRedis((_, socket) => void socket.destroy());
    const kv = await Kv.open(`${redis.url}?cluster=false`);
    expect(await codeOf(() => kv.get('a'))).toBe('BB_CONNECTION');
    kv.close();
    redis.close();

    const mysql = await startScriptedMysql(greeting(PLAIN), (_, socket) => void socket.destroy());
    const sql = await Sql.open(mysql.url);
    expect(await codeOf(() => sql.execute('SELECT 1', []))).toBe('BB_CONNECTION');
    expect(await codeOf(() => sql.ping())).toBe('BB_CONNECTION');
    sql.close();
    mysql.close();

    await using web = await startRawServer(({ socket }) => void socket.destroy());
    const http = await Http.open(web.url);
    expect(await codeOf(() => http.post('/', ''))).toBe('BB_CONNECTION');
    http.close();
  });

  test('are rejected when the connection is closed under them, and after that', async () => {
    const redis = await startHoldingRedis();
    const kv = await Kv.open(redis.url);
    const waiting = [codeOf(() => kv.get('a')), codeOf(() => kv.get('b'))];
    await until(() => redis.held.length > 0);
    kv.close();
    kv.close();
    expect(await Promise.all(waiting)).toEqual(['BB_CLOSED', 'BB_CLOSED']);
    expect(redis.held).toHaveLength(1);
    expect(await codeOf(() => kv.set('a', 'b'))).toBe('BB_CLOSED');
    redis.close();

    let asked = 0;
    const mysql = await startScriptedMysql(greeting(PLAIN), () => (asked += 1));
    const sql = await Sql.open(mysql.url);
    const executing = codeOf(() => sql.execute('SELECT 1', []));
    await until(() => asked === 1);
    sql.close();
    expect([await executing, await codeOf(() => sql.ping())]).toEqual(['BB_CLOSED', 'BB_CLOSED']);
    mysql.close();

    await using web = await startRawServer(() => (asked += 1));
    const http = await Http.open(web.url);
    const posting = codeOf(() => http.post('/', ''));
    await until(() => asked === 2);
    http.close();
    expect([await posting, await codeOf(() => http.post('/', ''))]).toEqual(['BB_CLOSED', 'BB_CLOSED']);
  });

  test('under way in a thread that is terminated end with it, once the server has answered', async () => {
    const redis = await startHoldingRedis();
    const worker = new Worker(
      `const { createRequire } = require('node:module');
      const { parentPort, workerData } = require('node:worker_threads');
      const { path, url, isBlocking } = workerData;
      require(path).KvCalls.open(url, isBlocking).then((calls) => calls.get('a')).catch(() => {});`,
      { eval: true, workerData: { path: crossingFile(), url: redis.url, isBlocking } },
    );
    await until(() => redis.held.length === 1);
    const ended = worker.terminate();
    redis.release();
    expect(await ended).toBe(1);
    // The addon still works in this thread.
    const kv = await Kv.open(redis.url);
    expect(await kv.set('a', 'b')).toBeUndefined();
    kv.close();
    redis.close();
  });

  describe.skipIf(lacks('mysql'))('of SQL', () => {
    const server = mysqlOfSuite();

    test('convert parameters and values one by one', async () => {
      const sql = await Sql.open(server.url);
      const parameters = [null, true, 7, 0.5, 'ä', Buffer.from([0, 255]), 2n ** 60n];
      const { rows, affectedRows } = await sql.execute(
        `SELECT ? AS nothing, ? AS yes, ? AS whole, ? AS half, ? AS text, CAST(? AS BINARY(2)) AS bytes, ? AS large
        UNION ALL SELECT 1, 2, 9007199254740991, 1.5e0, 'x', 'yz', -9007199254740992`,
        parameters,
      );
      expect(affectedRows).toBe(0);
      expect(rows.map((row) => Object.keys(row))).toEqual([
        ['nothing', 'yes', 'whole', 'half', 'text', 'bytes', 'large'],
        ['nothing', 'yes', 'whole', 'half', 'text', 'bytes', 'large'],
      ]);
      expect(rows.map(({ whole, half, text, bytes, large }) => [whole, half, text, bytes, large])).toEqual([
        [7, 0.5, 'ä', Buffer.from([0, 255]), 2n ** 60n],
        [2 ** 53 - 1, 1.5, 'x', Buffer.from('yz'), -(2n ** 53n)],
      ]);
      expect(rows[0]!['nothing']).toBe(null);
      const { rows: typed } = await sql.execute(
        "SELECT 1.50 AS exact, DATE '1970-01-02' AS day, TIMESTAMP '1970-01-01 00:00:01' AS moment",
        [],
      );
      expect(typed).toEqual([{ exact: '1.50', day: 1, moment: 1_000_000n }]);
      expect(await sql.execute('SELECT 1 FROM DUAL WHERE ? = 2', [1])).toEqual({ affectedRows: 0, rows: [] });
      expect(await sql.ping()).toBeUndefined();
      sql.close();
    });

    test('refuse what the statement does not take, and stay usable', async () => {
      const sql = await Sql.open(server.url);
      for (const parameters of [[], [1, 2], [Number.NaN], [Symbol('odd')], [{}], 'x', undefined]) {
        expect(await codeOf(() => sql.execute('SELECT ?', parameters as never))).toBe('BB_INVALID_ARGUMENT');
      }
      expect(await codeOf(() => sql.execute('SELEC', []))).toBe('BB_ENGINE');
      expect((await sql.execute('SELECT ? AS x', [1])).rows).toEqual([{ x: 1 }]);
      sql.close();
    });

    test('keep a limited number of statements prepared', async () => {
      const sql = await Sql.open(server.url);
      for (let number = 0; number < 300; number += 1) {
        expect((await sql.execute(`SELECT ${number} AS x`, [])).rows).toEqual([{ x: number }]);
      }
      const { rows } = await sql.execute("SHOW SESSION STATUS LIKE 'Com_stmt_close'", []);
      expect(Number(rows[0]!['Value'])).toBe(256);
      sql.close();
    });
  });
});

test('blocking calls occupy the threads of libuv, and others wait for a place; asynchronous calls do not', async () => {
  const places = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const { held, release, url, close } = await startHoldingRedis();
  const connections = Array.from({ length: places + 1 }, () => url);

  const free = await Promise.all(connections.map((server) => crossing.KvCalls.open(server, false)));
  const ahead = free.map((calls) => calls.get('a'));
  await until(() => held.length === places + 1);
  // It would wait forever if the calls took the places.
  await stat(import.meta.dirname);
  while (held.length > 0) release();
  expect(await Promise.all(ahead)).toEqual(connections.map(() => 'x'));

  const blocking = await Promise.all(connections.map((server) => crossing.KvCalls.open(server, true)));
  const answers = blocking.map((calls) => calls.get('a'));
  await until(() => held.length === places);
  let isThere = false;
  const behind = stat(import.meta.dirname).then(() => (isThere = true));
  // Each takes longer than the work that waits would, if there were a place for it.
  for (let round = 0; round < 200; round += 1) await free[0]!.set('a', 'b');
  expect([held.length, isThere]).toEqual([places, false]);
  release();
  await until(() => held.length === places);
  expect(isThere).toBe(false);
  release();
  expect(await behind).toBe(true);
  while (held.length > 0) release();
  expect(await Promise.all(answers)).toEqual(connections.map(() => 'x'));
  [...free, ...blocking].forEach((calls) => calls.close());
  close();
});
