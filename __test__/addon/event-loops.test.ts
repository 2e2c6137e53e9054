/** The clients on each event loop that can drive them: libuv's, and the addon's own, which other runtimes than Node get. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { crossing, type PrivateServer, type PrivateShards } from '../../src/crossing-addon.js';
import { ShardClient } from '../../src/index.js';
import { type RawServer, startRawServer } from '../library/http/http-server.js';
import { type ScriptedRedis, startScriptedRedis } from '../library/kv/scripted-redis.js';
import { startDatabase } from '../mysql-server.js';
import { lacksForFile } from '../needs.js';
import { startRedis } from '../redis-server.js';
import { endingOf, resultOf, type Runner } from './run-script.js';
import { installed, isMissing } from './runtimes.js';
import { startHttp2Server, type Http2TestServer } from '../library/http/http2-server.js';

/** The environment in which Node uses the addon's own loop. */
const THREADS = { BOUNDARY_BENCH_EVENT_LOOP: 'threads' };

const much = 3 << 20;

/** Starts a server of HTTP/2 with the paths that `clients.mjs` asks for. */
function startHttp2(): Promise<Http2TestServer> {
  return startHttp2Server((stream, path) => {
    if (path === '/cut') stream.session?.destroy();
    else if (path === '/never') return;
    else if (path !== '/much') stream.end(path.slice('/echo/'.length));
    else {
      let length = 0;
      stream.on('data', (data: Buffer) => (length += data.length));
      stream.on('end', () => stream.end('x'.repeat(length)));
    }
  });
}

/** Starts two servers that share the slots of a cluster. */
async function startCluster(): Promise<readonly ScriptedRedis[]> {
  const values = new Map<string, string>();
  const servers: ScriptedRedis[] = [];
  const start = (): Promise<ScriptedRedis> =>
    startScriptedRedis(([name, key, value], socket) => {
      if (name === 'CLUSTER') {
        const ranges = servers.map(({ url }, index) => {
          const half = index * 8192;
          return `*3\r\n:${half}\r\n:${half + 8191}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${new URL(url).port}\r\n`;
        });
        socket.write(`*2\r\n${ranges.join('')}`);
      } else if (name === 'SET') {
        values.set(key!, value!);
        socket.write('+OK\r\n');
      } else if (name === 'LPUSH') socket.write(':1\r\n');
      else if (key === 'list') socket.write('-WRONGTYPE it is a list\r\n');
      else if (name === 'GET') socket.write(`$${values.get(key!)!.length}\r\n${values.get(key!)!}\r\n`);
    });
  servers.push(await start(), await start());
  return servers;
}

/** The answers of `clients.mjs`. */
const ANSWERS = {
  tasks: [200, 125_250],
  http: [4950, much, 'BB_CONNECTION', '7', 'BB_CLOSED'],
  http2: [4950, much, 'BB_CONNECTION', '7', 'BB_CLOSED'],
  cluster: [44_850, much, 'BB_ENGINE', 'BB_CLOSED', 'BB_CLOSED'],
  alone: true,
  shards: [44_850, 2000, 'BB_CLOSED', 'BB_CLOSED'],
  threads: 9,
  last: 5,
};
const KV_ANSWERS = { kv: [44_850, much, 'BB_ENGINE', 'BB_CLOSED', 'BB_CLOSED'] };
const SQL_ANSWERS = { sql: [4950, much, 'BB_ENGINE', 'BB_TIMEOUT', 'BB_CLOSED', 'BB_CLOSED'] };

describe('the clients', () => {
  const hasRedis = !lacksForFile('redis');
  const hasMysql = !lacksForFile('mysql');
  const servers: PrivateServer[] = [];
  let shards: PrivateShards;
  let web: RawServer;
  let http2: Http2TestServer;
  let cluster: readonly ScriptedRedis[];
  let urls: Record<string, unknown>;

  beforeAll(async () => {
    shards = await crossing.PrivateShards.start(2);
    {
      await using client = await ShardClient.connect(shards.urls);
      await client.populate(10_000);
    }
    web = await startRawServer(({ socket, path, head, answer }) => {
      if (path === '/cut') socket.destroy();
      else if (path === '/much') answer('x'.repeat(Number(/content-length: (\d+)/i.exec(head)![1])));
      else if (path !== '/never') answer(path.slice('/echo/'.length));
    });
    http2 = await startHttp2();
    cluster = await startCluster();
    urls = {
      shards: shards.urls,
      http: web.url,
      http2: http2.url,
      cluster: cluster[0]!.url,
    };
    if (hasRedis) {
      const redis = await startRedis();
      servers.push(redis);
      urls['kv'] = redis.url;
    }
    if (hasMysql) {
      const { server, url } = await startDatabase();
      servers.push(server);
      urls['sql'] = url;
    }
  }, 120_000);

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await shards.stop();
    await web[Symbol.asyncDispose]();
    await http2[Symbol.asyncDispose]();
    cluster.forEach((server) => server.close());
  });

  const answersOf = (runner: Runner): Promise<unknown> => resultOf('clients.mjs', [JSON.stringify(urls)], runner);
  const answers = { ...ANSWERS, ...(hasRedis ? KV_ANSWERS : {}), ...(hasMysql ? SQL_ANSWERS : {}) };

  it("answer on libuv's loop in Node", async () => {
    expect(await answersOf({})).toEqual(answers);
  });

  it("answer on the addon's loop in Node", async () => {
    expect(await answersOf({ env: THREADS })).toEqual(answers);
  });

  it.skipIf(isMissing('bun'))("answer on the addon's loop in Bun", async () => {
    expect(await answersOf(installed('bun'))).toEqual(answers);
  });

  it.skipIf(isMissing('deno'))("answer on the addon's loop in Deno", async () => {
    expect(await answersOf(installed('deno'))).toEqual(answers);
  });
});

it('says what a wrong choice of a loop may be', async () => {
  const { stderr } = await endingOf('clients.mjs', ['{}'], { env: { BOUNDARY_BENCH_EVENT_LOOP: 'thread' } });
  expect(stderr).toContain('BOUNDARY_BENCH_EVENT_LOOP is `thread`; it must be `threads` or nothing');
});
