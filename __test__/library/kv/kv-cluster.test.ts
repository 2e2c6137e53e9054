/** `KvClient` in a private cluster: calls that share its connections, and a master that hangs or is lost. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { KvClient } from '../../../src/index.js';
import { lacks } from '../../needs.js';
import { connectMasters, startRedisCluster } from '../../redis-server.js';

const SLOTS = 16_384;

describe.skipIf(lacks('redis'))('KvClient in a cluster', () => {
  let cluster: Awaited<ReturnType<typeof startRedisCluster>>;
  let masters: readonly KvClient[];
  let client: KvClient;

  beforeEach(async () => {
    cluster = await startRedisCluster();
    masters = await connectMasters(cluster.url);
    client = await KvClient.connect(cluster.url, { connections: 2 });
  });
  afterEach(async () => {
    await Promise.all([client, ...masters].map((open) => open.close()));
    await cluster.stop();
  });

  const keys = Array.from({ length: 300 }, (_, number) => `key:${number}`);

  test('calls of the same turn of the event loop share the way, and no transaction', async () => {
    const run = (...commands: readonly string[]) => {
      const pipeline = client.pipeline();
      for (const command of commands) {
        const [name, ...args] = command.split(' ');
        pipeline.command(name!, ...args);
      }
      return pipeline.execute();
    };
    for (const tag of ['{a}', '{b}', '{c}', '{d}']) {
      await client.set(`${tag}bal`, '100');
      const both = [
        run(`WATCH ${tag}bal`, 'MULTI', `DECRBY ${tag}bal 30`, 'EXEC'),
        run('MULTI', `GET ${tag}bal`, 'EXEC'),
      ];
      const single = client.getText(`${tag}bal`);
      expect((await both[0]!).value(3)).toEqual([70]);
      expect((await both[1]!).value(2)).toEqual(['70']);
      expect(await single).toBe('70');
    }
    const refused = [run('SET t x', 'MULTI', 'SET {a}1 x', 'SET {b}1 x', 'EXEC'), run('SET t x', 'SCAN 0')];
    // A call of the same submission is executed.
    const between = client.set('between', '1');
    const refusal = { code: 'BB_UNSUPPORTED', message: expect.stringContaining('nothing was sent') };
    await Promise.all(refused.map((call) => expect(call).rejects.toMatchObject(refusal)));
    await between;
    expect((await client.mget(['t', '{a}1', '{b}1', 'between'])).toArray()).toEqual([null, null, null, '1']);
  });

  /** A key of each master, in the order of the masters, each with itself as its value. */
  async function keyOfEach(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const key of keys) {
      const slot = (await masters[0]!.pipeline().command('CLUSTER', 'KEYSLOT', key).execute()).value(0) as number;
      found[Math.floor((slot * masters.length) / SLOTS)] ??= key;
    }
    await client.mset(found.map((key) => [key, key]));
    return found;
  }

  test('a master that hangs holds up the calls to itself alone', async () => {
    const [hung, ...others] = await keyOfEach();
    await using one = await KvClient.connect(cluster.url);
    const expectOthers = async (): Promise<void> => {
      for (let call = 0; call < 10; call += 1) for (const key of others) expect(await one.getText(key)).toBe(key);
      expect((await one.mget(others)).toArray()).toEqual(others);
    };
    await one.mget([hung!, ...others]);
    const ending = new AbortController();
    const { signal } = ending;
    process.kill(cluster.processIds[0]!, 'SIGSTOP');
    try {
      const patient = one.getText(hung!);
      const stuck = [one.getText(hung!, { signal }), one.pipeline().get(others[0]!).get(hung!).execute({ signal })];
      // Of the same turn of the event loop.
      expect(await one.getText(others[0]!)).toBe(others[0]);
      await expectOthers();
      const begun = one.getText(hung!, { signal });
      ending.abort();
      for (const call of [...stuck, begun]) await expect(call).rejects.toMatchObject({ code: 'BB_ABORTED' });
      await expectOthers();
      await expect(one.getText(hung!, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
      await expectOthers();
      process.kill(cluster.processIds[0]!, 'SIGCONT');
      // The call that was sent before has its answer on the connection that the others have given up.
      expect(await patient).toBe(hung);
      expect((await one.mget([hung!, ...others])).toArray()).toEqual([hung, ...others]);
    } finally {
      process.kill(cluster.processIds[0]!, 'SIGCONT');
    }
  });

  test('the server of the URL may be lost once the client has connected', async () => {
    const [, ...others] = await keyOfEach();
    process.kill(cluster.processIds[0]!, 'SIGKILL');
    while (cluster.ending === null) await new Promise((next) => setTimeout(next, 5));
    const list = `{${others[0]}}list`;
    // A call of each connection is given up.
    const given = [1, 2].map(() => client.pipeline().command('BLPOP', list, '0').execute({ timeoutMs: 50 }));
    for (const call of given) await expect(call).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    for (let call = 0; call < 10; call += 1) {
      expect(await Promise.all(others.map((key) => client.getText(key)))).toEqual(others);
    }
  });
});
