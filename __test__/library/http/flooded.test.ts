/** A server of HTTP/2 that sends for ever what ends no response. */
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

import { connect, HttpClient, ShardClient } from '../../../src/index.js';
import { errorWith } from '../../error-with.js';

const CALLS: Record<string, (port: number) => Promise<unknown>> = {
  HttpClient: (port) => new HttpClient(`http://127.0.0.1:${port}`, { http2: true }).request({ path: '/' }),
  ShardClient: (port) => ShardClient.connect([`http://127.0.0.1:${port}`]),
  'the engine flight': async (port) => (await connect(`flight://127.0.0.1:${port}`)).executeQuery('SELECT 1'),
};

test.each(Object.keys(CALLS))('a server of HTTP/2 that floods its client is given up by %s', async (name) => {
  // The server has a thread of its own, so that the event loop of this one never waits for it.
  const server = new Worker(new URL('flooding-http2.mjs', import.meta.url));
  const port = await new Promise<number>((resolve) => void server.once('message', resolve));
  const flooded = errorWith('BB_CONNECTION', 'the server sent 10000 frames that carry nothing and end nothing');
  await expect(CALLS[name]!(port)).rejects.toEqual(flooded);
  await server.terminate();
});
