/** A panic in a callback of the event loop fails the requests under way there, and nothing else. */
import { createRequire } from 'node:module';

import { expect, test } from 'vitest';

import { addonPath } from '../../src/addon.js';
import { crossing } from '../../src/crossing-addon.js';
import { HttpClient, KvClient, ShardClient, SqlClient } from '../../src/index.js';
import { startRawServer } from '../library/http/http-server.js';
import { greeting, oneText, PLAIN, startScriptedMysql } from '../library/sql/scripted-mysql.js';
import { startScriptedRedis } from '../library/kv/scripted-redis.js';
import { errorWith } from '../error-with.js';

/** Makes the next callback of a kind panic on this thread; it is not in the public types. */
const { panicInCallback } = createRequire(import.meta.url)(addonPath()) as {
  panicInCallback(kind: 'poll' | 'check' | 'prepare'): void;
};

const panicked = errorWith('BB_INTERNAL', 'a test asked for it');

/** Makes a request, one while a callback panics, and one more; resolves to the answers of the first and the last. */
async function asks(kind: 'poll' | 'check' | 'prepare', ask: () => Promise<unknown>): Promise<unknown[]> {
  const before = await ask();
  const failing = expect(ask()).rejects.toEqual(panicked);
  panicInCallback(kind);
  await failing;
  return [before, await ask()];
}

// This test must be the first of the file: check callbacks run for all clients that a thread ever had.
test.each(['check', 'poll'] as const)('requests over HTTP (%s)', async (kind) => {
  await using server = await startRawServer(({ answer }) => answer('here'));
  await using client = await HttpClient.connect(server.url);
  const ask = async (): Promise<string> => (await client.request({ path: '/' })).text();
  expect(await asks(kind, ask)).toEqual(['here', 'here']);
});

test('commands of Redis', async () => {
  const server = await startScriptedRedis(([name], socket) => {
    if (name === 'GET') socket.write('$1\r\nx\r\n');
  });
  await using client = await KvClient.connect(`${server.url}?cluster=false`);
  expect(await asks('poll', () => client.getText('a'))).toEqual(['x', 'x']);
  server.close();
});

test('statements of MySQL', async () => {
  const server = await startScriptedMysql(greeting(PLAIN), (_sql, socket) => void socket.write(oneText('1')));
  await using client = await SqlClient.connect(server.url, { connections: 1 });
  const ask = async (): Promise<unknown> => (await client.query('SELECT 1')).rows();
  expect(await asks('poll', ask)).toEqual([[{ x: '1' }], [{ x: '1' }]]);
  server.close();
});

test.each(['poll', 'prepare'] as const)(
  'calls of shards (%s)',
  async (kind) => {
    const shards = await crossing.PrivateShards.start(2);
    {
      await using client = await ShardClient.connect(shards.urls);
      expect(await asks(kind, () => client.get(7))).toEqual([null, null]);
    }
    await shards.stop();
  },
  60_000,
);
