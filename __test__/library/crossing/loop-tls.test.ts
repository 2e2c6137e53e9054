/** Connections over TLS that the event loop drives. */
import { createSecureServer } from 'node:http2';

import { describe, expect, test } from 'vitest';

import { type BoundaryError, HttpClient, KvClient, SqlClient } from '../../../src/index.js';
import { startRawServer } from '../http/http-server.js';
import { startScriptedRedis } from '../kv/scripted-redis.js';
import { greeting, okPacket, oneText, packet, startScriptedMysql, WITH_TLS } from '../sql/scripted-mysql.js';
import { AUTHORITY, identity } from './tls-server.js';
import { listening } from '../../listening.js';

const MANY = 500;
const LARGE = 3_000_000;

const lost = { code: 'BB_CONNECTION', message: expect.stringMatching(/the connection .* lost/) };

describe('Redis', () => {
  const options = { tlsCa: AUTHORITY };

  test('requests and replies of any size, many at once', async () => {
    const values = new Map<string, string>();
    const server = await startScriptedRedis(([name, key, value], socket) => {
      if (name === 'SET') socket.write('+OK\r\n', () => values.set(key!, value!));
      else socket.write(`$${values.get(key!)!.length}\r\n${values.get(key!)!}\r\n`);
    }, true);
    await using client = await KvClient.connect(`${server.url}?cluster=false`, options);
    const large = 'x'.repeat(LARGE);
    await client.set('large', large);
    await Promise.all(Array.from({ length: MANY }, (_, index) => client.set(`${index}`, `value ${index}`)));
    const read = await Promise.all(Array.from({ length: MANY }, (_, index) => client.getText(`${index}`)));
    expect(read).toEqual(Array.from({ length: MANY }, (_, index) => `value ${index}`));
    const both = await Promise.all([client.getText('large'), client.getText('7'), client.getText('large')]);
    expect(both[0] === large && both[2] === large).toBe(true);
    expect(both[1]).toBe('value 7');
    server.close();
  });

  test('a cluster, whose connections are tasks', async () => {
    const values = new Map<string, string>();
    const server = await startScriptedRedis(([name, key, value], socket) => {
      const { port } = new URL(server.url);
      if (name === 'CLUSTER') socket.write(`*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:${port}\r\n`);
      else if (name === 'SET') socket.write('+OK\r\n', () => values.set(key!, value!));
      else socket.write(`$${values.get(key!)!.length}\r\n${values.get(key!)!}\r\n`);
    }, true);
    await using client = await KvClient.connect(server.url, options);
    const large = 'x'.repeat(LARGE);
    await Promise.all([client.set('large', large), client.set('small', '1')]);
    const read = await Promise.all(Array.from({ length: MANY }, () => client.getText('small')));
    expect(new Set(read)).toEqual(new Set(['1']));
    expect((await client.getText('large')) === large).toBe(true);
    server.close();
  });

  test('a server that closes in the middle of a reply, with and without the end of TLS', async () => {
    for (const end of ['end', 'destroy'] as const) {
      const server = await startScriptedRedis(([, key], socket) => {
        if (key === 'half') socket.write('$9\r\nabc', () => socket[end]());
        else socket.write('$1\r\nx\r\n');
      }, true);
      const client = await KvClient.connect(`${server.url}?cluster=false`, options);
      await expect(client.getText('half')).rejects.toMatchObject(lost);
      expect(await client.getText('whole')).toBe('x');
      await client.close();
      server.close();
    }
  });
});

describe('HTTP', () => {
  const options = { tlsCa: AUTHORITY };

  test('requests and responses of any size, many at once', async () => {
    const large = 'x'.repeat(LARGE);
    await using server = await startRawServer(({ path, answer }) => answer(path === '/large' ? large : path), true);
    await using client = await HttpClient.connect(server.url, { ...options, connections: 2, pipelining: 4 });
    const paths = Array.from({ length: MANY }, (_, index) => ({ path: `/${index}` }));
    const responses = await client.requestMany(paths);
    expect([...responses].map((response) => response.text())).toEqual(paths.map(({ path }) => path));
    expect((await client.request({ path: '/large' })).text() === large).toBe(true);
    expect((await client.request({ path: '/echo', body: large })).text()).toBe('/echo');
    expect(server.connections).toBe(2);
  });

  test('requests and responses of HTTP/2, of any size and many at once', async () => {
    const large = 'x'.repeat(LARGE);
    const server = createSecureServer(identity, ({ url }, response) => response.end(url === '/large' ? large : url));
    const port = await listening(server);
    await using client = await HttpClient.connect(`https://127.0.0.1:${port}`, { ...options, http2: true });
    const paths = Array.from({ length: MANY }, (_, index) => ({ path: `/${index}` }));
    const [responses, ...single] = await Promise.all([
      client.requestMany(paths),
      ...paths.map((request) => client.request(request)),
    ]);
    expect([...responses].map((response) => response.text())).toEqual(paths.map(({ path }) => path));
    expect(single.map((response) => response.text())).toEqual(paths.map(({ path }) => path));
    expect((await client.request({ path: '/large' })).text() === large).toBe(true);
    expect((await client.request({ path: '/echo', body: large })).text()).toBe('/echo');
    server.close();
  });

  test('an idle connection is used again, unless the server has closed it', async () => {
    await using server = await startRawServer(({ answer }) => answer('x'), true);
    await using client = await HttpClient.connect(server.url, options);
    for (const connections of [1, 1, 2]) {
      if (connections === 2) server.cut();
      await new Promise((next) => setTimeout(next, 20));
      expect((await client.request({ path: '/' })).text()).toBe('x');
      expect(server.connections).toBe(connections);
    }
  });

  test.each([
    ['end', 'abc'],
    ['destroy', 'BB_CONNECTION'],
  ] as const)('a body without a length ends with TLS, and not with the socket (%s)', async (end, expected) => {
    await using server = await startRawServer(
      ({ socket }) => void socket.write('HTTP/1.1 200 OK\r\n\r\nabc', () => socket[end]()),
      true,
    );
    await using client = await HttpClient.connect(server.url, options);
    const asked = client.request({ path: '/' }).then(
      (response) => response.text(),
      (thrown: unknown) => (thrown as BoundaryError).code,
    );
    expect(await asked).toBe(expected);
  });
});

describe('MySQL', () => {
  const options = { tls: 'verify', tlsCa: AUTHORITY, connections: 2 } as const;

  test('statements and results of any size, many at once', async () => {
    const rows = Array.from({ length: 20_000 }, (_, row) =>
      packet((3 + row) % 256, Buffer.from(`\u0064${'x'.repeat(100)}`)),
    );
    const one = oneText('');
    const head = one.subarray(0, one.length - packet(0, [0]).length - packet(0, Buffer.alloc(7)).length);
    const many = Buffer.concat([head, ...rows, packet((3 + rows.length) % 256, [0xfe, 0, 0, 2, 0, 0, 0])]);
    const server = await startScriptedMysql(greeting(WITH_TLS), (sql, socket) => {
      if (sql === 'LARGE') socket.write(many);
      else socket.write(sql.length > 1000 ? okPacket(1) : oneText(sql));
    });
    await using client = await SqlClient.connect(server.url, options);
    const asked = Array.from({ length: MANY }, (_, index) => client.query(`${index}`));
    const read = (await Promise.all(asked)).map((result) => result.rows()[0]);
    expect(read).toEqual(Array.from({ length: MANY }, (_, index) => ({ x: `${index}` })));
    expect((await client.query('LARGE')).rowCount).toBe(20_000);
    expect((await client.query('x'.repeat(LARGE))).rowCount).toBe(0);
    server.close();
  });

  test('a server that closes in the middle of an answer', async () => {
    for (const end of ['end', 'destroy'] as const) {
      const server = await startScriptedMysql(greeting(WITH_TLS), (sql, socket) => {
        if (sql === 'HALF') socket.write(oneText('abc').subarray(0, 40), () => socket[end]());
        else socket.write(oneText('x'));
      });
      const client = await SqlClient.connect(server.url, options);
      await expect(client.query('HALF')).rejects.toMatchObject(lost);
      expect((await client.query('WHOLE')).rows()).toEqual([{ x: 'x' }]);
      await client.close();
      server.close();
    }
  });
});
