import { expect } from 'vitest';

import { verifyChecksum } from '../../src/families/verify-checksum.js';
import type { OpenCell, OpenFamily, PlannedCell, Stopwatch } from '../../src/families/workload.js';

/** A signal that is never aborted. */
export const signal: AbortSignal = new AbortController().signal;

/** The options of a plan of requests, with one connection and no batch unless they say otherwise. */
export const REQUESTS = { rows: 0, workers: 1, connections: [1], batch: [1] };

/** A stopwatch that measures nothing, for samples of requests. */
export const stopwatch: Stopwatch = {
  start: () => {},
  stop: () => {},
  add: () => {},
  addRequests: ({ latency }) => expect(latency).not.toBe(''),
  addHeapBytes: (bytes) => expect(bytes).toBeGreaterThanOrEqual(0),
  apart: (_work, execute) => execute(),
};

/** Opens one cell after the other for some work, then closes the family; `afterwards` follows each cell. */
export async function openCells<Planned extends PlannedCell>(
  family: OpenFamily,
  cells: readonly Planned[],
  work: (cell: OpenCell, id: string, planned: Planned) => Promise<void>,
  afterwards: (id: string) => Promise<void> = async () => {},
): Promise<void> {
  try {
    for (const planned of cells) {
      const { id } = planned.cell;
      const cell = await family.openCell(planned);
      try {
        await work(cell, id, planned);
      } finally {
        await cell.close();
      }
      await afterwards(id);
    }
  } finally {
    await family.close();
  }
}

/** Checks two samples of each cell and each answer; `afterwards` follows each cell. */
export async function sampleCells(
  family: OpenFamily,
  cells: readonly PlannedCell[],
  afterwards?: (id: string) => Promise<void>,
): Promise<void> {
  const sample = async (cell: OpenCell, id: string): Promise<void> => {
    for (let number = 0; number < 2; number += 1) {
      const checksum = await cell.sample(stopwatch, signal, cell.repeats === true ? number + 1 : undefined);
      expect(() => verifyChecksum(checksum, cell.expected), id).not.toThrow();
    }
    await cell.verify?.(stopwatch, signal);
  };
  await openCells(family, cells, sample, afterwards);
}
