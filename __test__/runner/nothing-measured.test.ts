import { describe, expect, it } from 'vitest';

import type { PlannedCell } from '../../src/families/workload.js';
import { type Cell, itemsOf } from '../../src/records/record.js';
import { run } from '../../src/runner/run.js';
import { requireWork } from '../../src/runner/nothing-measured.js';
import { plannedCell } from './planned-cell.js';
import { sumFamily } from './sum-family.mjs';
import { join } from 'node:path';
import { folderOfTest } from '../temporary-folder.js';

const planned = (cell: Partial<Cell>): PlannedCell => plannedCell('c', { side: 'js', rows: 1_000_000, ...cell });

describe('a cell of Node', () => {
  it('whose rows take no longer than an empty loop fails, with what to do', () => {
    expect(() => requireWork(planned({}), 2e-6, false)).toThrow(
      expect.objectContaining({ code: 'BB_NOTHING_MEASURED', hint: expect.stringContaining('checksum') }),
    );
    expect(requireWork(planned({}), 2e-3, false)).toBeUndefined();
  });

  it('passes if nothing can be told: few rows, queries, none at all, or work in Rust', () => {
    for (const cell of [{ rows: 10 }, { queries: 1 }, { rows: 0 }, { side: 'rust' as const }]) {
      expect(requireWork(planned(cell), 1e-6, false)).toBeUndefined();
    }
  });

  it('whose calls take no longer than a loop decides nothing', () => {
    expect(requireWork(planned({ calls: 100 }), 100e-9, true)).toBe('nothing-to-measure');
    expect(requireWork(planned({ calls: 100 }), 500e-9, true)).toBeUndefined();
  });

  it('that leaves its rows out is found by a run', async () => {
    const folder = folderOfTest();
    const sums = sumFamily();
    const empty = {
      ...sums,
      open: async (...args: Parameters<typeof sums.open>) => ({
        ...(await sums.open(...args)),
        openCell: async ({ cell }: PlannedCell) => ({
          expected: { rows: itemsOf(cell), sums: {} },
          sample: async (stopwatch: { start(): void; stop(): void }) => {
            stopwatch.start();
            stopwatch.stop();
            return { rows: itemsOf(cell), sums: {} };
          },
          close: async () => {},
        }),
      }),
    };

    const options = { rows: 100_000, forks: 1, samples: 1, timeBudgetSeconds: 0.01, workers: [1] };
    const { run: finished } = await run({ families: [empty], directory: join(folder, 'out'), ...options });
    expect(finished.records[0]).toMatchObject({ outcome: 'failed', error: { code: 'BB_NOTHING_MEASURED' } });
  });
});
