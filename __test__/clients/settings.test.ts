/** The effects of the compared clients' settings, on the wire or in the server. */
import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import { connect, SqlClient } from '../../src/index.js';
import { DuckDbNodeApi } from '../../src/clients/duckdb-node-api.js';
import { DuckDbBindings } from '../../src/clients/duckdb-node-bindings.js';
import { GrpcShards } from '../../src/clients/grpc-js.js';
import { ioredis } from '../../src/clients/ioredis.js';
import { mariadb } from '../../src/clients/mariadb.js';
import { mysql2 } from '../../src/clients/mysql2.js';
import { nodeRedis } from '../../src/clients/node-redis.js';
import { UndiciClient, type UndiciOptions } from '../../src/clients/undici.js';
import { valkeyGlide } from '../../src/clients/valkey-glide.js';
import { openTarget, type TargetServer } from '../../src/families/requests/target-server.js';
import { RestInput } from '../../src/families/rest/data.js';
import { addressOf } from '../../src/families/rest/family.js';
import { inDatabase, mysqlOfSuite } from '../mysql-server.js';
import { lacks } from '../needs.js';
import { redisOfSuite } from '../redis-server.js';
import { ShardServer } from '../shards/shard-process.js';
import { type CountRequests, WireTap } from '../wire-tap.js';

const MANY = 24;

/** Counts the places where a text starts. */
const textsOf =
  (text: string): CountRequests =>
  (sent) =>
    sent.toString('latin1').split(text).length - 1;

/** The number of times that a socket of this process was written to while `work` ran. */
async function writesOf(work: () => Promise<unknown>): Promise<number> {
  const single = vi.spyOn(Socket.prototype, '_write');
  const gathered = vi.spyOn(Socket.prototype as Required<Socket>, '_writev');
  try {
    await work();
    return single.mock.calls.length + gathered.mock.calls.length;
  } finally {
    vi.restoreAllMocks();
  }
}

describe.skipIf(lacks('redis'))('clients of the Redis protocol', () => {
  const keys = Array.from({ length: MANY }, (_, index) => `key:${index}`);
  const clients = { ioredis, 'node-redis': nodeRedis };
  const server = redisOfSuite();

  it.each([
    ['ioredis', 'pipeline'],
    ['ioredis', 'auto'],
    ['node-redis', 'pipeline'],
    ['node-redis', 'auto'],
  ] as const)('%s, %s: many commands are one write', async (name, setting) => {
    const connection = await clients[name].connect(server.url, setting);
    onTestFinished(() => connection.close());
    expect(await writesOf(() => connection.setMany(keys, keys))).toBe(1);
    let values: unknown;
    expect(await writesOf(async () => void (values = await connection.getMany(keys)))).toBe(1);
    expect(values).toEqual(keys);
  });

  it.each([
    ['ioredis', undefined, MANY],
    ['ioredis', 'auto', 1],
    ['node-redis', 'auto', 1],
  ] as const)('%s, %s: the writes for the calls of many users in one turn: %i', async (name, setting, writes) => {
    const connection = await clients[name].connect(server.url, setting);
    onTestFinished(() => connection.close());
    expect(await writesOf(() => Promise.all(keys.map((key) => connection.get(key))))).toBe(writes);
  });

  it('node-redis gives no command a timer', async () => {
    const connection = await nodeRedis.connect(server.url, undefined);
    const timers = vi.spyOn(AbortSignal, 'timeout');
    onTestFinished(() => connection.close());
    await connection.get('key:0');
    await connection.getMany(keys);
    expect(timers).not.toHaveBeenCalled();
  });

  it.each([
    ['ioredis', ioredis, 'auto'],
    ['node-redis', nodeRedis, 'auto'],
    ['valkey-glide', valkeyGlide, undefined],
  ] as const)('%s sends many commands on one connection before the first answer', async (_, client, setting) => {
    const tap = await WireTap.start(server.url, textsOf('key:'));
    const connection = await client.connect(tap.through(server.url), setting);
    onTestFinished(() => void tap.stop());
    onTestFinished(() => connection.close());
    tap.hold(MANY);
    await connection.getMany(keys);
    tap.hold(MANY);
    await Promise.all(keys.map((key) => connection.get(key)));
    expect(tap.requests.filter((count) => count > 0)).toEqual([2 * MANY]);
  });
});

describe.skipIf(lacks('mysql'))('clients of the MySQL protocol', () => {
  /** The statements that are executed: packets with a length of three bytes, a number, and the command. */
  const executions: CountRequests = (sent) => {
    let count = 0;
    for (let at = 0; at + 4 < sent.length; at += 4 + sent.readUIntLE(at, 3)) {
      if (sent[at + 3] === 0 && sent[at + 4] === 0x17) count += 1;
    }
    return count;
  };
  const clients = { mysql2, mariadb };
  const request = { sql: 'SELECT ? + 1 AS next', parameters: [41] };
  const many = Array.from({ length: MANY }, () => request);
  const server = mysqlOfSuite();

  it.each([
    ['mysql2', undefined, MANY],
    ['mariadb', undefined, MANY],
    ['mariadb', 'text', 0],
  ] as const)(
    '%s, %s: the number of executions of statements that were prepared before: %i',
    async (name, setting, executed) => {
      await using admin = await SqlClient.connect(server.url);
      const counters = async (): Promise<number[]> => {
        const sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_stmt_prepare', 'Com_stmt_execute')";
        const rows = (await admin.query(sql))
          .rows()
          .toSorted((a, b) => (String(a['Variable_name']) < String(b['Variable_name']) ? -1 : 1));
        return rows.map((row) => Number(row['Value']));
      };
      const connection = await clients[name].connect(server.url, setting);
      onTestFinished(() => connection.close());
      // The first request prepares the statement.
      await connection.request(request);
      const before = await counters();
      await connection.requests(many);
      const after = await counters();
      expect(after.map((count, index) => count - before[index]!)).toEqual([executed, 0]);
    },
  );

  it('mariadb sends statements ahead of their answers', async () => {
    const tap = await WireTap.start(server.url, executions);
    const connection = await mariadb.connect(inDatabase(tap.through(server.url), ''), undefined);
    onTestFinished(() => void tap.stop());
    onTestFinished(() => connection.close());
    await connection.request(request);
    tap.hold(MANY);
    expect(await connection.requests(many)).toHaveLength(MANY);
    expect(tap.requests).toEqual([MANY + 1]);
  });
});

describe('undici', () => {
  const input = new RestInput('pkread');
  let server: TargetServer;
  beforeAll(async () => void (server = await openTarget('rest', {})), 60_000);
  afterAll(() => server.close());

  /** Posts many requests at once by way of a tap, which answers once `held` of them have come on a connection. */
  async function connectionsOf(
    count: CountRequests,
    held: number,
    shape: Pick<UndiciOptions, 'connections' | 'pipelining' | 'streams'>,
  ): Promise<number[]> {
    const tap = await WireTap.start(server.url, count);
    const { url, headers } = addressOf(server.url);
    const client = new UndiciClient(tap.through(url), { headers, dispatches: true, ...shape });
    const post = async (operation: number): Promise<void> => {
      expect((await client.post(input.path, input.read(operation))).status).toBe(200);
    };
    onTestFinished(() => void tap.stop());
    onTestFinished(() => client.close());
    // Undici sends nothing ahead on a connection that has not answered yet.
    await post(0);
    const [before = 0] = tap.requests;
    tap.hold(held);
    await Promise.all(Array.from({ length: MANY }, (_, operation) => post(operation)));
    return tap.requests.map((requests, index) => (index === 0 ? requests - before : requests));
  }

  it('pipelines as many requests on one connection as it is told to', async () => {
    expect(await connectionsOf(textsOf('POST '), MANY, { connections: 1, pipelining: MANY })).toEqual([MANY]);
  });

  it('spreads requests over as many connections as it is told to', async () => {
    const requests = await connectionsOf(textsOf('POST '), 1, { connections: 4, pipelining: 1 });
    expect(requests).toHaveLength(4);
    expect(requests.reduce((sum, count) => sum + count)).toBe(MANY);
  });

  it('has many requests at a time on one connection of HTTP/2', async () => {
    /** Frames of headers: a length of three bytes, the type, a flag, the stream, and the content, after the preface. */
    const streams: CountRequests = (sent) => {
      let count = 0;
      for (let at = 24; at + 9 <= sent.length; at += 9 + sent.readUIntBE(at, 3)) if (sent[at + 3] === 1) count += 1;
      return count;
    };
    expect(await connectionsOf(streams, MANY, { connections: 1, pipelining: 1, streams: MANY })).toEqual([MANY]);
  });
});

describe('@grpc/grpc-js', () => {
  it('has one connection to each shard, of its own for each client', async () => {
    const servers = await Promise.all([ShardServer.start(0, 2), ShardServer.start(1, 2)]);
    // The preface of HTTP/2, once a connection.
    const taps = await Promise.all(servers.map(({ url }) => WireTap.start(url, textsOf('PRI * HTTP/2.0'))));
    const urls = servers.map(({ url }, index) => taps[index]!.through(url));
    const clients = [await GrpcShards.connect(urls), await GrpcShards.connect(urls)];
    try {
      await Promise.all(
        clients.flatMap((client) => Array.from({ length: 4 * MANY }, (_, key) => client.get(key).catch(() => null))),
      );
      expect(taps.map(({ requests }) => requests)).toEqual([
        [1, 1],
        [1, 1],
      ]);
    } finally {
      for (const client of clients) client.close();
      for (const tap of taps) tap.stop();
      await Promise.all(servers.map((server) => server.end()));
    }
  });
});

describe.each([DuckDbNodeApi, DuckDbBindings])('$name', (Client) => {
  it('runs the libduckdb of the embedded engine, with as many threads', async () => {
    const sql = "SELECT version() AS version, CAST(current_setting('threads') AS INT) AS threads";
    const client = await Client.open();
    onTestFinished(() => client.close());
    await using connection = await connect('embedded:');
    const [theirs] = await client.objects(sql);
    const [ours] = await connection.executeQuery(sql);
    expect({ ...ours }).toEqual(theirs);
  });
});
