/** A call that is refused leaves its place to the call behind it, in every queue of calls. */

import { describe, expect, test } from 'vitest';

import { createWorkers, KvClient, ShardClient, ShardStore, SqlClient } from '../../../src/index.js';
import { startScriptedRedis } from '../kv/scripted-redis.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';

/** The outcomes of calls, in the order of the calls; a call that is never settled makes the test time out. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((call) => (call.status === 'rejected' ? (call.reason as { code?: string }).code : 'answered'));
}

describe.skipIf(lacks('mysql'))('the queue of a SqlClient', () => {
  const server = mysqlOfSuite();

  test('goes on behind calls that are refused when their turn comes', async () => {
    await using client = await SqlClient.connect(server.url, { connections: 1 });
    // More lists than one call takes, which is found when the call is sent.
    const list: readonly [] = [];
    const tooMany = Array.from({ length: (1 << 24) + 1 }, () => list);
    const calls = [
      client.query('SELECT SLEEP(0.2)'),
      client.queryMany('SELECT 1', tooMany),
      client.queryMany('SELECT 1', tooMany),
      client.query('SELECT 1'),
      client.ping(),
    ];
    expect(await outcomes(calls)).toEqual([
      'answered',
      'BB_INVALID_ARGUMENT',
      'BB_INVALID_ARGUMENT',
      'answered',
      'answered',
    ]);
    // The same on an idle connection.
    expect(await outcomes([client.queryMany('SELECT 1', tooMany), client.ping()])).toEqual([
      'BB_INVALID_ARGUMENT',
      'answered',
    ]);
  }, 60_000);

  test('goes on by another connection behind a call whose connection was lost', async () => {
    await using admin = await SqlClient.connect(server.url, { connections: 1 });
    await using client = await SqlClient.connect(server.url, { connections: 1 });
    const [row] = (await client.query('SELECT CONNECTION_ID() AS id')).rows();
    const settled = outcomes([
      client.query('SELECT SLEEP(20)'),
      client.query('SELECT 1'),
      client.execute('SELECT ?', [1]),
    ]);
    await admin.query(`KILL ${String(row!['id'])}`);
    expect(await settled).toEqual(['BB_CONNECTION', 'answered', 'answered']);
  });
});

test('the queue of a KvClient goes on behind calls that are refused', async () => {
  const server = await startScriptedRedis(([name], socket) => {
    socket.write(name === 'GET' ? '$5\r\nvalue\r\n' : '-ERR no such command\r\n');
  });
  await using client = await KvClient.connect(server.url);
  const unusable = Symbol('no key') as unknown as string;
  const calls = [client.getText('a'), client.getText(unusable), client.set('b', 'c'), client.getText('d')];
  expect(await outcomes(calls)).toEqual(['answered', 'BB_INVALID_ARGUMENT', 'BB_ENGINE', 'answered']);
  server.close();
});

test('the calls of a ShardClient go on behind one that is refused', async () => {
  await using client = await ShardClient.connect([ShardStore.inMemory()]);
  const calls = [client.populate(10), client.populate(-1), client.populate(5, { replace: true }), client.describe()];
  expect((await outcomes(calls)).slice(2)).toEqual(['answered', 'answered']);
});

test('a pool of workers goes on behind a call whose argument cannot be sent', async () => {
  await using pool = await createWorkers({
    module: new URL('../workers/functions.mjs', import.meta.url),
    count: 1,
  });
  const unsendable = { left: () => {}, right: 1 };
  const calls = [{ left: 1, right: 2 }, unsendable, unsendable, { left: 3, right: 4 }].map((argument) =>
    pool.run('add', argument),
  );
  expect(await outcomes(calls)).toEqual(['answered', 'BB_NOT_CLONEABLE', 'BB_NOT_CLONEABLE', 'answered']);
});
