/** `KvClient` in a private cluster: slots and keys that move while it reads and writes, and a master that is lost. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { BoundaryError, KvClient } from '../../../src/index.js';
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

  async function ask(master: number, ...words: readonly string[]): Promise<unknown> {
    const [command, ...args] = words;
    const reply = (
      await masters[master]!.pipeline()
        .command(command!, ...args)
        .execute()
    ).value(0);
    if (reply instanceof BoundaryError) throw reply;
    return reply;
  }

  /** The slot of a key, its master and the next one. */
  async function placeOf(key: string): Promise<{ slot: string; from: number; to: number }> {
    const slot = (await ask(0, 'CLUSTER', 'KEYSLOT', key)) as number;
    const from = Math.floor((slot * masters.length) / SLOTS);
    return { slot: String(slot), from, to: (from + 1) % masters.length };
  }

  async function idOf(master: number): Promise<string> {
    return (await ask(master, 'CLUSTER', 'MYID')) as string;
  }

  async function beginMove(slot: string, from: number, to: number): Promise<void> {
    await ask(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
    await ask(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
  }

  async function endMove(slot: string, from: number, to: number): Promise<void> {
    for (const master of [to, from]) await ask(master, 'CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(to));
  }

  /** How often the masters have answered with an error of this kind. */
  async function errors(kind: string): Promise<number> {
    const stats = await Promise.all(masters.map((_, master) => ask(master, 'INFO', 'errorstats')));
    const counts = stats.map((text) =>
      Number(new RegExp(`errorstat_${kind}:count=(\\d+)`).exec(String(text))?.[1] ?? 0),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  const keys = Array.from({ length: 300 }, (_, number) => `key:${number}`);
  const entries = keys.map((key) => [key, `value of ${key}`] as const);

  async function expectAllThere(): Promise<void> {
    expect((await client.mget(keys)).toArray()).toEqual(entries.map(([, value]) => value));
    const pipeline = client.pipeline();
    for (const key of keys) pipeline.get(key);
    expect((await pipeline.execute()).values()).toEqual(entries.map(([, value]) => value));
    const single = await Promise.all(keys.slice(0, 20).map((key) => client.getText(key)));
    expect(single).toEqual(entries.slice(0, 20).map(([, value]) => value));
  }

  test('a moved slot is followed', async () => {
    await client.mset(entries);
    await expectAllThere();
    expect(await errors('MOVED')).toBe(0);
    const { slot, from, to } = await placeOf('{moved}');
    await beginMove(slot, from, to);
    await client.set('{moved}1', 'asked');
    expect(await ask(to, 'CLUSTER', 'COUNTKEYSINSLOT', slot)).toBe(1);
    await endMove(slot, from, to);
    expect(await client.getText('{moved}1')).toBe('asked');
    expect([await errors('ASK'), await errors('MOVED')]).toEqual([1, 1]);
    await expectAllThere();
  });

  test('keys that move under load are read and written where they are', async () => {
    const moving = Array.from({ length: 30 }, (_, number) => `{moved}${number}`);
    await client.mset(moving.map((key) => [key, key]));
    const { slot, from, to } = await placeOf('{moved}');
    const ending = new AbortController();
    const outcomes: unknown[] = [];
    const load = (async (): Promise<void> => {
      while (!ending.signal.aborted) {
        await Promise.all(moving.map((key) => client.set(key, key)));
        outcomes.push(await Promise.all(moving.map((key) => client.getText(key))));
        outcomes.push(
          await client.mget(moving).then(
            (values) => values.toArray(),
            (thrown: unknown) => thrown,
          ),
        );
      }
    })();
    await beginMove(slot, from, to);
    const target = /:(\d+)@/.exec(
      String(await ask(to, 'CLUSTER', 'NODES'))
        .split('\n')
        .find((line) => line.includes('myself'))!,
    )![1]!;
    for (const [number, key] of moving.entries()) {
      await ask(from, 'MIGRATE', '127.0.0.1', target, key, '0', '10000', 'REPLACE');
      while (number === moving.length / 2 && ((await errors('ASK')) === 0 || (await errors('TRYAGAIN')) === 0));
    }
    await endMove(slot, from, to);
    while ((await errors('MOVED')) === 0);
    ending.abort();
    await load;
    // While some of the keys of an MGET are here and some there, no server can execute it.
    const refusals = outcomes.filter((outcome) => outcome instanceof BoundaryError);
    expect(refusals.filter(({ code, message }) => code !== 'BB_ENGINE' || !message.includes('TRYAGAIN'))).toEqual([]);
    const answers = outcomes.filter((outcome) => !(outcome instanceof BoundaryError));
    expect(answers).toEqual(answers.map(() => moving));
    expect((await client.mget(moving)).toArray()).toEqual(moving);
    expect(await ask(from, 'CLUSTER', 'COUNTKEYSINSLOT', slot)).toBe(0);
  });

  test('a transaction is executed by the master of its keys, or refused before anything is sent', async () => {
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
      expect((await run('MULTI', `SET ${tag}bal 0`, 'DISCARD')).values()).toEqual(['OK', 'QUEUED', 'OK']);
      const aborted = await run('multi', `DECRBY ${tag}bal 30`, `NOSUCHCMD ${tag}`, 'exec');
      expect(aborted.error(3)?.message).toContain('EXECABORT');
      expect(await client.getText(`${tag}bal`)).toBe('100');
      // Calls of the same turn of the event loop share the way, and no transaction.
      const both = [
        run(`WATCH ${tag}bal`, 'MULTI', `DECRBY ${tag}bal 30`, 'EXEC'),
        run('MULTI', `GET ${tag}bal`, 'EXEC'),
      ];
      const single = client.getText(`${tag}bal`);
      expect((await both[0]!).value(3)).toEqual([70]);
      expect((await both[1]!).value(2)).toEqual(['70']);
      expect(await single).toBe('70');
    }
    const refused = [
      run('SET t x', 'MULTI', 'SET {a}1 x', 'SET {b}1 x', 'EXEC'),
      run('SET t x', 'MULTI', 'SET {a}1 x'),
      run('SET t x', 'MULTI', 'FLUSHALL', 'EXEC'),
      run('SET t x', 'SCAN 0'),
    ];
    // A call of the same submission is executed.
    const between = client.set('between', '1');
    const outcomes = await Promise.allSettled(refused);
    const refusal = { code: 'BB_UNSUPPORTED', message: expect.stringContaining('nothing was sent') };
    for (const outcome of outcomes) {
      expect(outcome).toEqual({ status: 'rejected', reason: expect.objectContaining(refusal) });
    }
    await between;
    expect((await client.mget(['t', '{a}1', '{b}1', 'between'])).toArray()).toEqual([null, null, null, '1']);
  });

  test('commands that mean all keys or all servers go to all masters', async () => {
    await client.mset(entries);
    const first = await client.pipeline().command('DBSIZE').command('KEYS', 'key:1*').command('RANDOMKEY').execute();
    expect(first.value(0)).toBe(keys.length);
    expect((first.value(1) as string[]).toSorted()).toEqual(keys.filter((key) => key.startsWith('key:1')).toSorted());
    expect(keys).toContain(first.value(2));
    const script = "return redis.call('GET', KEYS[1])";
    const sha = (await client.pipeline().command('SCRIPT', 'LOAD', script).execute()).text(0)!;
    const pipeline = client.pipeline();
    for (const key of keys) pipeline.command('EVALSHA', sha, '1', key);
    expect((await pipeline.execute()).values()).toEqual(entries.map(([, value]) => value));
    const last = await client
      .pipeline()
      .command('SCRIPT', 'EXISTS', sha)
      .command('FLUSHALL')
      .command('DBSIZE')
      .execute();
    expect(last.values()).toEqual([[1], 'OK', 0]);
    for (const master of masters.keys()) expect(await ask(master, 'DBSIZE')).toBe(0);
  });

  /** A key of each master, in the order of the masters, each with itself as its value. */
  async function keyOfEach(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const key of keys) found[(await placeOf(key)).from] ??= key;
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

  test('a lost master is an error for its keys alone, by a code that says whether they may have been executed', async () => {
    await client.mset(entries);
    // Both of the client's connections have connections to all masters.
    await Promise.all([client.mget(keys), client.mget(keys)]);
    process.kill(cluster.processIds[1]!, 'SIGKILL');
    while (cluster.ending === null) await new Promise((next) => setTimeout(next, 5));
    const codes = async (): Promise<ReadonlySet<string>> => {
      const values = await client.mget(keys);
      const found = new Set<string>();
      for (const [index, [, value]] of entries.entries()) {
        found.add(values.error(index)?.code ?? (values.text(index) === value ? 'right' : 'wrong'));
      }
      return found;
    };
    // A connection whose loss is noticed before anything is sent is replaced, which fails here; later it is BB_CONNECTION.
    const found = new Set<string>();
    for (let call = 0; call < 4; call += 1) for (const code of await codes()) found.add(code);
    found.delete('BB_CONNECTION');
    expect(found).toEqual(new Set(['right', 'BB_ENGINE']));
  });
});
