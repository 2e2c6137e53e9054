import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { type ComparedWays, type WayBudget, compareWays, matchers } from '../../src/testing/vitest.js';

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

describe('a comparison within a test', () => {
  it('finds the way that does its work once if the other does it four times', async () => {
    const compared = await compareWays({ once: way(1), often: way(4) });
    const { ratio, low, verdict } = compared.ratioOf('once', 'often');
    expect(verdict).toBe('faster');
    expect(low).toBeGreaterThan(1.5);
    expect(compared.ratioOf('often', 'once').ratio).toBeCloseTo(1 / ratio);
    expect(compared.secondsOf('often')).toBeGreaterThan(compared.secondsOf('once'));
    expect(compared).toBeFasterThan('often', { by: 1.5, strict: true });
    expect(compared).not.toBeFasterThan('often', { by: 50 });
    expect(compared).not.toBeFasterThan('once', { strict: true });
  });

  it('says whether a way is within its budget, in seconds or relative to another way', async () => {
    const compared = await compareWays({ once: way(1), often: way(4) });
    const { ratio, low, high } = compared.timeOf('often');
    expect(low).toBeLessThanOrEqual(ratio);
    expect(ratio / compared.secondsOf('often')).toBeGreaterThan(0.5);
    expect(ratio / compared.secondsOf('often')).toBeLessThan(2);
    expect(compared).toBeWithinBudget('often', { maximumSeconds: high, strict: true });
    expect(compared).not.toBeWithinBudget('often', { maximumSeconds: low / 2 });
    expect(compared).toBeWithinBudget('once', { over: 'often', maximumRatio: 0.7, strict: true });
    expect(compared).not.toBeWithinBudget('often', { over: 'once', maximumRatio: 1.4 });
    // A budget within the interval breaks only if it is strict.
    expect(compared).toBeWithinBudget('often', { maximumSeconds: ratio });
    expect(matchers.toBeWithinBudget(compared, 'often', { maximumSeconds: low / 2 }).message()).toMatch(
      /^often takes .* a call, which is to be at most .* \(\d+ blocks\)$/,
    );
    for (const budget of [{}, { maximumSeconds: 0 }, { over: 'once', maximumRatio: Number.NaN }]) {
      expect(() => matchers.toBeWithinBudget(compared, 'often', budget as WayBudget)).toThrow('positive number');
    }
  });

  it('waits for promises', async () => {
    const compared = await compareWays({ now: way(1), later: async () => way(3)() });
    expect(compared.ratioOf('now', 'later').verdict).toBe('faster');
  });

  it('ends when its budget does', async () => {
    const startedAt = performance.now();
    const compared = await compareWays({ a: way(1), b: way(1) }, { budgetMs: 200, margin: 0 });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(compared.blocks).toBeGreaterThan(0);
  });

  /** Two ways that take this long, and the number of their calls. */
  const slow = (milliseconds: number) => {
    const made = { calls: 0 };
    const call = async (): Promise<number> => {
      made.calls += 1;
      await sleep(milliseconds);
      return 1;
    };
    return { made, ways: { old: call, new: () => call() } };
  };

  it('gives no verdict by fewer than three blocks, and says how to get one', async () => {
    const compared = await compareWays(slow(60).ways, { budgetMs: 450 });
    expect([compared.hasTooFewBlocks, compared.blocks > 0]).toEqual([true, true]);
    expect(compared.ratioOf('new', 'old')).toMatchObject({ low: 0, high: Infinity, verdict: 'inconclusive' });
    expect(compared).toBeFasterThan('old');
    expect(compared).toBeFasterThan('new');
    expect(compared).not.toBeFasterThan('old');
    expect(compared).toBeWithinBudget('old', { maximumSeconds: 1e-9 });
    expect(compared).not.toBeWithinBudget('old', { over: 'new', maximumRatio: 100 });
    const { pass, message } = matchers.toBeFasterThan(compared, 'old', { strict: true });
    expect([pass, message()]).toEqual([
      false,
      expect.stringMatching(
        /^too few blocks were measured for a verdict \([12]\); give compareWays .* budgetMs: \d{4} }$/,
      ),
    ]);
  });

  it('begins no call when its budget is over, and counts all calls', async () => {
    const { made, ways } = slow(100);
    const startedAt = performance.now();
    const compared = await compareWays(ways, { budgetMs: 250 });
    expect(performance.now() - startedAt).toBeLessThan(400);
    // Each way is called once in any case, and its time is known by that.
    expect([made.calls, compared.blocks]).toEqual([2, 0]);
    expect(compared.secondsOf('old')).toBeGreaterThan(0.09);
  });

  it('fails with .not only if the whole interval is on the wrong side', () => {
    const interval = { ratio: 1, low: 0.9, high: 1.1 };
    const equal: ComparedWays = {
      ways: ['a', 'b'],
      blocks: 6,
      hasTooFewBlocks: false,
      readInFull: [],
      secondsOf: () => 1,
      timeOf: () => interval,
      ratioOf: () => ({ ...interval, verdict: 'inconclusive' }),
    };
    expect(equal).toBeFasterThan('b');
    expect(equal).not.toBeFasterThan('b');
    expect(equal).toBeWithinBudget('a', { maximumSeconds: 1 });
    expect(equal).not.toBeWithinBudget('a', { maximumSeconds: 1 });
    const strict = { strict: true };
    for (const call of [
      () => expect(equal).toBeFasterThan('b', strict),
      () => expect(equal).not.toBeFasterThan('b', strict),
      () => expect(equal).toBeWithinBudget('a', { maximumSeconds: 1, ...strict }),
      () => expect(equal).not.toBeWithinBudget('a', { maximumSeconds: 1, ...strict }),
      () => expect(equal).not.toBeFasterThan('b', { by: 0.5 }),
      () => expect(equal).not.toBeWithinBudget('a', { maximumSeconds: 2 }),
      // @ts-expect-error: the matchers have types.
      () => expect(equal).toBeFasterThan('b', { bye: 2 }),
      // @ts-expect-error: the matchers have types.
      () => expect(equal).toBeWithinBudget('a', { maximumSecond: 2 }),
    ]) {
      expect(call).toThrow(/which is to be|there is no option/);
    }
  });

  it('reads what is computed when it is read within each call', async () => {
    const numbers = Array.from({ length: 2000 }, (_, index) => index);
    const ways = {
      array: () => numbers.map((number) => Math.sqrt(number)),
      *lazy() {
        for (const number of numbers) yield Math.sqrt(number);
      },
    };
    const compared = await compareWays(ways, { budgetMs: 300 });
    expect(compared.readInFull).toEqual(['lazy']);
    expect(compared.secondsOf('lazy')).toBeGreaterThan(compared.secondsOf('array') / 3);
    const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
    const read = await compareWays(ways, { budgetMs: 100, read: sum });
    expect(read.readInFull).toEqual([]);
    expect(read.secondsOf('lazy')).toBeGreaterThan(1e-6);
  });

  it.each<[string, unknown, object?]>([
    ['ways must be an object of functions', 3],
    ['at least two ways', { a: () => 1 }],
    ['the way b', { a: () => 1, b: 2 }],
    ['do not return the same: the result is 2, expected 1', { a: () => 1, b: () => 2 }],
    ['returned nothing', { a: () => {}, b: () => {} }],
    ['there is no option "budget"; did you mean budgetMs?', { a: () => 1, b: () => 1 }, { budget: 300 }],
    ['do not return the same', { a: () => [1], b: () => [2] }, { read: ([first]: number[]) => first }],
    ['read must return a number', { a: () => 1, b: () => 1 }, { read: () => 'x' }],
    ["can't be read in full", { a: () => new WeakSet(), b: () => new WeakSet() }],
    ['budgetMs must be a number', { a: () => 1, b: () => 1 }, { budgetMs: -1 }],
  ])('is refused: %s', async (message, ways, options) => {
    await expect(compareWays(ways as Record<string, () => unknown>, options)).rejects.toThrow(message);
  });

  it('knows its ways, and asks which of several is meant', async () => {
    const compared = await compareWays({ a: () => 1, b: () => 1, c: () => 1 }, { budgetMs: 20 });
    expect(() => matchers.toBeFasterThan(compared, 'a', { bye: 5 } as object)).toThrow(
      'there is no option "bye"; did you mean by?',
    );
    expect(() => matchers.toBeWithinBudget(compared, 'a', { maximumSecond: 5 } as never)).toThrow(
      'the budget: there is no option "maximumSecond"; did you mean maximumSeconds?',
    );
    expect(() => compared.ratioOf('a', 'd')).toThrow('there is no way "d"');
    expect(() => matchers.toBeFasterThan(compared, 'a')).toThrow('say which is to be faster');
    expect(matchers.toBeFasterThan(compared, 'a', { way: 'b', by: 0.001 }).pass).toBe(true);
  });
});
