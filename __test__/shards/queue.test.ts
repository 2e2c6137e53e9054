/** Calls that wait for a shard which takes few calls at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { ShardClient } from '../../src/index.js';
import { ShardServers } from './shard-process.js';

const ROWS = 1000;

describe.each([1, 10])('a shard that takes %i calls at a time', (streams) => {
  it('answers a burst, and what waits behind calls that are given up', async () => {
    await using servers = await ShardServers.start(1, { words: ['--max-streams', String(streams)] });
    await using client = await ShardClient.connect(servers.urls);
    await client.populate(ROWS);
    const burst = async (): Promise<void> => {
      const rows = await Promise.all(Array.from({ length: 300 }, (_, key) => client.get(key)));
      expect(rows.map((row) => Number(row?.key))).toEqual(rows.map((_, key) => key));
    };
    await burst();

    const [server] = servers.each;
    await server!.pause();
    const controller = new AbortController();
    const head = Array.from({ length: streams + 1 }, () => client.get(1, { signal: controller.signal }));
    const refused = [client.get(1.5), client.multiGet(Float64Array.of(0.5)), client.putMany(new Uint8Array(7))];
    const outcomes = Promise.allSettled([...head, ...refused]);
    const waiting = burst();
    await sleep(50);
    controller.abort();
    server!.resume();
    await waiting;
    for (const outcome of await outcomes) expect(outcome.status).toBe('rejected');
    await burst();
  });
});
