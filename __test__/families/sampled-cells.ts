import { expect } from 'vitest';

import { verifyChecksum } from '../../src/families/verify-checksum.js';
import type { OpenFamily, PlannedCell, Stopwatch } from '../../src/families/workload.js';

/** A stopwatch that measures nothing, for samples of requests. */
export const stopwatch: Stopwatch = {
  start: () => {},
  stop: () => {},
  add: () => {},
  addRequests: ({ latency }) => expect(latency).not.toBe(''),
  addHeapBytes: (bytes) => expect(bytes).toBeGreaterThanOrEqual(0),
  apart: (_work, execute) => execute(),
};

/** Opens one cell after the other, checks two samples of each and each answer, then closes the family; `afterwards` follows each cell. */
export async function sampleCells(
  family: OpenFamily,
  cells: readonly PlannedCell[],
  afterwards: (id: string) => Promise<void> = async () => {},
): Promise<void> {
  try {
    for (const planned of cells) {
      const { id } = planned.cell;
      const cell = await family.openCell(planned);
      try {
        for (let sample = 0; sample < 2; sample += 1) {
          const repeats = cell.repeats === true ? sample + 1 : undefined;
          const checksum = await cell.sample(stopwatch, new AbortController().signal, repeats);
          expect(() => verifyChecksum(checksum, cell.expected), id).not.toThrow();
        }
        await cell.verify?.(stopwatch, new AbortController().signal);
      } finally {
        await cell.close();
      }
      await afterwards(id);
    }
  } finally {
    await family.close();
  }
}
