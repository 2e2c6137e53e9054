/**
 * Threads that end with one result alive, of the kind that the first argument names. Prints whether the memory of the process grows by
 * less than half of the results of some threads.
 */
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createSocketServer } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { addon } from '../../../dist/addon.js';
import { attach, connect, HttpClient, KvClient, ShardClient, ShardStore } from '../../../dist/index.js';

const isSmall = (isMainThread ? process.argv[2] : workerData.kind) === 'small';
const [BYTES, THREADS] = isSmall ? [3 << 20, 60] : [24 << 20, 10];
const ROWS = `SELECT range AS id FROM range(${BYTES / 8})`;

/** The result of each kind, by what the main thread tells. */
const RESULTS = {
  arrow: async ({ handle }) => attach(handle).executeQueryToArrow(ROWS),
  small: (told) => RESULTS.arrow(told),
  'a prepared statement': async ({ handle }) => (await attach(handle).prepare(ROWS)).executeQueryToArrow(),
  columns: async ({ handle }) => {
    const chunks = [];
    for await (const chunk of attach(handle).executeQueryColumnar(ROWS)) chunks.push(chunk.column('id'));
    return chunks;
  },
  http: ({ port }) => new HttpClient(`http://127.0.0.1:${port}`).request({ path: '/' }),
  http2: ({ port }) => new HttpClient(`http://127.0.0.1:${port}`, { http2: true }).request({ path: '/' }),
  stream: async ({ port }) => {
    const pieces = [];
    for await (const piece of await new HttpClient(`http://127.0.0.1:${port}`).stream({ path: '/' }))
      pieces.push(piece);
    return pieces;
  },
  kv: async ({ port }) => {
    const client = await KvClient.connect(`redis://127.0.0.1:${port}`);
    return client.pipeline().get('key').execute();
  },
  shards: async () => {
    const shards = await ShardClient.connect([ShardStore.inMemory()]);
    await shards.populate(BYTES / 24);
    const chunks = [];
    for await (const chunk of shards.scan()) chunks.push(chunk);
    return chunks;
  },
  json: async () => new addon.JsonPaths(['a'], [false]).pick(Buffer.from(JSON.stringify({ a: 'x'.repeat(BYTES) }))),
};

const body = Buffer.alloc(BYTES, 'x');
const SERVERS = {
  http: () => createServer((_, response) => response.end(body)),
  http2: () => createHttp2Server((_, response) => response.end(body)),
  kv: () =>
    createSocketServer((socket) => {
      const answer = (data) => {
        socket.write(data.includes('PING') ? '+PONG\r\n' : `$${BYTES}\r\n`);
        if (!data.includes('PING')) socket.write(Buffer.concat([body, Buffer.from('\r\n')]));
      };
      socket.on('error', () => {}).on('data', answer);
    }),
};

if (isMainThread) {
  const [, , kind] = process.argv;
  const connection = await connect('embedded:');
  const server = SERVERS[kind === 'stream' ? 'http' : kind]?.();
  if (server !== undefined) await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const port = server?.address().port;
  const end = async () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { kind, handle: connection.share(), port } });
    const said = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await Promise.all([said, new Promise((resolve) => worker.once('exit', resolve))]);
  };
  for (let thread = 0; thread < THREADS / 3; thread += 1) await end();
  const { rss } = process.memoryUsage();
  for (let thread = 0; thread < THREADS; thread += 1) await end();
  console.log(process.memoryUsage().rss - rss < (THREADS * BYTES) / 2);
  process.exit(0);
}
globalThis.kept = await RESULTS[workerData.kind](workerData);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has none
parentPort.postMessage('has it');
process.exit(0);
