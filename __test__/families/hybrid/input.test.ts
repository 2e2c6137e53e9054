import { describe, expect, it } from 'vitest';

import { ShardClient, ShardStore } from '../../../src/index.js';
import { expectedOf } from '../../../src/families/hybrid/data.js';
import { HybridInput, restoreBlanks } from '../../../src/families/hybrid/input.js';

const ROWS = 5000;
const { signal } = new AbortController();

describe('the input of hybrid', () => {
  it('lets nothing pass for written or filled that was not', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
    await client.populate(ROWS);
    const work = {
      write: (input: HybridInput) => client.putMany(input.packed),
      populate: () => client.populate(ROWS, { replace: true }),
    };
    for (const workload of ['write', 'populate'] as const) {
      const input = new HybridInput({ workload, lane: 'batch', rows: workload === 'write' ? 300 : ROWS }, ROWS);
      const found = async (): Promise<unknown> =>
        (await (workload === 'write' ? input.readBack(client, signal) : input.readAll(client, signal))).checksum();
      const expected = expectedOf(workload, 300, ROWS);
      expect(await found()).toEqual(expected);
      await input.blank(client, signal);
      expect(await found()).not.toEqual(expected);
      await work[workload](input);
      expect(await found()).toEqual(expected);
    }
  });

  it('restores the rows that an interrupted run has left blank', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
    await client.populate(ROWS);
    const input = new HybridInput({ workload: 'write', lane: 'batch', rows: 300 }, ROWS);
    const all = new HybridInput({ workload: 'scan', lane: 'call', rows: ROWS }, ROWS);
    const expected = (await all.readAll(client)).checksum();
    await restoreBlanks(client);
    expect((await all.readAll(client)).checksum()).toEqual(expected);
    await input.blank(client, signal);
    expect((await all.readAll(client)).checksum()).not.toEqual(expected);
    await restoreBlanks(client);
    expect((await all.readAll(client)).checksum()).toEqual(expected);
  });

  it('changes no rows of what only reads', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory()]);
    for (const workload of ['point_lookup', 'scan', 'aggregate.pull']) {
      await new HybridInput({ workload, lane: 'call', rows: 10 }, ROWS).blank(client, signal);
    }
    expect(await client.describe()).toEqual([{ rows: 0 }]);
  });
});
