import { expect, test } from 'vitest';

import { addon } from '../../../src/addon.js';
import { ThreadClock } from '../../../src/families/measurements/thread-clock.js';

const seconds = ({ user, system }: { readonly user: number; readonly system: number }): number => user + system;

/** Computes until this thread has used the given CPU time. */
function compute(cpuSeconds: number): void {
  const end = seconds(addon.threadCpu()!) + cpuSeconds;
  while (seconds(addon.threadCpu()!) < end);
}

test.skipIf(addon.threadCpu() === null)('the CPU time of pauses is the input’s, also after the last stop', () => {
  const clock = new ThreadClock();
  clock.start();
  compute(0.05);
  expect(seconds(clock.pausedCpu!)).toBe(0);
  clock.stop();
  compute(0.03);
  clock.start();
  compute(0.05);
  clock.stop();
  const before = seconds(clock.pausedCpu!);
  expect(before).toBeGreaterThanOrEqual(0.03);
  expect(before).toBeLessThan(0.05);
  compute(0.02);
  expect(seconds(clock.pausedCpu!)).toBeGreaterThanOrEqual(0.05);
});
