import { connect, createServer, type Socket } from 'node:net';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { BoundaryError, KvClient } from '../../../src/index.js';
import { detachedByStream, triedTransfer } from '../../detached.js';
import { redisOfSuite, startRedis } from '../../redis-server.js';
import { lacks } from '../../needs.js';
import { codeOf, errorWith } from '../../error-with.js';
import { listening } from '../../listening.js';

describe.skipIf(lacks('redis'))('KvClient', () => {
  const redis = redisOfSuite();

  /** Runs a command over another connection than the one under test. */
  const run = async (...command: [string, ...string[]]): Promise<unknown> => {
    await using admin = await KvClient.connect(redis.url);
    return (
      await admin
        .pipeline()
        .command(...command)
        .execute()
    ).value(0);
  };

  /** Waits until the server has a redis.client in a blocking command. */
  const untilBlocked = async (): Promise<void> => {
    while (!String(await run('CLIENT', 'LIST')).includes('cmd=blpop')) await new Promise((next) => setTimeout(next, 5));
  };

  /** The text that bytes must be read as: the code of an error if they are not valid UTF-8. */
  const utf8 = (bytes: Uint8Array): string =>
    Buffer.from(Buffer.from(bytes).toString()).equals(bytes) ? Buffer.from(bytes).toString() : 'BB_INVALID_VALUE';

  /** The result of a function, or the code of the error that it throws. */
  const textOf = (read: () => string | null): string | null => {
    try {
      return read();
    } catch (thrown) {
      return (thrown as BoundaryError).code;
    }
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
        await redis.client.mset(entries);
        const last = new Map(
          entries.map(([key, value]) => [Buffer.from(key as string).toString('hex'), bytesOf(value)]),
        );
        const expected = entries.map(([key]) => last.get(Buffer.from(key as string).toString('hex'))!);
        const keys = entries.map(([key]) => key);
        const values = await redis.client.mget(keys);
        const pipeline = redis.client.pipeline();
        for (const key of keys) pipeline.get(key);
        const replies = await pipeline.execute();
        const single = await Promise.all(keys.map((key) => redis.client.get(key)));
        for (const [index, value] of expected.entries()) {
          expect(new Uint8Array(values.bytes(index)!)).toEqual(value);
          expect(new Uint8Array(replies.bytes(index)!)).toEqual(value);
          expect(single[index]).toEqual(value);
          expect(textOf(() => values.text(index))).toEqual(utf8(value));
          expect(textOf(() => replies.text(index))).toEqual(utf8(value));
        }
        const seen: unknown[] = [];
        for (const entry of values.cursor()) {
          expect(new Uint8Array(entry.bytes!)).toEqual(expected[entry.index]);
          expect(entry.end - entry.start).toBe(expected[entry.index]!.length);
          seen.push(textOf(() => entry.toObject().text));
        }
        expect(seen).toEqual(expected.map(utf8));
        await redis.client.set(keys[0]!, 'x');
        expect(await redis.client.getText(keys[0]!)).toBe('x');
      }),
      { numRuns: 100 },
    );
  });

  test('a cursor moves one entry over values, nulls and errors, and has none after its end', async () => {
    await run('SET', 'cursor:text', 'one');
    await run('LPUSH', 'cursor:list', 'x');
    const replies = await redis.client.pipeline().get('cursor:text').get('cursor:none').get('cursor:list').execute();
    const cursor = replies.cursor();
    const first = cursor.next().value!;
    expect([first.index, first.isNull, first.error, first.text]).toEqual([0, false, undefined, 'one']);
    expect(cursor.next().value).toBe(first);
    expect([first.index, first.isNull, first.text, first.bytes]).toEqual([1, true, null, null]);
    cursor.next();
    expect(first.error).toMatchObject({ code: 'BB_ENGINE' });
    expect(() => first.text).toThrow(errorWith('BB_ENGINE'));
    expect([cursor.next().done, cursor.next().done]).toEqual([true, true]);
    expect(() => first.text).toThrow(errorWith('BB_CLOSED', 'the entry is on no value'));
  });

  test('big batches keep their order, and values that are not there are null', async () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `big:${index}`);
    await redis.client.mset(keys.map((key) => [key, `value of ${key}`]));
    const asked = keys.toReversed().toSpliced(5000, 0, 'big:none');
    const values = await redis.client.mget(asked);
    expect(values.length).toBe(10_001);
    expect(values.isNull(5000)).toBe(true);
    expect(values.toArray()).toEqual(asked.map((key) => (key === 'big:none' ? null : `value of ${key}`)));
    const megabytes = 'x'.repeat(5_000_000);
    await redis.client.mset(new Map([['a', megabytes], ['b', '1']])); // prettier-ignore
    expect([...(await redis.client.mget(['b', 'a']))].map((text) => text?.length)).toEqual([1, 5_000_000]);
    expect(() => values.text(10_001)).toThrow(/there is no value 10001/);
  });

  test('replies are values of JavaScript, and an error belongs to its own command', async () => {
    const replies = await redis.client
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
      errorWith('BB_ENGINE', 'WRONGTYPE'),
      9007199254740994n,
      ['ü', 'a'],
      [1, ['x', null], expect.objectContaining({ message: 'redis: ERR no' })],
      null,
    ]);
    expect(() => replies.text(2)).toThrow(BoundaryError);
    expect(replies.error(2)?.message).toContain('WRONGTYPE');
  });

  test('the values of other calls stay when the memory of one is transferred', async () => {
    await redis.client.set('kept', 'of the first');
    const [kept, sent] = [await redis.client.mget(['kept']), await redis.client.mget(['kept'])];
    expect(sent.data.buffer).toBe(kept.data.buffer);
    triedTransfer(sent.data);
    expect([kept.text(0), sent.text(0)]).toEqual(['of the first', 'of the first']);
  });

  test('memory that results share may be taken away', async () => {
    await redis.client.set('a', '1');
    const values = await redis.client.mget(['a', 'none']);
    const { buffer } = detachedByStream(values.data);
    expect(buffer.byteLength).toBe(0);
    for (let round = 0; round < 5000; round += 1)
      expect((await redis.client.mget(['a', 'none'])).toArray()).toEqual(['1', null]);
  });

  test('calls of one turn are answered each with its own', async () => {
    await using many = await KvClient.connect(redis.url, { connections: 7 });
    const numbers = Array.from({ length: 5000 }, (_, index) => index);
    await Promise.all(numbers.map((number) => many.set(`n:${number}`, String(number))));
    const texts = await Promise.all(numbers.map((number) => many.getText(`n:${number}`)));
    expect(texts).toEqual(numbers.map(String));
  });

  test('commands that cannot be sent are refused, and nothing of them is sent', async () => {
    const bad = 7 as unknown as string;
    expect(await codeOf(redis.client.get(bad))).toBe('BB_INVALID_ARGUMENT');
    await expect(redis.client.mset([['a', 'b'], ['never sent', bad]])).rejects.toThrow('the value of entry 1 must be a string'); // prettier-ignore
    // Texts can be taken apart, too: none of their letters is a key or a value.
    for (const entries of ['ab', ['ab', 'cd'], [['a', 'b', 'c']], [['a']], [new Set(['a', 'b'])]]) {
      const given = entries as unknown as [string, string][];
      await expect(redis.client.mset(given)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    }
    expect(await codeOf(redis.client.mget([]))).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(redis.client.pipeline().execute())).toBe('BB_INVALID_ARGUMENT');
    expect(await codeOf(KvClient.connect(redis.url, { connections: 0 }))).toBe('BB_INVALID_ARGUMENT');
    const unreachable = { code: 'BB_CONNECTION', outcome: 'not executed' };
    await expect(KvClient.connect('redis://127.0.0.1:1')).rejects.toMatchObject(unreachable);
    expect(await redis.client.getText('never sent')).toBeNull();
  });

  test('keys whose reading runs code, or that change meanwhile, are those that were given', async () => {
    await redis.client.mset([['k', 'v'], ['l', 'w']]); // prettier-ignore
    let inner: Promise<string | null> | undefined;
    const keys = ['k', 'l'];
    Object.defineProperty(keys, 0, {
      get: () => {
        inner ??= redis.client.getText('l');
        return 'k';
      },
    });
    expect((await redis.client.mget(keys)).toArray()).toEqual(['v', 'w']);
    expect(await inner).toBe('w');
    let reads = 0;
    const shrinking = new Proxy(['k', 'l'], {
      get: (target, name) => (name === 'length' && (reads += 1) > 1 ? 1 : Reflect.get(target, name)),
    });
    await codeOf(redis.client.mget(shrinking));
    const changed = ['k'];
    const values = redis.client.mget(changed, { timeoutMs: 1000 });
    changed[0] = 'l';
    expect((await values).toArray()).toEqual(['v']);
  });

  test('binary elements of arrays are not changed, however deep they lie', async () => {
    const binary = Buffer.from('82a161ff', 'hex');
    const bytes = new Uint8Array(binary);
    const replies = await redis.client
      .pipeline()
      .command('DEL', 'b:h', 'b:x', 'b:z', 'b:l')
      .command('HSET', 'b:h', 'f', binary, 'g', 'täxt', 'r', '\uFFFD')
      .command('XADD', 'b:x', '1-1', 'f', binary)
      .command('ZADD', 'b:z', '1', binary)
      .command('RPUSH', 'b:l', binary, '7', '')
      .command('HMGET', 'b:h', 'f', 'g', 'r', 'none')
      .command('XRANGE', 'b:x', '-', '+')
      .command('ZRANGE', 'b:z', '0', '-1', 'WITHSCORES')
      .command('LRANGE', 'b:l', '0', '-1')
      .command('EVAL', 'return {{redis.status_reply(ARGV[1]), {ARGV[1]}}, 7}', '0', binary)
      .command('LPOP', 'b:l')
      .execute();
    expect([5, 6, 7, 8, 9, 10].map((index) => replies.value(index))).toEqual([
      [bytes, 'täxt', '\uFFFD', null],
      [['1-1', ['f', bytes]]],
      [bytes, '1'],
      [bytes, '7', ''],
      [[bytes, [bytes]], 7],
      bytes,
    ]);
    const encoded = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
    expect(replies.value(5, 'bytes')).toEqual([bytes, encoded('täxt'), encoded('\uFFFD'), null]);
    expect(replies.value(6, 'bytes')).toEqual([[encoded('1-1'), [encoded('f'), bytes]]]);
    expect(replies.values('bytes').slice(8)).toEqual([
      [bytes, encoded('7'), new Uint8Array()],
      [[bytes, [bytes]], 7],
      bytes,
    ]);
    // @ts-expect-error another form
    expect(() => replies.value(5, 'buffer')).toThrow(errorWith('BB_INVALID_ARGUMENT'));
  });

  test('an array has no text and no bytes of its own, and bytes that are no text are not made one', async () => {
    await redis.client.set('b:v', Buffer.from('ff00', 'hex'));
    const replies = await redis.client.pipeline().command('MGET', 'b:v', 'b:none').get('b:v').execute();
    for (const read of [() => replies.text(0), () => replies.bytes(0), () => replies.toArray(), () => [...replies]]) {
      expect(read).toThrow(errorWith('BB_INVALID_ARGUMENT'));
    }
    expect(() => replies.text(1)).toThrow(errorWith('BB_INVALID_VALUE'));
    expect(replies.bytes(1)).toEqual(new Uint8Array([255, 0]));
    expect(await codeOf(redis.client.getText('b:v'))).toBe('BB_INVALID_VALUE');
    expect(await redis.client.get('b:v')).toEqual(new Uint8Array([255, 0]));
    const values = await redis.client.mget(['b:v']);
    expect(() => values.toArray()).toThrow(errorWith('BB_INVALID_VALUE'));
    expect(() => values.cursor().next().value!.text).toThrow(errorWith('BB_INVALID_VALUE'));
  });

  test('a pipeline that would leave a transaction open is refused, and nothing of it is sent', async () => {
    await redis.client.set('state', 'kept');
    const bytes = (text: string): string => Buffer.from(text) as unknown as string;
    for (const commands of [
      ['MULTI'],
      ['SET state x', 'multi', 'SET state y'],
      ['SET state x', 'WATCH state'],
      ['SET state x', 'EXEC'],
      ['SET state x', 'MULTI', 'Multi', 'EXEC'],
      ['MULTI', 'SET state x', 'EXEC', 'MULTI'],
    ]) {
      for (const form of [String, bytes]) {
        const pipeline = redis.client.pipeline();
        for (const command of commands) {
          const [name, ...args] = command.split(' ');
          pipeline.command(form(name!), ...args);
        }
        await expect(pipeline.execute()).rejects.toThrow(errorWith('BB_UNSUPPORTED', 'nothing was sent'));
        expect(await redis.client.getText('state')).toBe('kept');
      }
    }
  });

  test('transactions run in one pipeline, and calls of others stay outside of them', async () => {
    const transaction = redis.client
      .pipeline()
      .command('WATCH', 'tx')
      .command('MULTI')
      .set('tx', '1')
      .command('INCR', 'tx')
      .command('EXEC')
      .command('MULTI')
      .set('tx', '0')
      .command('DISCARD')
      .execute();
    const other = redis.client.getText('tx');
    expect((await transaction).values()).toEqual(['OK', 'OK', 'QUEUED', 'QUEUED', ['OK', 2], 'OK', 'QUEUED', 'OK']);
    expect(await other).toBe('2');
  });

  test('commands that change the connection or have not one reply are refused, by any spelling', async () => {
    const pipeline = redis.client.pipeline();
    for (const [name, ...args] of [
      ['SUBSCRIBE', 'a', 'b'],
      ['punsubscribe'],
      ['Monitor'],
      ['HELLO', '3'],
      ['CLIENT', 'reply', 'SKIP'],
      ['SELECT', '1'],
      ['select', '0'],
      ['RESET'],
      ['QUIT'],
      ['AUTH', 'x'],
      ['HELLO'],
      ['ASKING'],
      ['ReadOnly'],
      ['READWRITE'],
      ['SSUBSCRIBE', 'a'],
      ['CLIENT', 'TRACKING', 'ON'],
      ['CLIENT', 'no-touch', 'ON'],
      ['CLIENT', 'No-Evict', 'ON'],
      ['SCRIPT', 'DEBUG', 'YES'],
    ] as [string, ...string[]][]) {
      for (const form of [name, Buffer.from(name) as unknown as string]) {
        expect(() => pipeline.command(form, ...args)).toThrow(errorWith('BB_UNSUPPORTED'));
      }
    }
    expect(pipeline.length).toBe(0);
    const allowed = pipeline.command('CLIENT', 'GETNAME').command('SCRIPT', 'EXISTS', 'a').command('CLIENT', 'ID');
    expect((await allowed.execute()).values()).toEqual([null, [0], expect.any(Number)]);
  });

  test('a master that became a replica is left, and the next call goes to where the address leads then', async () => {
    const [old, promoted] = [await startRedis(), await startRedis()];
    const portOf = (url: string): number => Number(new URL(url.replace('redis', 'http')).port);
    let target = portOf(old.url);
    const sockets = new Set<Socket>();
    const proxy = createServer((socket) => {
      const upstream = connect(target, '127.0.0.1');
      for (const end of [socket, upstream]) sockets.add(end.on('error', () => {}));
      socket.pipe(upstream).pipe(socket);
    });
    const port = await listening(proxy);
    for (const write of [
      (kv: KvClient) => kv.set('moved', '1'),
      (kv: KvClient) => kv.mset([['moved', '1']]),
      async (kv: KvClient) => {
        const error = (await kv.pipeline().get('moved').set('moved', '1').execute()).error(1);
        if (error !== undefined) throw error;
      },
    ]) {
      target = portOf(old.url);
      await using admin = await KvClient.connect(old.url);
      await using kv = await KvClient.connect(`redis://127.0.0.1:${port}`, { connections: 3 });
      await admin.pipeline().command('REPLICAOF', '127.0.0.1', '1').execute();
      target = portOf(promoted.url);
      const behind = write(kv).then(() => 'resolved', String);
      expect(await kv.getText('moved')).toBeNull();
      expect(await behind).toContain('READONLY');
      // All connections led to the same server, so none of them is used again.
      await Promise.all([write(kv), write(kv), write(kv), write(kv)]);
      await using there = await KvClient.connect(promoted.url);
      expect(await there.getText('moved')).toBe('1');
      await there.pipeline().command('DEL', 'moved').execute();
      await admin.pipeline().command('REPLICAOF', 'NO', 'ONE').execute();
    }
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await Promise.all([old.stop(), promoted.stop()]);
  });

  test('calls that take too long or are aborted are given up, and later ones work', async () => {
    const blocking = (options: object): Promise<unknown> =>
      redis.client.pipeline().command('BLPOP', 'none', '0').execute(options);
    expect(await codeOf(blocking({ timeoutMs: 50 }))).toBe('BB_TIMEOUT');
    await redis.client.set('after', '1');
    const controller = new AbortController();
    const waiting = codeOf(blocking({ signal: controller.signal }));
    await untilBlocked();
    controller.abort(new Error('enough'));
    expect(await waiting).toBe('BB_ABORTED');
    expect(await codeOf(redis.client.get('after', { signal: AbortSignal.abort() }))).toBe('BB_ABORTED');
    expect(await redis.client.getText('after')).toBe('1');
    await using hasty = await KvClient.connect(redis.url, { timeoutMs: 100 });
    await run('CLIENT', 'PAUSE', '60000', 'WRITE');
    expect(await codeOf(hasty.set('paused', '1'))).toBe('BB_TIMEOUT');
    await run('CLIENT', 'UNPAUSE');
    await hasty.set('paused', '2');
  });

  test('a cut connection is an error for what was in flight, and the next call reconnects', async () => {
    await redis.client.set('count', '0');
    const waiting = redis.client
      .pipeline()
      .command('INCR', 'count')
      .command('BLPOP', 'none', '0')
      .get('count')
      .execute();
    const behind = codeOf(redis.client.get('count'));
    await untilBlocked();
    await run('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const replies = await waiting;
    expect(replies.value(0)).toBe(1);
    expect(replies.error(1)?.code).toBe('BB_CONNECTION');
    expect(replies.error(2)?.code).toBe('BB_CONNECTION');
    expect(await behind).toBe('BB_CONNECTION');
    expect(await redis.client.getText('count')).toBe('1');
    // The connection is killed while no command is in flight.
    await run('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await new Promise((next) => setTimeout(next, 20));
    expect(await redis.client.getText('count')).toBe('1');
  });

  test('closing ends what is under way', async () => {
    const other = await KvClient.connect(redis.url);
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
    // Each of its connections may lose a call before it knows that the server is gone.
    for (let connection = 0; connection < 3; connection += 1) {
      expect(await codeOf(other.get('a'))).toBe('BB_CONNECTION');
    }
    await expect(other.get('a')).rejects.toMatchObject({ code: 'BB_CONNECTION', outcome: 'not executed' });
    await doomed.stop();
  });
});
