import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { BoundaryError, KvClient } from '../../../src/index.js';
import { detachedByStream, triedTransfer } from '../../detached.js';
import { startRedis } from '../../redis-server.js';
import { lacks } from '../../needs.js';

describe.skipIf(lacks('redis'))('KvClient', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let client: KvClient;

  beforeAll(async () => {
    server = await startRedis();
    client = await KvClient.connect(server.url);
  });

  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  /** Runs a command over another connection than the one under test. */
  const run = async (...command: [string, ...string[]]): Promise<unknown> => {
    await using admin = await KvClient.connect(server.url);
    return (
      await admin
        .pipeline()
        .command(...command)
        .execute()
    ).value(0);
  };

  const codeOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'resolved',
      (thrown: unknown) => (thrown as BoundaryError).code,
    );

  /** Waits until the server has a client in a blocking command. */
  const untilBlocked = async (): Promise<void> => {
    while (!String(await run('CLIENT', 'LIST')).includes('cmd=blpop')) await new Promise((next) => setTimeout(next, 5));
  };

  test('keys and values of any bytes come back, by every way', async () => {
    const data = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 100 }).filter((text) => Buffer.from(text).toString() === text),
      fc.constantFrom('', '\r\n', 'ü'.repeat(70), 'a'.repeat(200), '$-1\r\n'),
    );
    const bytesOf = (value: string | Uint8Array): Uint8Array => new Uint8Array(Buffer.from(value as string));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(data, data), { minLength: 1, maxLength: 20 }), async (entries) => {
        await client.mset(entries);
        const last = new Map(
          entries.map(([key, value]) => [Buffer.from(key as string).toString('hex'), bytesOf(value)]),
        );
        const expected = entries.map(([key]) => last.get(Buffer.from(key as string).toString('hex'))!);
        const keys = entries.map(([key]) => key);
        const values = await client.mget(keys);
        const pipeline = client.pipeline();
        for (const key of keys) pipeline.get(key);
        const replies = await pipeline.execute();
        const single = await Promise.all(keys.map((key) => client.get(key)));
        for (const [index, value] of expected.entries()) {
          expect(new Uint8Array(values.bytes(index)!)).toEqual(value);
          expect(new Uint8Array(replies.bytes(index)!)).toEqual(value);
          expect(single[index]).toEqual(value);
          expect(values.text(index)).toBe(Buffer.from(value).toString('utf8'));
        }
        const seen: unknown[] = [];
        for (const entry of values.cursor()) {
          expect(new Uint8Array(entry.bytes!)).toEqual(expected[entry.index]);
          expect(entry.end - entry.start).toBe(expected[entry.index]!.length);
          seen.push(entry.toObject());
        }
        expect(seen).toEqual(values.toArray().map((text, index) => ({ index, text })));
        await client.set(keys[0]!, 'x');
        expect(await client.getText(keys[0]!)).toBe('x');
      }),
      { numRuns: 100 },
    );
  });

  test('a cursor moves one entry over values, nulls and errors, and has none after its end', async () => {
    await run('SET', 'cursor:text', 'one');
    await run('LPUSH', 'cursor:list', 'x');
    const replies = await client.pipeline().get('cursor:text').get('cursor:none').get('cursor:list').execute();
    const cursor = replies.cursor();
    const first = cursor.next().value!;
    expect([first.index, first.isNull, first.error, first.text]).toEqual([0, false, undefined, 'one']);
    expect(cursor.next().value).toBe(first);
    expect([first.index, first.isNull, first.text, first.bytes]).toEqual([1, true, null, null]);
    cursor.next();
    expect(first.error).toMatchObject({ code: 'BB_ENGINE' });
    expect(() => first.text).toThrow(expect.objectContaining({ code: 'BB_ENGINE' }));
    expect([cursor.next().done, cursor.next().done]).toEqual([true, true]);
    expect(() => first.text).toThrow(
      expect.objectContaining({ code: 'BB_CLOSED', message: expect.stringContaining('the entry is on no value') }),
    );
  });

  test('big batches keep their order, and values that are not there are null', async () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `big:${index}`);
    await client.mset(keys.map((key) => [key, `value of ${key}`]));
    const asked = keys.toReversed().toSpliced(5000, 0, 'big:none');
    const values = await client.mget(asked);
    expect(values.length).toBe(10_001);
    expect(values.isNull(5000)).toBe(true);
    expect(values.toArray()).toEqual(asked.map((key) => (key === 'big:none' ? null : `value of ${key}`)));
    const megabytes = 'x'.repeat(5_000_000);
    await client.mset(new Map([['a', megabytes], ['b', '1']])); // prettier-ignore
    expect([...(await client.mget(['b', 'a']))].map((text) => text?.length)).toEqual([1, 5_000_000]);
    expect(() => values.text(10_001)).toThrow(/there is no value 10001/);
  });

  test('replies are values of JavaScript, and an error is that of its own command', async () => {
    const replies = await client
      .pipeline()
      .set('text', '9007199254740993')
      .command('LPUSH', 'list', 'a', 'ü')
      .get('list')
      .command('INCR', 'text')
      .command('LRANGE', 'list', '0', '-1')
      .command('EVAL', "return {1, {'x', false}, redis.error_reply('ERR no')}", '0')
      .get('none')
      .execute();
    expect(replies.values()).toEqual([
      'OK',
      2,
      expect.objectContaining({ code: 'BB_ENGINE', message: expect.stringContaining('WRONGTYPE') }),
      9007199254740994n,
      ['ü', 'a'],
      [1, ['x', null], expect.objectContaining({ message: 'redis: ERR no' })],
      null,
    ]);
    expect(() => replies.text(2)).toThrow(BoundaryError);
    expect(replies.error(2)?.message).toContain('WRONGTYPE');
  });

  test('the values of other calls stay when the memory of one is transferred', async () => {
    await client.set('kept', 'of the first');
    const [kept, sent] = [await client.mget(['kept']), await client.mget(['kept'])];
    expect(sent.data.buffer).toBe(kept.data.buffer);
    triedTransfer(sent.data);
    expect([kept.text(0), sent.text(0)]).toEqual(['of the first', 'of the first']);
  });

  test('memory that results share may be taken away', async () => {
    await client.set('a', '1');
    const values = await client.mget(['a', 'none']);
    const { buffer } = detachedByStream(values.data);
    expect(buffer.byteLength).toBe(0);
    for (let round = 0; round < 5000; round += 1)
      expect((await client.mget(['a', 'none'])).toArray()).toEqual(['1', null]);
  });

  test('calls of one turn are answered each with its own', async () => {
    await using many = await KvClient.connect(server.url, { connections: 7 });
    const numbers = Array.from({ length: 5000 }, (_, index) => index);
    await Promise.all(numbers.map((number) => many.set(`n:${number}`, String(number))));
    const texts = await Promise.all(numbers.map((number) => many.getText(`n:${number}`)));
    expect(texts).toEqual(numbers.map(String));
  });

  test('what can not be sent is refused, and nothing of it is sent', async () => {
    const bad = 7 as unknown as string;
    expect(await codeOf(client.get(bad))).toBe('BB_INVALID_ARGUMENT');
    await expect(client.mset([['a', 'b'], ['never sent', bad]])).rejects.toThrow('the value of entry 1 must be a string'); // prettier-ignore
    // Texts can be taken apart, too: none of their letters is a key or a value.
    for (const entries of ['ab', ['ab', 'cd'], [['a', 'b', 'c']], [['a']], [new Set(['a', 'b'])]]) {
      const given = entries as unknown as [string, string][];
      await expect(client.mset(given)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    }
    expect(await codeOf(client.mget([]))).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(client.pipeline().execute())).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(KvClient.connect(server.url, { connections: 0 }))).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(KvClient.connect('redis://127.0.0.1:1'))).toBe('BB_ENGINE');
    expect(await client.getText('never sent')).toBeNull();
  });

  test('keys whose reading runs code, or that change meanwhile, are those that were given', async () => {
    await client.mset([['k', 'v'], ['l', 'w']]); // prettier-ignore
    let inner: Promise<string | null> | undefined;
    const keys = ['k', 'l'];
    Object.defineProperty(keys, 0, {
      get: () => {
        inner ??= client.getText('l');
        return 'k';
      },
    });
    expect((await client.mget(keys)).toArray()).toEqual(['v', 'w']);
    expect(await inner).toBe('w');
    let reads = 0;
    const shrinking = new Proxy(['k', 'l'], {
      get: (target, name) => (name === 'length' && (reads += 1) > 1 ? 1 : Reflect.get(target, name)),
    });
    await codeOf(client.mget(shrinking));
    const changed = ['k'];
    const values = client.mget(changed, { timeoutMs: 1000 });
    changed[0] = 'l';
    expect((await values).toArray()).toEqual(['v']);
  });

  test('commands that are not answered by one reply are refused, since others would get their answers', async () => {
    const pipeline = client.pipeline();
    for (const [name, ...args] of [
      ['SUBSCRIBE', 'a', 'b'],
      ['punsubscribe'],
      ['Monitor'],
      ['HELLO', '3'],
      ['CLIENT', 'reply', 'SKIP'],
    ] as [string, ...string[]][]) {
      expect(() => pipeline.command(name, ...args)).toThrow(expect.objectContaining({ code: 'BB_UNSUPPORTED' }));
    }
    expect(pipeline.length).toBe(0);
    expect((await pipeline.command('CLIENT', 'ID').execute()).value(0)).toBeTypeOf('number');
  });

  test('calls that take too long or are aborted are given up, and later ones work', async () => {
    const blocking = (options: object): Promise<unknown> =>
      client.pipeline().command('BLPOP', 'none', '0').execute(options);
    expect(await codeOf(blocking({ timeoutMs: 50 }))).toBe('BB_TIMEOUT');
    await client.set('after', '1');
    const controller = new AbortController();
    const waiting = codeOf(blocking({ signal: controller.signal }));
    await untilBlocked();
    controller.abort(new Error('enough'));
    expect(await waiting).toBe('BB_ABORTED');
    expect(await codeOf(client.get('after', { signal: AbortSignal.abort() }))).toBe('BB_ABORTED');
    expect(await client.getText('after')).toBe('1');
    await using hasty = await KvClient.connect(server.url, { timeoutMs: 100 });
    await run('CLIENT', 'PAUSE', '60000', 'WRITE');
    expect(await codeOf(hasty.set('paused', '1'))).toBe('BB_TIMEOUT');
    await run('CLIENT', 'UNPAUSE');
    await hasty.set('paused', '2');
  });

  test('a cut connection is an error for what was in flight, and the next call connects anew', async () => {
    await client.set('count', '0');
    const waiting = client.pipeline().command('INCR', 'count').command('BLPOP', 'none', '0').get('count').execute();
    const behind = codeOf(client.get('count'));
    await untilBlocked();
    await run('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const replies = await waiting;
    expect(replies.value(0)).toBe(1);
    expect(replies.error(1)?.code).toBe('BB_CONNECTION');
    expect(replies.error(2)?.code).toBe('BB_CONNECTION');
    expect(await behind).toBe('BB_CONNECTION');
    expect(await client.getText('count')).toBe('1');
    // The connection is killed while no command is in flight.
    await run('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await new Promise((next) => setTimeout(next, 20));
    expect(await client.getText('count')).toBe('1');
  });

  test('closing ends what is under way', async () => {
    const other = await KvClient.connect(server.url);
    const waiting = codeOf(other.pipeline().command('BLPOP', 'none', '0').execute());
    await untilBlocked();
    await other.close();
    await other.close();
    expect(await waiting).toBe('BB_CLOSED');
    expect(await codeOf(other.get('a'))).toBe('BB_CLOSED');
  });

  test('a server killed in a batch is an error and no hang', async () => {
    const doomed = await startRedis();
    await using other = await KvClient.connect(doomed.url, { connections: 3 });
    const waiting = codeOf(other.pipeline().command('BLPOP', 'none', '0').get('a').execute());
    await other.set('a', 'b');
    process.kill(doomed.processIds[0]!, 'SIGKILL');
    expect(['resolved', 'BB_CONNECTION']).toContain(await waiting);
    expect(['BB_ENGINE', 'BB_CONNECTION']).toContain(await codeOf(other.get('a')));
    expect(await codeOf(other.get('a'))).toBe('BB_ENGINE');
    await doomed.stop();
  });
});
