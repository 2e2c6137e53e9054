import { describe, expect, it } from 'vitest';

import { type WayBudget, compareWays, matchers } from '../../src/testing/vitest.js';

/** Adds up this many numbers. */
function sumOf(count: number): number {
  let sum = 0;
  for (let index = 0; index < count; index += 1) sum += index % 7;
  return sum;
}

/** A way that takes `cost` times as long as another one, and returns the same. */
const way = (cost: number) => (): number => {
  let result = 0;
  for (let index = 0; index < cost; index += 1) result = sumOf(20_000);
  return result;
};

expect.extend(matchers);

interface Faster {
  toBeFasterThan(other: string, options?: { way?: string; by?: number; strict?: boolean }): void;
  toBeWithinBudget(way: string, budget: WayBudget): void;
}
const expectOf = (value: unknown): Faster & { not: Faster } => expect(value) as unknown as Faster & { not: Faster };

describe('a comparison within a test', () => {
  it('finds the way that does its work once if the other does it four times', async () => {
    const compared = await compareWays({ once: way(1), often: way(4) });
    const { ratio, low, verdict } = compared.ratioOf('once', 'often');
    expect(verdict).toBe('faster');
    expect(low).toBeGreaterThan(1.5);
    expect(compared.ratioOf('often', 'once').ratio).toBeCloseTo(1 / ratio);
    expect(compared.secondsOf('often')).toBeGreaterThan(compared.secondsOf('once'));
    expectOf(compared).toBeFasterThan('often', { by: 1.5, strict: true });
    expectOf(compared).not.toBeFasterThan('often', { by: 50 });
    expectOf(compared).not.toBeFasterThan('once', { strict: true });
  });

  it('says whether a way is within its budget, in seconds or relative to another way', async () => {
    const compared = await compareWays({ once: way(1), often: way(4) });
    const { ratio, low, high } = compared.timeOf('often');
    expect(low).toBeLessThanOrEqual(ratio);
    expect(ratio / compared.secondsOf('often')).toBeGreaterThan(0.5);
    expect(ratio / compared.secondsOf('often')).toBeLessThan(2);
    expectOf(compared).toBeWithinBudget('often', { maximumSeconds: high, strict: true });
    expectOf(compared).not.toBeWithinBudget('often', { maximumSeconds: low / 2 });
    expectOf(compared).toBeWithinBudget('once', { over: 'often', maximumRatio: 0.7, strict: true });
    expectOf(compared).not.toBeWithinBudget('often', { over: 'once', maximumRatio: 1.4 });
    // A budget within the interval breaks only if it is strict.
    expectOf(compared).toBeWithinBudget('often', { maximumSeconds: ratio });
    expect(matchers.toBeWithinBudget(compared, 'often', { maximumSeconds: low / 2 }).message()).toMatch(
      /^often takes .* a call, which is to be at most .* \(\d+ blocks\)$/,
    );
    for (const budget of [{}, { maximumSeconds: 0 }, { over: 'once', maximumRatio: Number.NaN }]) {
      expect(() => matchers.toBeWithinBudget(compared, 'often', budget as WayBudget)).toThrow('positive number');
    }
  });

  it('waits for promises', async () => {
    const compared = await compareWays({ now: way(1), later: async () => way(3)() }, { budgetMs: 500 });
    expect(compared.ratioOf('now', 'later').verdict).toBe('faster');
  });

  it('ends when its budget does', async () => {
    const startedAt = performance.now();
    const compared = await compareWays({ a: way(1), b: way(1) }, { budgetMs: 50, margin: 0 });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(compared.blocks).toBeGreaterThan(0);
  });

  it.each<[string, unknown, object?]>([
    ['ways must be an object of functions', 3],
    ['at least two ways', { a: () => 1 }],
    ['the way b', { a: () => 1, b: 2 }],
    ['do not return the same: the result is 2, expected 1', { a: () => 1, b: () => 2 }],
    ['returned nothing', { a: () => {}, b: () => {} }],
    ['budgetMs must be a number', { a: () => 1, b: () => 1 }, { budgetMs: -1 }],
  ])('is refused: %s', async (message, ways, options) => {
    await expect(compareWays(ways as Record<string, () => unknown>, options)).rejects.toThrow(message);
  });

  it('knows its ways, and asks which of several is meant', async () => {
    const compared = await compareWays({ a: () => 1, b: () => 1, c: () => 1 }, { budgetMs: 20 });
    expect(() => compared.ratioOf('a', 'd')).toThrow('there is no way "d"');
    expect(() => matchers.toBeFasterThan(compared, 'a')).toThrow('say which is to be faster');
    expect(matchers.toBeFasterThan(compared, 'a', { way: 'b', by: 0.001 }).pass).toBe(true);
  });
});
