import { describe, expect, it } from 'vitest';

import { isDisturbed, machineTime } from '../../src/host/machine-time.js';
import { resolutionOf } from '../../src/host/resolution.js';

const start = { busySeconds: 100, stolenSeconds: 5, ownSeconds: 1, atSeconds: 50 };
const after = (change: Partial<typeof start>) => ({ ...start, atSeconds: 51, ...change });

describe('a sample', () => {
  it('is disturbed by other programs, and by other machines', () => {
    expect(isDisturbed(start, after({ busySeconds: 101, ownSeconds: 2 }), true)).toEqual({
      isDisturbed: false,
      stolenSeconds: 0,
    });
    expect(isDisturbed(start, after({ busySeconds: 101.2, ownSeconds: 2 }), true).isDisturbed).toBe(true);
    expect(isDisturbed(start, after({ stolenSeconds: 5.25 }), true)).toEqual({
      isDisturbed: true,
      stolenSeconds: 0.25,
    });
  });

  it('of work that a server does is disturbed by other machines alone', () => {
    expect(isDisturbed(start, after({ busySeconds: 102, ownSeconds: 1 }), false).isDisturbed).toBe(false);
    expect(isDisturbed(start, after({ stolenSeconds: 5.25 }), false).isDisturbed).toBe(true);
  });

  it('that is short is not disturbed by the ticks in which the kernel counts', () => {
    const soon = { ...start, atSeconds: 50.02 };
    expect(isDisturbed(start, { ...soon, busySeconds: 100.02 }, true).isDisturbed).toBe(false);
    expect(isDisturbed(start, { ...soon, busySeconds: 100.05 }, true).isDisturbed).toBe(true);
  });
});

it.runIf(process.platform === 'linux')('reads the times of the machine', () => {
  const before = machineTime();
  const until = performance.now() + 50;
  while (performance.now() < until);
  const later = machineTime();
  expect(later!.busySeconds - before!.busySeconds).toBeGreaterThan(0.02);
  expect(later!.atSeconds).toBeGreaterThan(before!.atSeconds);
});

describe('the smallest difference that can be told', () => {
  it('grows with the noise of the machine, and shrinks with processes', () => {
    const of = (high: number, forks?: number): number => resolutionOf({ ratio: 1, high }, forks);
    expect(of(1.001)).toBeGreaterThan(0.005);
    expect(of(1.001)).toBeLessThan(0.03);
    expect(of(1.1)).toBeGreaterThan(of(1.001));
    expect(of(1.01, 3)).toBeGreaterThan(of(1.01, 12));
  });
});
