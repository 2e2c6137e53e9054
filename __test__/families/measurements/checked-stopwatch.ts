import { expect } from 'vitest';

import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import type { OpenFamily, PlannedCell, Stopwatch } from '../../../src/families/workload.js';

/** A stopwatch that checks its use: starts and stops in pairs, or plausible times. */
export class CheckedStopwatch implements Stopwatch {
  isRunning = false;
  seconds = 0;
  #startedAt = 0;

  start(): void {
    if (this.isRunning) throw new Error('started while it ran');
    this.isRunning = true;
    this.#startedAt = performance.now();
  }

  stop(): void {
    if (!this.isRunning) throw new Error('stopped before it was started');
    this.isRunning = false;
    this.seconds += (performance.now() - this.#startedAt) / 1000;
  }

  apart<T>(_: 'encode' | 'decode', execute: () => T): T {
    if (this.isRunning) throw new Error('not apart');
    return execute();
  }

  add({ seconds }: { seconds: number }): void {
    this.seconds += seconds;
  }

  addRequests(): void {
    throw new Error('no lane of this family has requests');
  }

  addHeapBytes(): void {
    throw new Error('no lane of this family is about calls');
  }
}

/** Opens the cell, takes two samples, checks them, and has each row checked. */
export async function checkCell(
  family: OpenFamily,
  planned: PlannedCell,
  newStopwatch: () => CheckedStopwatch = () => new CheckedStopwatch(),
): Promise<void> {
  const cell = await family.openCell(planned);
  const { signal } = new AbortController();
  try {
    for (let sample = 0; sample < 2; sample += 1) {
      const stopwatch = newStopwatch();
      verifyChecksum(await cell.sample(stopwatch, signal), cell.expected);
      if (stopwatch.isRunning || stopwatch.seconds <= 0) throw new Error('the stopwatch was not stopped');
    }
    if (cell.verify === undefined) throw new Error('the cell can not check its rows');
    await cell.verify(newStopwatch(), signal);
  } finally {
    await cell.close();
  }
}

/** Expects the server of each cell to refuse its inserts. */
export async function expectRefused(family: OpenFamily, refused: readonly PlannedCell[]): Promise<void> {
  expect(refused.length).toBeGreaterThan(0);
  for (const planned of refused) {
    await expect(checkCell(family, planned), planned.cell.id).rejects.toMatchObject({
      code: 'BB_UNSUPPORTED',
      message: 'do_put_statement_ingest has no default implementation',
    });
  }
}

/** Whether a server answers the inserts of a cell with a refusal. */
export const isRefused = ({ cell }: PlannedCell): boolean => cell.engine === 'sail' && cell.workload === 'insert.bulk';
