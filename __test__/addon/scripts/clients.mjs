/**
 * The clients' answers on the event loop that this process has, as JSON: each client's calls alone and together, more bytes than a
 * socket takes, calls when the connection ends, and threads that end in the middle of their calls.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { crossing } from '../../../dist/crossing-addon.js';
import { HttpClient, KvClient, ShardClient, SqlClient } from '../../../dist/index.js';

const urls = isMainThread ? JSON.parse(process.argv[2]) : workerData;

const MUCH = 3 << 20;

/** The code of the error of work, or `answered`. */
const codeOf = (work) =>
  work.then(
    () => 'answered',
    (error) => error.code,
  );

const all = (count, call) => Promise.all(Array.from({ length: count }, (_, index) => call(index)));

/** The sum of numbers. */
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** How often the threads of tokio have waited so far; 0 if the platform does not tell. */
function waits() {
  if (process.platform !== 'linux') return 0;
  const read = (thread, file) => readFileSync(`/proc/self/task/${thread}/${file}`, 'utf8');
  const threads = readdirSync('/proc/self/task').filter((thread) => read(thread, 'comm').startsWith('tokio'));
  return sum(threads.map((thread) => Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(read(thread, 'status'))[1])));
}

const checks = {
  async tasks() {
    let last = 0;
    for (let round = 0; round < 200; round += 1) last = await crossing.eventLoop.add(last, 1);
    return [last, sum(await all(500, (index) => crossing.eventLoop.add(index, 1)))];
  },

  async kv(url) {
    const client = await KvClient.connect(url, { connections: 2 });
    await client.set('a', 'x'.repeat(MUCH));
    await all(300, (index) => client.set(`k${index}`, String(index)));
    const read = await all(300, (index) => client.getText(`k${index}`));
    const length = (await client.get('a')).length;
    await client.pipeline().command('LPUSH', 'list', '1').execute();
    const refused = await codeOf(client.get('list'));
    const waiting = codeOf(client.pipeline().command('BLPOP', 'none', '60').execute());
    await client.close();
    return [sum(read.map(Number)), length, refused, await waiting, await codeOf(client.get('a'))];
  },

  async sql(url) {
    const client = await SqlClient.connect(url, { connections: 2 });
    const rows = await all(100, async (index) => (await client.query(`SELECT ${index} AS n`)).rows()[0].n);
    const much = (await client.execute('SELECT REPEAT(?, ?) AS text', ['x', MUCH])).rows()[0].text.length;
    const refused = await codeOf(client.query('SELECT nothing'));
    const waiting = codeOf(client.query('SELECT SLEEP(60)'));
    // Ends the statement's connection.
    const late = await codeOf(client.query('SELECT SLEEP(60)', { timeoutMs: 50 }));
    await client.close();
    return [sum(rows.map(Number)), much, refused, late, await waiting, await codeOf(client.ping())];
  },

  async http(url, options = { connections: 2 }) {
    const client = await HttpClient.connect(url, options);
    const texts = await all(100, async (index) => (await client.request({ path: `/echo/${index}` })).text());
    const body = new Uint8Array(MUCH).fill(120);
    const much = (await (await client.request({ method: 'POST', path: '/much', body })).text()).length;
    const cut = await codeOf(client.request({ path: '/cut' }));
    const again = (await client.request({ path: '/echo/7' })).text();
    const waiting = codeOf(client.request({ path: '/never' }));
    await client.close();
    return [sum(texts.map(Number)), much, cut, again, await waiting];
  },

  async shards(places) {
    const client = await ShardClient.connect(places, { connections: 2 });
    const keys = await all(300, async (index) => Number((await client.get(index)).key));
    const { found } = await client.multiGet(Float64Array.from({ length: 2000 }, (_, key) => key));
    const waiting = codeOf(client.multiGet(Float64Array.from({ length: 4000 }, (_, key) => key)));
    await client.close();
    return [sum(keys), found, await waiting, await codeOf(client.get(1))];
  },

  http2: (url) => checks.http(url, { http2: true }),

  cluster: (url) => checks.kv(url),

  /** The waits of tokio's threads, which only connect, during calls one after another: none, but for what connecting leaves. */
  async alone() {
    const http2 = await HttpClient.connect(urls.http2, { http2: true });
    const cluster = await KvClient.connect(urls.cluster);
    await cluster.set('k', '1');
    const before = waits();
    for (let round = 0; round < 200; round += 1) {
      await http2.request({ path: '/echo/1' });
      await cluster.getText('k');
    }
    const after = waits();
    await Promise.all([http2.close(), cluster.close()]);
    return after - before < 40;
  },

  /** Threads are terminated while their calls are under way; the calls of this thread go on. */
  async threads() {
    const client = await ShardClient.connect(urls.shards);
    for (let round = 0; round < 4; round += 1) {
      const worker = new Worker(new URL(import.meta.url), { workerData: urls });
      await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
      await client.get(round);
      await worker.terminate();
    }
    const row = await client.get(9);
    await client.close();
    return Number(row.key);
  },
};

if (isMainThread) {
  const answers = {};
  for (const [name, check] of Object.entries(checks)) {
    if (name in urls || check.length === 0) answers[name] = await check(urls[name]);
  }
  // An open client does not keep the process alive, a call under way does.
  const open = await ShardClient.connect(urls.shards);
  void open.get(5).then(({ key }) => {
    console.log(JSON.stringify({ ...answers, last: Number(key) }));
  });
} else {
  const shards = await ShardClient.connect(urls.shards);
  const http = await HttpClient.connect(urls.http);
  const http2 = await HttpClient.connect(urls.http2, { http2: true });
  const cluster = await KvClient.connect(urls.cluster);
  const kv = 'kv' in urls ? await KvClient.connect(urls.kv) : undefined;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort.postMessage('ready');
  for (;;) {
    await all(
      50,
      (index) =>
        [
          shards.get(index),
          http.request({ path: '/echo/1' }),
          http2.request({ path: '/echo/1' }),
          cluster.getText('k1'),
          kv?.getText('k1'),
          crossing.eventLoop.add(1, 2),
        ][index % 6],
    );
  }
}
