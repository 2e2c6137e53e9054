/** Servers that send for ever what ends no response. */
import { type AddressInfo, createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';

import { connect, HttpClient, ShardClient } from '../../../src/index.js';

const CALLS: Record<string, (port: number) => Promise<unknown>> = {
  HttpClient: (port) => new HttpClient(`http://127.0.0.1:${port}`, { http2: true }).request({ path: '/' }),
  ShardClient: (port) => ShardClient.connect([`http://127.0.0.1:${port}`]),
  'the engine flight': async (port) => (await connect(`flight://127.0.0.1:${port}`)).executeQuery('SELECT 1'),
};

describe.each(['interim responses', 'pings', 'settings', 'priorities', 'unknown frames'])(
  'a server of HTTP/2 that floods its client with %s',
  (kind) => {
    test.each(Object.keys(CALLS))('is given up by %s', async (name) => {
      // The server has a thread of its own, so that the event loop of this one never waits for it.
      const server = new Worker(new URL('flooding-http2.mjs', import.meta.url), { workerData: kind });
      const port = await new Promise<number>((resolve) => void server.once('message', resolve));
      const flooded = expect.objectContaining({
        code: 'BB_CONNECTION',
        message: expect.stringContaining('the server sent 10000 frames that carry nothing and end nothing'),
      });
      await expect(CALLS[name]!(port)).rejects.toEqual(flooded);
      await server.terminate();
    });
  },
);

test('a server of HTTP/1.1 that floods its client with interim responses is given up', async () => {
  const server = createServer((socket) => {
    const flood = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(500));
    const write = (): void => {
      while (!socket.destroyed && socket.write(flood));
    };
    socket.on('error', () => {}).on('drain', write);
    socket.once('data', write);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const client = new HttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const flooded = expect.objectContaining({
    code: 'BB_ENGINE',
    message: expect.stringContaining('more than 1000 interim responses'),
  });
  await expect(client.request({ path: '/' })).rejects.toEqual(flooded);
  await expect(client.stream({ path: '/' })).rejects.toEqual(flooded);
  await client.close();
  server.close();
});
