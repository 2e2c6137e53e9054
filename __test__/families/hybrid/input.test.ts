import { describe, expect, it } from 'vitest';

import { ShardClient, ShardStore } from '../../../src/index.js';
import { expectedOf } from '../../../src/families/hybrid/data.js';
import { HybridInput, readAll, restoreBlanks } from '../../../src/families/hybrid/input.js';
import { HybridCheck, HybridSums } from '../../../src/families/hybrid/reads.js';
import type { Checksum } from '../../../src/records/record.js';

const ROWS = 5000;
const SHARDS = 2;
const { signal } = new AbortController();

async function sumsOfAll(client: ShardClient): Promise<Checksum> {
  const sums = new HybridSums('scan');
  await readAll(sums, client);
  return sums.checksum();
}

describe('the input of hybrid', () => {
  it('lets nothing pass for written or filled that was not', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
    await client.populate(ROWS);
    const work = {
      write: (input: HybridInput) => client.putMany(input.packed),
      populate: (input: HybridInput) => client.populateFrom(input.batches, { replace: true }),
    };
    for (const workload of ['write', 'populate'] as const) {
      const input = await HybridInput.make(
        { workload, lane: 'batch', rows: workload === 'write' ? 300 : ROWS },
        ROWS,
        SHARDS,
      );
      const found = async (): Promise<unknown> => {
        const sums = new HybridSums(workload);
        await input.readBack(sums, client, signal);
        return sums.checksum();
      };
      const check = async (): Promise<void> => {
        const each = new HybridCheck(workload, ROWS);
        await input.readBack(each, client, signal);
        each.finish(workload === 'write' ? 300 : ROWS);
      };
      const expected = expectedOf(workload, 300, ROWS);
      expect(await found()).toEqual(expected);
      await input.blank(client, signal);
      expect(await found()).not.toEqual(expected);
      await expect(check()).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
      await work[workload](input);
      expect(await found()).toEqual(expected);
      await check();
    }
  });

  it('restores the rows that an interrupted run has left blank', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
    await client.populate(ROWS);
    const input = await HybridInput.make({ workload: 'write', lane: 'batch', rows: 300 }, ROWS, SHARDS);
    const expected = await sumsOfAll(client);
    await restoreBlanks(client);
    expect(await sumsOfAll(client)).toEqual(expected);
    await input.blank(client, signal);
    expect(await sumsOfAll(client)).not.toEqual(expected);
    await restoreBlanks(client);
    expect(await sumsOfAll(client)).toEqual(expected);
  });

  it('changes no rows of what only reads', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory()]);
    for (const workload of ['point_lookup', 'scan', 'aggregate.pull']) {
      await (await HybridInput.make({ workload, lane: 'call', rows: 10 }, ROWS, 1)).blank(client, signal);
    }
    expect(await client.describe()).toEqual([{ rows: 0 }]);
  });
});
