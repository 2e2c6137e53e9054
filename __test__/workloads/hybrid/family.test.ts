import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { verifyChecksum } from '../../../src/runner/checksum.js';
import { hybridFamily } from '../../../src/workloads/hybrid/family.js';
import type { PlannedRequests } from '../../../src/workloads/requests/grid.js';
import type { FamilyOptions, PlannedCell, Stopwatch } from '../../../src/workloads/workload.js';

/** A stopwatch that only sees that it is used. */
const stopwatch: Stopwatch = {
  start: () => {},
  stop: () => {},
  add: () => {},
  addRequests: ({ latency }) => expect(latency).not.toBe(''),
  apart: (_work, execute) => execute(),
};

const { signal } = new AbortController();

const OPTIONS: FamilyOptions = { rows: 0, workers: 1, engines: {} };
const SMALL: FamilyOptions = { ...OPTIONS, operations: 300, threads: [1, 3], batch: [1, 10, 250] };
const VARIABLES = ['HYBRID_SCALE', 'HYBRID_DATA_DIR', 'HYBRID_SKIP_POPULATE', 'HYBRID_NET_DELAY_US'];

beforeEach(() => {
  // Ten thousand rows.
  process.env['HYBRID_SCALE'] = String(1 / 7500);
});
afterEach(() => {
  for (const name of VARIABLES) delete process.env[name];
});

describe('the plan of hybrid', () => {
  it('has each workload on each side in each way, JavaScript alone behind gRPC', () => {
    const cells = hybridFamily.plan(OPTIONS).map(({ cell }) => cell);
    expect(new Set(cells.map(({ id }) => id)).size).toBe(cells.length);
    const ways = new Set(cells.map(({ side, transport }) => `${side} ${transport}`));
    const both = ['rust', 'napi'].flatMap((side) => ['direct', 'grpc', 'hybrid'].map((way) => `${side} ${way}`));
    expect(ways).toEqual(new Set([...both, 'js grpc']));
    expect(cells.filter(({ workload }) => workload === 'scan').every(({ rows }) => rows === 10_000)).toBe(true);
    const lookups = cells.filter(({ workload, batch }) => workload === 'point_lookup' && batch === 1);
    expect(new Set(lookups.map(({ transport, rows }) => `${transport} ${rows}`))).toEqual(
      new Set(['direct 20000', 'grpc 1000', 'hybrid 1000']),
    );
  });

  it('leaves out what would replace rows that are to be used', () => {
    process.env['HYBRID_SKIP_POPULATE'] = '1';
    const skipped = hybridFamily.plan(OPTIONS).filter(({ skip }) => skip?.includes('are to be used'));
    expect(new Set(skipped.map(({ cell }) => cell.workload))).toEqual(new Set(['populate']));
  });

  it('refuses a scale that is none', () => {
    process.env['HYBRID_SCALE'] = '-1';
    expect(() => hybridFamily.plan(OPTIONS)).toThrow('the scale of hybrid must be a number above 0');
  });
});

async function runAll(cells: readonly PlannedCell[], options: FamilyOptions = SMALL): Promise<void> {
  const family = await hybridFamily.open(options, cells);
  try {
    for (const planned of cells) {
      const cell = await family.openCell(planned);
      try {
        for (let sample = 0; sample < 2; sample += 1) {
          const checksum = await cell.sample(stopwatch, signal);
          expect(() => verifyChecksum(checksum, cell.expected), planned.cell.id).not.toThrow();
        }
      } finally {
        await cell.close();
      }
    }
  } finally {
    await family.close();
  }
}

describe('the family hybrid', () => {
  it('does the work of every cell of every side', async () => {
    const cells = hybridFamily.plan(SMALL);
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    await runAll(cells);
  }, 300_000);

  it('uses the rows on the disk again, and says where they are others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bb-hybrid-'));
    process.env['HYBRID_DATA_DIR'] = folder;
    try {
      const isScan = ({ cell }: PlannedCell): boolean => cell.workload === 'scan' && cell.side !== 'js';
      const scans = hybridFamily.plan(SMALL).filter(isScan);
      await runAll(scans);
      process.env['HYBRID_SKIP_POPULATE'] = '1';
      await runAll(scans);
      process.env['HYBRID_SCALE'] = String(1 / 75_000);
      const other = hybridFamily.plan(SMALL).filter(isScan);
      const family = await hybridFamily.open(SMALL, other);
      await expect(family.openCell(other[0]!)).rejects.toThrow('the rows of another population');
      await family.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 300_000);

  it('delays what goes through gRPC', async () => {
    process.env['HYBRID_NET_DELAY_US'] = '5000';
    const options = { ...SMALL, operations: 20, threads: [1], batch: [1] };
    const isLookup = ({ cell }: PlannedCell): boolean => cell.workload === 'point_lookup' && cell.transport === 'grpc';
    const cells = hybridFamily.plan(options).filter(isLookup);
    const family = await hybridFamily.open(options, cells);
    expect((await family.versions())['shards']).toContain('5000 µs each way by a proxy');
    for (const planned of cells) {
      const cell = await family.openCell(planned);
      const started = performance.now();
      expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected);
      // There and back, twenty times.
      expect(performance.now() - started).toBeGreaterThanOrEqual(200);
      await cell.close();
    }
    await family.close();
  }, 120_000);

  it('ends a sample that is aborted', async () => {
    const planned = hybridFamily.plan(SMALL).find(({ cell }) => cell.id.includes('scan/call/napi/shards/grpc'))!;
    const family = await hybridFamily.open(SMALL, [planned as PlannedRequests]);
    const cell = await family.openCell(planned);
    await expect(cell.sample(stopwatch, AbortSignal.abort())).rejects.toMatchObject({ code: 'BB_ABORTED' });
    expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected);
    await cell.close();
    await family.close();
  }, 120_000);
});
