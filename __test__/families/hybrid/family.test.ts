import { describe, expect, it } from 'vitest';

import { crossing } from '../../../src/crossing-addon.js';
import { ShardClient } from '../../../src/index.js';
import { keyOf, packedRows } from '../../../src/families/hybrid/data.js';
import { hybridFamily } from '../../../src/families/hybrid/family.js';
import type { HybridValues } from '../../../src/families/hybrid/options.js';
import type { PlannedRequests } from '../../../src/families/requests/grid.js';
import type { RequestValues } from '../../../src/families/requests/options.js';
import type { FamilyOptions, PlannedCell } from '../../../src/families/workload.js';
import { openCells, sampleCells, signal, stopwatch } from '../sampled-cells.js';
import { folderOfTest } from '../../temporary-folder.js';

type HybridOptions = FamilyOptions & RequestValues & Partial<HybridValues>;

/** Ten thousand rows. */
const OPTIONS: HybridOptions = { rows: 0, workers: 1, engines: {}, scale: 1 / 7500 };
const SMALL: HybridOptions = { ...OPTIONS, operations: 300, connections: [1, 3], batch: [1, 10, 250] };

describe('the plan of hybrid', () => {
  it('has each workload on each side in each way, JavaScript alone behind gRPC', () => {
    const cells = hybridFamily.plan(OPTIONS).map(({ cell }) => cell);
    expect(new Set(cells.map(({ id }) => id)).size).toBe(cells.length);
    const ways = new Set(cells.map(({ side, transport }) => `${side} ${transport}`));
    const both = ['rust', 'napi'].flatMap((side) => ['direct', 'grpc', 'hybrid'].map((way) => `${side} ${way}`));
    expect(ways).toEqual(new Set([...both, 'js grpc']));
    expect(cells.filter(({ workload }) => workload === 'scan').every(({ rows }) => rows === 10_000)).toBe(true);
    const lookups = cells.filter(({ workload, batch }) => workload === 'point_lookup' && batch === 1);
    expect(new Set(lookups.map(({ transport, operations }) => `${transport} ${operations}`))).toEqual(
      new Set(['direct 20000', 'grpc 1000', 'hybrid 1000']),
    );
  });

  it('leaves out what would replace rows that are to be used', () => {
    const skipped = hybridFamily
      .plan({ ...OPTIONS, skipPopulate: true })
      .filter(({ skip }) => skip?.includes('are to be used'));
    expect(new Set(skipped.map(({ cell }) => cell.workload))).toEqual(new Set(['populate']));
  });

  it('takes the options of the run, and refuses what is none', () => {
    const scansAt = (options: Partial<HybridOptions> = {}): number[] => {
      const cells = hybridFamily.plan({ ...OPTIONS, ...options }).map(({ cell }) => cell);
      return [...new Set(cells.filter(({ workload }) => workload === 'scan').map(({ rows }) => rows!))];
    };
    expect(scansAt()).toEqual([10_000]);
    expect(scansAt({ scale: 0.001 })).toEqual([75_000]);
    expect(() => scansAt({ scale: 0 })).toThrow('the scale of hybrid must be a number above 0');
    for (const netDelayUs of [-1, 0.5, 2 ** 32 + 1, NaN]) {
      expect(() => scansAt({ netDelayUs })).toThrow('netDelayUs of hybrid must be an integer of 0 to 1000000');
    }
    expect(() => scansAt({ netBandwidthMbps: -1 })).toThrow('netBandwidthMbps of hybrid must be a number of 0 or more');
    expect(() => scansAt({ scale: Number('much') })).toThrow('the scale of hybrid must be a number above 0');
  });
});

async function runAll(cells: readonly PlannedCell[], options = SMALL): Promise<void> {
  await sampleCells(await hybridFamily.open(options, cells), cells);
}

describe('the hybrid family', () => {
  it('does the work of every cell of every side', async () => {
    const cells = hybridFamily.plan(SMALL);
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    await runAll(cells);
  }, 300_000);

  it('finds a wrong row on every side, by the check of each answer', async () => {
    const shards = await crossing.PrivateShards.start(3);
    const options = { ...SMALL, connections: [1], batch: [1, 10], engines: { shards: shards.urls.join(',') } };
    const cells = (hybridFamily.plan(options) as PlannedRequests[]).filter(
      ({ cell: { transport, workload } }) => transport === 'grpc' && !/populate|write/.test(workload),
    );
    const clients = new Set(cells.map(({ cell: { side }, client }) => `${side} ${client ?? ''}`));
    expect(clients).toEqual(new Set(['rust ', 'rust tonic', 'napi ', 'js grpc-js']));
    const key = keyOf(0, 10_000);
    const right = new Uint8Array(packedRows([key]).buffer);
    await openCells(await hybridFamily.open(options, cells), cells, async (cell, id) => {
      await using client = await ShardClient.connect(shards.urls);
      const row = packedRows([key]);
      await cell.verify!(stopwatch, signal);
      // Another quantity and another price.
      row[2] = 99;
      row[4] = 0x40f00000;
      await client.putMany(new Uint8Array(row.buffer));
      await expect(cell.verify!(stopwatch, signal), id).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
      await client.putMany(right);
    });
    await shards.stop();
  }, 120_000);

  it('uses the rows on the disk again, and says if they are others', async () => {
    const folder = folderOfTest();
    const options = { ...SMALL, dataDir: folder };

    const isScan = ({ cell }: PlannedCell): boolean => cell.workload === 'scan' && cell.side !== 'js';
    const again = { ...options, skipPopulate: true };
    // Each cell has a process of its own in a run, and one process at a time opens a store.
    for (const each of [options, again]) {
      const cells = hybridFamily.plan(each).filter(isScan);
      for (const side of ['rust', 'napi'])
        await runAll(
          cells.filter(({ cell }) => cell.side === side),
          each,
        );
    }
    const smaller = { ...again, scale: 1 / 75_000 };
    const other = hybridFamily.plan(smaller).filter(isScan);
    const family = await hybridFamily.open(smaller, other);
    await expect(family.openCell(other[0]!)).rejects.toThrow('the rows of another population');
    await family.close();
  }, 300_000);

  it('delays what goes through gRPC', async () => {
    const slow = { netDelayUs: 5000, netBandwidthMbps: 1000 } as const;
    const options = { ...SMALL, operations: 20, connections: [1], batch: [1], ...slow };
    const isLookup = ({ cell }: PlannedCell): boolean => cell.workload === 'point_lookup' && cell.transport === 'grpc';
    const cells = hybridFamily.plan(options).filter(isLookup);
    const family = await hybridFamily.open(options, cells);
    expect((await family.versions())['shards']).toContain('5000 µs each way, 1000 Mbit/s by a proxy');
    const { shards: network } = await family.networks!();
    expect(network).toMatchObject({ by: 'proxy', delayUs: 5000, megabits: 1000 });
    expect(network!.plain.p50).toBeGreaterThan(0);
    expect(network!.delayed.p50).toBeGreaterThanOrEqual(10_000_000);
    expect(network!.delayed.p99).toBeGreaterThanOrEqual(network!.delayed.p50);
    await openCells(family, cells, async (cell) => {
      const started = performance.now();
      expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected);
      // Twenty round trips of 10 ms.
      expect(performance.now() - started).toBeGreaterThanOrEqual(200);
    });
  }, 120_000);

  it('ends a sample that is aborted', async () => {
    const planned = hybridFamily.plan(SMALL).find(({ cell }) => cell.id.includes('scan/call/napi/shards/grpc'))!;
    await openCells(await hybridFamily.open(SMALL, [planned]), [planned], async (cell) => {
      await expect(cell.sample(stopwatch, AbortSignal.abort())).rejects.toMatchObject({ code: 'BB_ABORTED' });
      expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected);
    });
  }, 120_000);
});
