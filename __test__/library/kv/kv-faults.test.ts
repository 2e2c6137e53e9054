import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

import { describe, expect, test } from 'vitest';

import { addon } from '../../../src/addon.js';
import { BoundaryError, KvClient } from '../../../src/index.js';
import { lacks } from '../../needs.js';
import { startRedis, startRedisCluster } from '../../redis-server.js';
import { startScriptedRedis } from './scripted-redis.js';
import { codeOf } from '../../error-with.js';

const pause = (ms: number): Promise<void> => new Promise((next) => setTimeout(next, ms));

describe('KvClient and servers that do what they like', () => {
  test('the answers before a connection was reset are kept, and the reset is reported', async () => {
    const server = await startScriptedRedis(([name], socket) => {
      if (name === 'GET') socket.write('$1\r\nx\r\n', () => socket.resetAndDestroy());
    });
    for (let round = 0; round < 5; round += 1) {
      const client = await KvClient.connect(`${server.url}?cluster=false`);
      const answered = client.getText('a');
      const unanswered = client.pipeline().command('BLPOP', 'a', '0').execute();
      expect(await answered).toBe('x');
      await expect(unanswered).rejects.toThrow(/Connection reset by peer/);
      await client.close();
    }
    server.close();
  });

  test('a reply beyond the limit is refused, and the next call reconnects', async () => {
    let isFirst = true;
    const server = await startScriptedRedis((_command, socket) => {
      socket.write(isFirst ? '$4294967296\r\nabc' : '$1\r\nx\r\n');
      isFirst = false;
    });
    const url = `${server.url}?cluster=false`;
    for (const options of [{}, { maxResponseBytes: 100 }]) {
      isFirst = true;
      const client = await KvClient.connect(url, options);
      expect(await codeOf(client.get('a'))).toBe('BB_TOO_LARGE');
      expect(await client.getText('a')).toBe('x');
      await client.close();
    }
    for (const options of [{ maxResponseBytes: 0.5 }, { tls: 'verify' as const }, { tlsCa: '/ca.pem' }]) {
      expect(await codeOf(KvClient.connect(url, options))).toBe('BB_INVALID_ARGUMENT');
    }
    server.close();
  });

  test('arrays too deep in each other are an error that breaks the connection, and no other', async () => {
    const nested = (depth: number): string => `${'*1\r\n'.repeat(depth)}:7\r\n`;
    const server = await startScriptedRedis(([name, depth], socket) => {
      if (name === 'NEST') socket.write(nested(Number(depth)));
      else if (name === 'GET') socket.write('$1\r\nx\r\n');
    });
    await using client = await KvClient.connect(`${server.url}?cluster=false`);
    const ask = async (depth: number) => (await client.pipeline().command('NEST', String(depth)).execute()).value(0);
    let reply = await ask(128);
    for (let depth = 0; depth < 128; depth += 1) reply = (reply as readonly (typeof reply)[])[0]!;
    expect(reply).toBe(7);
    for (const depth of [129, 100_000]) {
      const waiting = codeOf(client.get('behind'));
      expect(await waiting).toBe('resolved');
      await expect(ask(depth)).rejects.toMatchObject({
        name: 'BoundaryError',
        code: 'BB_ENGINE',
        message: 'redis: the server sent arrays more than 128 deep in each other, as no server of Redis does',
      });
      expect(await client.getText('a')).toBe('x');
    }
    server.close();
  });

  test('the loss of a connection is reported before another gets its number', async () => {
    // The server has a thread of its own: this thread sleeps until both events are pending, the first connection's end before the
    // second one.
    const server = new Worker(
      `const sockets = [];
       const server = require('node:net').createServer((socket) => {
         sockets.push(socket);
         socket.on('error', () => {});
         socket.on('data', () => {
           if (socket === sockets[0]) return void socket.write('+PONG\\r\\n');
           sockets[0].end();
           setTimeout(() => socket.write('+PONG\\r\\n'), 100);
         });
       });
       const { parentPort } = require('node:worker_threads');
       server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
      { eval: true },
    );
    const port = await new Promise<number>((resolve) => void server.once('message', resolve));
    const url = `redis://127.0.0.1:${port}?cluster=false`;
    const gone: number[] = [];
    const loop = new addon.KvLoop((buffer, start) => void gone.push(new Uint32Array(buffer, start)[0]!));
    const first = loop.add(await addon.KvConnection.open(url));
    await pause(50);
    const second = addon.KvConnection.open(url).then((connection) => [...gone, loop.add(connection)]);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect((await second).slice(0, -1)).toEqual([first]);
    await server.terminate();
  });

  test('a client of a cluster is closed with its connections, whatever is under way', async () => {
    let port = '';
    const server = await startScriptedRedis(([name], socket) => {
      if (name === 'CLUSTER') socket.write(`*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`);
    });
    port = new URL(server.url.replace('redis', 'http')).port;
    for (const ms of [0, 50]) {
      const client = await KvClient.connect(server.url);
      const waiting = codeOf(client.get('a'));
      if (ms > 0) await pause(ms);
      await client.close();
      expect(await waiting).toBe('BB_CLOSED');
    }
    const client = await KvClient.connect(server.url);
    const waiting = [codeOf(client.get('a', { timeoutMs: 20 })), codeOf(client.get('b', { timeoutMs: 40 }))];
    expect(await Promise.all(waiting)).toEqual(['BB_TIMEOUT', 'BB_TIMEOUT']);
    await expect.poll(() => server.connections()).toBe(0);
    await client.close();
    server.close();
  });

  test.each([
    "READONLY You can't write against a read only replica.",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'LOADING Redis is loading the dataset in memory',
    'CLUSTERDOWN The cluster is down',
  ])('in a cluster, the slots are read again after %s', async (refusal) => {
    let owner = '';
    const heard: string[] = [];
    const server = (isOld: boolean) =>
      startScriptedRedis(([name = '', key], socket) => {
        if (name === 'CLUSTER') {
          socket.write(`*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${owner}\r\n`);
          return;
        }
        heard.push(`${isOld ? 'old' : 'new'} ${name}`);
        if (isOld && name !== 'MULTI') {
          owner = portOf(promoted.url);
          socket.write(name === 'EXEC' ? '-EXECABORT Transaction discarded.\r\n' : `-${refusal}\r\n`);
        } else if (name === 'EXEC') socket.write('*1\r\n+OK\r\n');
        else socket.write(key === 'in' ? '+QUEUED\r\n' : '+OK\r\n');
      });
    const portOf = (url: string): string => new URL(url.replace('redis', 'http')).port;
    const [old, promoted] = [await server(true), await server(false)];
    for (const sent of [['SET out'], ['MULTI', 'SET in', 'EXEC'], ['FLUSHALL']]) {
      owner = portOf(old.url);
      heard.length = 0;
      await using client = await KvClient.connect(old.url);
      const pipeline = client.pipeline();
      for (const command of sent) pipeline.command(...(command.split(' ') as [string, ...string[]]));
      const replies = await pipeline.execute();
      expect(replies.value(sent.length - 1)).toEqual(sent.length === 1 ? 'OK' : ['OK']);
      const names = sent.map((command) => command.split(' ')[0]);
      expect(heard).toEqual([...names.map((name) => `old ${name}`), ...names.map((name) => `new ${name}`)]);
    }
    old.close();
    promoted.close();
  });

  test('closing ends the calls of a connection that another has replaced', async () => {
    const server = await startScriptedRedis(([name, key], socket) => {
      if (name !== 'GET') socket.write('-ERR no\r\n');
      else if (key === 'fast') socket.write('$2\r\nok\r\n');
    });
    const client = await KvClient.connect(server.url);
    const slow = codeOf(client.getText('slow'));
    expect(await codeOf(client.getText('slow too', { timeoutMs: 30 }))).toBe('BB_TIMEOUT');
    expect(await client.getText('fast')).toBe('ok');
    await client.close();
    expect(await slow).toBe('BB_CLOSED');
    await expect.poll(() => server.connections()).toBe(0);
    server.close();
  });

  test('calls take the connections that are open while another cannot be made again', async () => {
    const sockets: Socket[] = [];
    let isFull = false;
    const server = await startScriptedRedis(
      ([name], socket) => {
        if (name === 'GET') socket.write('$2\r\nok\r\n');
        else socket.write('-ERR no\r\n');
      },
      false,
      (socket) => {
        if (isFull) socket.end('-ERR max number of clients reached\r\n');
        else sockets.push(socket);
      },
    );
    const client = await KvClient.connect(server.url, { connections: 3 });
    isFull = true;
    sockets[0]!.destroy();
    await expect.poll(() => server.connections()).toBe(2);
    // The client has seen it, too.
    await pause(100);
    for (let call = 0; call < 4; call += 1) {
      expect(await Promise.all([client.getText('a'), client.getText('b')])).toEqual(['ok', 'ok']);
    }
    isFull = false;
    await expect.poll(async () => [await client.getText('c'), await server.connections()]).toEqual(['ok', 3]);
    await client.close();
    server.close();
  });
});

describe.skipIf(lacks('redis'))('KvClient and ends of transactions that the server refuses', () => {
  test.each([false, true])('leave no caller in the transaction of another; in a cluster: %s', async (isCluster) => {
    const server = await (isCluster ? startRedisCluster() : startRedis());
    const rule = ['SETUSER', 'me', 'on', '>pw', '~*', '+@all', '-discard', '-unwatch'];
    await using admin = await KvClient.connect(server.url);
    await admin
      .pipeline()
      .command('ACL', ...rule)
      .execute();
    await using client = await KvClient.connect(server.url.replace('redis://', 'redis://me:pw@'));
    for (const name of ['MULTI', 'EXEC', 'DISCARD', 'UNWATCH']) {
      const pipeline = client.pipeline().set('a', 'sent');
      for (const word of name === 'UNWATCH' ? [] : ['MULTI', 'EXEC']) {
        if (word === 'MULTI') pipeline.command('MULTI', ...(name === 'MULTI' ? ['x'] : []));
        else pipeline.command(name === 'DISCARD' ? 'DISCARD' : 'EXEC', ...(name === 'MULTI' ? [] : ['x']));
      }
      if (name === 'UNWATCH') pipeline.command('UNWATCH', 'x');
      expect(await codeOf(pipeline.execute())).toBe('BB_INVALID_ARGUMENT');
      expect(await client.getText('a')).toBe(null);
    }
    const refused = client.pipeline().command('MULTI').command('SET', 'a', '8').command('DISCARD').execute();
    const behind = client.getText('a').catch((thrown: unknown) => (thrown as BoundaryError).code);
    expect(String((await refused).value(2))).toContain('NOPERM');
    // It was sent behind the DISCARD, and may have an error, but no other's reply.
    expect([null, 'BB_CONNECTION']).toContain(await behind);
    for (let call = 0; call < 3; call += 1) expect(await client.getText('a')).toBe(null);
    const watched = await client.pipeline().command('WATCH', 'a').command('UNWATCH').execute();
    expect(String(watched.value(1))).toContain('NOPERM');
    await admin.set('a', 'other');
    const done = await client.pipeline().command('MULTI').command('SET', 'a', '9').command('EXEC').execute();
    expect(done.value(2)).toEqual(['OK']);
    await server.stop();
  });
});
