import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import type { planMeasurements } from '../../../src/families/measurements/plan.js';
import type { OpenFamily, Stopwatch } from '../../../src/families/workload.js';

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
  planned: ReturnType<typeof planMeasurements>[number],
): Promise<void> {
  const cell = await family.openCell(planned);
  try {
    for (let sample = 0; sample < 2; sample += 1) {
      const stopwatch = new CheckedStopwatch();
      verifyChecksum(await cell.sample(stopwatch, new AbortController().signal), cell.expected);
      if (stopwatch.isRunning || stopwatch.seconds <= 0) throw new Error('the stopwatch was not stopped');
    }
    if (cell.verify === undefined) throw new Error('the cell can not check its rows');
    await cell.verify(new CheckedStopwatch(), new AbortController().signal);
  } finally {
    await cell.close();
  }
}
