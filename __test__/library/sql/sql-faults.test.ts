import { Worker } from 'node:worker_threads';

import { expect, test } from 'vitest';

import { SqlClient } from '../../../src/index.js';
import { greeting, okPacket, oneText, packet, PLAIN, startScriptedMysql, WITH_TLS } from './scripted-mysql.js';
import { errorWith } from '../../error-with.js';

test('a connection that is reset behind its answer is not used again', async () => {
  let asked = 0;
  const server = await startScriptedMysql(greeting(PLAIN), (_sql, socket) => {
    asked += 1;
    if (asked % 2 === 1) socket.write(oneText('1'), () => socket.resetAndDestroy());
    else socket.write(oneText('2'));
  });
  for (let round = 0; round < 5; round += 1) {
    asked = 0;
    const client = await SqlClient.connect(server.url, { connections: 1 });
    expect((await client.query('SELECT 1')).rows()).toEqual([{ x: '1' }]);
    // After this pause the reset has arrived, too.
    await new Promise((next) => setTimeout(next, 20));
    expect((await client.query('SELECT 2')).rows()).toEqual([{ x: '2' }]);
    await client.close();
  }
  server.close();
});

test('calls are rejected whose server is gone, and does not come back', async () => {
  const server = await startScriptedMysql(greeting(PLAIN), (_sql, socket) => void socket.destroy());
  await using client = await SqlClient.connect(server.url, { connections: 2 });
  server.close();
  for (let call = 0; call < 2; call += 1) {
    await expect(client.ping()).rejects.toMatchObject({ code: 'BB_CONNECTION' });
  }
});

test('a result that comes faster than it is read leaves the event loop time for others', async () => {
  // The server has a thread of its own, so that the event loop of this one never waits for it.
  const server = new Worker(new URL('flooding-mysql.mjs', import.meta.url));
  const port = await new Promise<number>((resolve) => void server.once('message', resolve));
  const client = await SqlClient.connect(`mysql://me@127.0.0.1:${port}/`, { connections: 1 });
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const { rowCount } = await client.query('SELECT x');
  clearInterval(timer);
  expect(rowCount).toBe(200_000);
  // 40 MB are read in more than a hundred turns of the event loop.
  expect(turns).toBeGreaterThan(5);
  await client.close();
  await server.terminate();
});

test('bytes before the encryption are not taken for bytes within it', async () => {
  const server = await startScriptedMysql(Buffer.concat([greeting(WITH_TLS), okPacket(2)]), () => {});
  await expect(SqlClient.connect(`${server.url}?tls=required`, { timeoutMs: 5000 })).rejects.toThrow(
    /no TLS with .* the server says more before the encryption than it may/,
  );
  server.close();
});

test('a server that wants the password itself gets nothing unless an option lets it', async () => {
  let asked: string[] = [];
  const server = await startScriptedMysql(
    greeting(PLAIN, 'caching_sha2_password'),
    (said) => asked.push(said),
    (sequence) => packet(sequence, [1, 4]),
  );
  for (const options of [{}, { allowPublicKeyRetrieval: false }]) {
    await expect(SqlClient.connect(server.url, options)).rejects.toThrow(
      errorWith('BB_INSECURE', /tls=verify.*server-public-key.*allow-public-key-retrieval/),
    );
  }
  await expect(SqlClient.connect(server.url, { serverPublicKey: '/no/such.pem' })).rejects.toThrow(/no\/such\.pem/);
  expect(asked).toEqual([]);
  // Now the client asks the server for its key, and gets none.
  const allowed = SqlClient.connect(server.url, { allowPublicKeyRetrieval: true, timeoutMs: 1000 });
  await expect(allowed).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
  expect(asked.length).toBe(1);
  server.close();
});

test('an answer beyond the limit is refused, and the next call goes by another connection', async () => {
  const server = await startScriptedMysql(greeting(PLAIN), (sql, socket) => {
    socket.write(oneText(sql === 'LONG' ? 'x'.repeat(200) : 'y'));
  });
  const client = await SqlClient.connect(server.url, { connections: 1, maxResponseBytes: 100 });
  await expect(client.query('LONG')).rejects.toMatchObject({ code: 'BB_TOO_LARGE' });
  expect((await client.query('SHORT')).rows()).toEqual([{ x: 'y' }]);
  await client.close();
  for (const [name, value] of [
    ['maxResponseBytes', 0],
    ['tls', 'perhaps'],
    ['allowPublicKeyRetrieval', 'yes'],
    ['tlsCa', '/ca.pem'],
  ] as const) {
    await expect(SqlClient.connect(server.url, { [name]: value }), name).rejects.toMatchObject({
      code: 'BB_INVALID_ARGUMENT',
    });
  }
  server.close();
});

test('results whose memory was released say so', async () => {
  const server = new Worker(new URL('flooding-mysql.mjs', import.meta.url));
  const port = await new Promise<number>((resolve) => void server.once('message', resolve));
  const client = await SqlClient.connect(`mysql://me@127.0.0.1:${port}/`, { connections: 1 });
  const results = await client.run([{ sql: 'SELECT x' }]);
  expect(results.errors).toEqual([]);
  results.chunk()!.release();
  const released = expect.objectContaining({ code: 'BB_CLOSED', message: 'the results were released' });
  const readings = [
    () => results.errors,
    () => results.affectedRows,
    () => results.throwIfFailed(),
    () => results.at(0),
    () => results.rows(),
    () => results.cursor(),
    () => results.chunk(),
  ];
  for (const read of readings) expect(read).toThrow(released);
  await client.close();
  await server.terminate();
});
