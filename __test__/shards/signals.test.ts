import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { ShardClient, type ShardCallOptions, ShardRow, ShardStore } from '../../src/index.js';
import { packedRows } from '../../src/families/hybrid/data.js';
import { ShardServers } from './shard-process.js';

const ROWS = 1000;
const KEYS = Int32Array.from({ length: ROWS }, (_, key) => key);
const PACKED = new Uint8Array(packedRows([...KEYS]).buffer);

/** Every call of a client. */
const CALLS: Readonly<Record<string, (client: ShardClient, options?: ShardCallOptions) => Promise<unknown>>> = {
  get: (client, options) => client.get(1, options),
  multiGet: (client, options) => client.multiGet(KEYS, options),
  put: (client, options) => client.put(new ShardRow(PACKED.slice(0, 200)), options),
  putMany: (client, options) => client.putMany(PACKED, options),
  aggregate: (client, options) => client.aggregate({ column: 'key' }, options),
  'aggregate here': (client, options) => client.aggregate({ column: 'key', place: 'here' }, options),
  populate: (client, options) => client.populate(ROWS, { ...options, replace: true }),
  describe: (client, options) => client.describe(options),
  scan: async (client, options) => {
    for await (const chunk of client.scan(options)) chunk.release();
  },
};

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

describe.each(Object.entries(CALLS))('%s', (_name, call) => {
  let servers: ShardServers;
  let client: ShardClient;
  beforeAll(async () => {
    servers = await ShardServers.start(1);
    client = await ShardClient.connect(servers.urls);
    await client.populate(ROWS);
  });
  afterAll(async () => {
    await client.close();
    await servers[Symbol.asyncDispose]();
  });

  it('is rejected when its signal is aborted, and only then', async () => {
    const [server] = servers.each;
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error('enough');
    await call(client, { signal });
    expect(listeners(signal)).toBe(0);
    await server!.pause();
    onTestFinished(() => void server!.resume());
    const calls = [call(client, { signal }), call(client, { signal })];
    const aborted = calls.map((one) => expect(one).rejects.toMatchObject({ code: 'BB_ABORTED', cause: reason }));
    const other = call(client, { signal: new AbortController().signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    // One for both calls.
    expect(listeners(signal)).toBe(1);
    controller.abort(reason);
    await Promise.all(aborted);
    expect(listeners(signal)).toBe(0);
    server!.resume();
    await other;
    await call(client);
  });

  it('is not begun if its signal is aborted already', async () => {
    await using here = await ShardClient.connect([ShardStore.inMemory()]);
    await here.populate(10);
    const signal = AbortSignal.abort(new Error('enough'));
    const reason = { code: 'BB_ABORTED', cause: signal.reason };
    await expect(call(client, { signal })).rejects.toMatchObject(reason);
    await expect(call(here, { signal })).rejects.toMatchObject(reason);
    expect((await here.describe())[0]!.rows).toBe(10);
    const none = { signal: 'now' as unknown as AbortSignal };
    await expect((async () => call(client, none))()).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  });
});

describe('a population that is aborted', () => {
  it('ends in the shard, too', async () => {
    await using servers = await ShardServers.start(1);
    await using client = await ShardClient.connect(servers.urls);
    const controller = new AbortController();
    const [server] = servers.each;
    await server!.pause();
    const rows = 1_000_000;
    const populating = client.populate(rows, { signal: controller.signal });
    const rejected = expect(populating).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    await rejected;
    server!.resume();
    for (let look = 0; look < 20; look += 1) {
      const [state] = await client.describe();
      expect(state!.populated).toBeUndefined();
      expect(state!.rows).toBeLessThan(rows);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  });
});
