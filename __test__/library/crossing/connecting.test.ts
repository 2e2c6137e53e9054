import { createServer, type Socket, connect as connectSocket } from 'node:net';
import { Worker } from 'node:worker_threads';

import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import { HttpClient, KvClient, ShardClient, SqlClient } from '../../../src/index.js';
import { startRawServer } from '../http/http-server.js';
import { listening } from '../../listening.js';
import { errorWith } from '../../error-with.js';

interface Times {
  readonly timeoutMs?: number;
  readonly connectTimeoutMs?: number;
}

/** The clients, and how each connects to a port of this machine. */
const CLIENTS: Record<string, (port: number, times: Times) => Promise<AsyncDisposable>> = {
  KvClient: (port, times) => KvClient.connect(`redis://127.0.0.1:${port}`, times),
  HttpClient: (port, times) => HttpClient.connect(`http://127.0.0.1:${port}`, times),
  'HttpClient of HTTP/2': (port, times) => HttpClient.connect(`http://127.0.0.1:${port}`, { ...times, http2: true }),
  SqlClient: (port, times) => SqlClient.connect(`mysql://me@127.0.0.1:${port}/`, times),
  'SqlClient over TLS': (port, times) => SqlClient.connect(`mysql://me@127.0.0.1:${port}/?tls=required`, times),
  ShardClient: (port, times) => ShardClient.connect([`http://127.0.0.1:${port}`], times),
};

/** The clients that exchange messages with the server before they are connected. */
const TALKERS = Object.keys(CLIENTS).filter((name) => name !== 'HttpClient' && name !== 'HttpClient of HTTP/2');

const late = (ms: number): unknown =>
  expect.objectContaining({
    name: 'BoundaryError',
    code: 'BB_TIMEOUT',
    message: `connecting took longer than its ${ms} ms`,
  });

describe('connecting to a port whose listener takes no connection', () => {
  const fillers: Socket[] = [];
  let listener: Worker;
  let port: number;

  beforeAll(async () => {
    // The worker's thread sleeps once it listens, so that no connection is accepted; the system queues one or two.
    const asleep = new Int32Array(new SharedArrayBuffer(4));
    listener = new Worker(
      `const { parentPort, workerData: asleep } = require('node:worker_threads');
       const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
         parentPort.postMessage(server.address().port);
         setTimeout(() => {
           Atomics.store(asleep, 0, 1);
           Atomics.wait(asleep, 0, 1);
         }, 10);
       });`,
      { eval: true, workerData: asleep },
    );
    port = await new Promise<number>((resolve) => void listener.once('message', resolve));
    while (Atomics.load(asleep, 0) === 0) await new Promise((next) => setTimeout(next, 10));
    for (let filler = 0; filler < 8; filler += 1) {
      fillers.push(connectSocket(port, '127.0.0.1').on('error', () => {}));
    }
    await new Promise((next) => setTimeout(next, 200));
  });
  afterAll(async () => {
    for (const filler of fillers) filler.destroy();
    await listener.terminate();
  });

  test.each(Object.keys(CLIENTS))('%s gives up in time', async (name) => {
    await expect(CLIENTS[name]!(port, { connectTimeoutMs: 60 })).rejects.toEqual(late(60));
    // The time-out of calls also limits connecting, if it is shorter than the default.
    await expect(CLIENTS[name]!(port, { timeoutMs: 70 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    await expect(CLIENTS[name]!(port, { timeoutMs: 60_000, connectTimeoutMs: 80 })).rejects.toEqual(late(80));
  });

  test('a request of an HttpClient that is not connected yet gives up in time', async () => {
    await using client = new HttpClient(`http://127.0.0.1:${port}`, { connectTimeoutMs: 60 });
    await expect(client.request({ path: '/' })).rejects.toEqual(late(60));
  });
});

// At once, since each waits for the addon's own limit.
describe.concurrent('connecting to a server that says nothing', () => {
  test.each(TALKERS)('%s gives up in time, and closes what it has opened', async (name) => {
    let open = 0;
    const server = createServer((socket) => {
      open += 1;
      socket.on('error', () => {}).on('close', () => (open -= 1));
      // A socket that is not read does not see its end.
      socket.resume();
    });
    const port = await listening(server);
    await expect(CLIENTS[name]!(port, { connectTimeoutMs: 60 })).rejects.toEqual(late(60));
    server.close();
    // The addon itself abandons a connection attempt that can't be cancelled, some seconds later.
    await vi.waitFor(() => expect(open).toBe(0), 30_000);
  });
});

test.each(Object.keys(CLIENTS))('%s refuses times that are none', async (name) => {
  for (const connectTimeoutMs of [0, 1.5, 10_001, Number.NaN, '5', null, {}]) {
    const times = { connectTimeoutMs } as unknown as Times;
    await expect(CLIENTS[name]!(1, times)).rejects.toThrow(
      errorWith('BB_INVALID_ARGUMENT', /^connectTimeoutMs must be an integer of 1 to 10000, not /),
    );
  }
});

test('a request and a piece of a stream have five minutes by default', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: string[] = [];
  await using server = await startRawServer(({ path, socket, answer }) => {
    asked.push(path);
    if (path === '/half') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab');
    else if (path !== '/never') answer('');
  });
  await using client = new HttpClient(server.url, { connections: 4 });
  const half = await client.stream({ path: '/half' });
  const pieces = half[Symbol.asyncIterator]();
  // The time of the second piece begins when the first one is there.
  await pieces.next();
  const codes: unknown[] = [];
  const note = (thrown: unknown): void => void codes.push((thrown as { code: string }).code);
  const work = [
    client.request({ path: '/never' }).catch(note),
    client.requestMany([{ path: '/' }, { path: '/never' }]).catch(note),
    client.request({ path: '/never' }, { signal: new AbortController().signal }).catch(note),
    client.stream({ path: '/never' }).catch(note),
    pieces.next().catch(note),
  ];
  while (asked.length < 6) await new Promise(setImmediate);
  await client.request({ path: '/' });
  vi.advanceTimersByTime(290_000);
  await client.request({ path: '/' });
  expect(codes).toEqual([]);
  vi.advanceTimersByTime(30_000);
  await Promise.all(work);
  expect(codes).toEqual(Array.from({ length: 5 }, () => 'BB_TIMEOUT'));
  await client.request({ path: '/' });
});
