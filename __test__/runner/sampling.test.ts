import { describe, expect, it } from 'vitest';
import { executionsOf, forksOf, isTooShort, orderOf, samplesOf, warmthOf } from '../../src/runner/sampling.js';

const policy = { budgetSeconds: 1 };
const executions = (...times: number[]) => times.map((seconds) => ({ seconds, elapsedSeconds: seconds }));

describe('a warm-up', () => {
  const times = (...seconds: number[]) => executions(...seconds.map((value) => value / 10));

  it('goes on until the last executions show no trend, and its least time has passed', () => {
    expect(warmthOf([], policy)).toBe('warming-up');
    expect(warmthOf(times(3, 2, 2, 2), policy)).toBe('warming-up');
    expect(warmthOf(times(3, 2, 2, 2, 2), policy)).toBe('warm');
    expect(warmthOf(times(3, 2.7, 2.4, 2.1, 1.8), policy)).toBe('warming-up');
    expect(warmthOf(times(3, 2.7, 2.4, 2.1, 1.8, 1.8, 1.9, 1.8), policy)).toBe('warm');
    expect(warmthOf(times(1, 1, 1, 1, 1), { budgetSeconds: 1 })).toBe('warming-up');
  });

  it('takes no trend from noise, nor from one that does not matter', () => {
    expect(warmthOf(times(2, 2.4, 2.1, 2.3, 2.2), policy)).toBe('warm');
    expect(warmthOf(times(2.04, 2.03, 2.02, 2.01, 2), policy)).toBe('warm');
  });

  it('of work that was compiled before takes three executions, and more while the last is the shortest', () => {
    const compiled = { isCompiledBefore: true };
    expect(warmthOf(times(9, 3), policy, compiled)).toBe('warming-up');
    expect(warmthOf(times(9, 3, 3), policy, compiled)).toBe('warm');
    expect(warmthOf(times(9, 3, 2.5), policy, compiled)).toBe('warming-up');
    expect(warmthOf(times(1, 1, 1), policy, compiled)).toBe('warming-up');
  });

  it('ends at its cap, and says whether the cell still gets faster', () => {
    const falling = Array.from({ length: 40 }, (_, index) => 4 * 0.97 ** index);
    expect(warmthOf(times(...falling), policy)).toBe('warming-up');
    expect(warmthOf(times(...Array.from({ length: 50 }, (_, index) => 4 * 0.97 ** index)), policy)).toBe(
      'still-warming-up',
    );
    const flat = Array.from({ length: 50 }, () => 0.001);
    expect(warmthOf(times(...flat), policy)).toBe('warm');
  });

  it('of long executions takes two, or one that took several times the budget', () => {
    expect(warmthOf(executions(1.5), policy)).toBe('warming-up');
    expect(warmthOf(executions(1.5, 0.5), policy)).toBe('warm');
    expect(warmthOf(executions(5), policy)).toBe('warm');
    const slowToMake = { seconds: 0.1, elapsedSeconds: 5 };
    expect(warmthOf([slowToMake], policy)).toBe('warm');
  });
});

describe('the number of processes', () => {
  it('is smaller for a cell whose first samples all are slow', () => {
    expect(forksOf(5, 3)).toBe(5);
    expect(forksOf(5, 3, executions(1.9))).toBe(5);
    expect(forksOf(5, 3, executions(2, 7))).toBe(3);
    expect(forksOf(5, 3, executions(1, 7))).toBe(5);
    expect(forksOf(2, 3, executions(2))).toBe(2);
  });
});

describe('the number of samples', () => {
  const [last] = executions(0.2);

  it('is what the user says', () => {
    expect(samplesOf({ ...policy, samples: 1 }, last!)).toBe(1);
    expect(samplesOf({ ...policy, samples: 50 }, last!)).toBe(50);
  });

  it('is else what the budget has room for, from 3 to 10, and one without a budget', () => {
    const ofBudget = (budgetSeconds: number): number => samplesOf({ budgetSeconds }, last!);
    expect([0, 0.5, 1, 1.3, 100].map(ofBudget)).toEqual([1, 3, 5, 6, 10]);
    expect(samplesOf(policy, { seconds: 0, elapsedSeconds: 0 })).toBe(10);
  });

  it('is three at least, however long they and their input take', () => {
    const ofSample = (seconds: number): number => samplesOf({ budgetSeconds: 0.3 }, { seconds, elapsedSeconds: 1 });
    expect([0.02, 0.1, 0.11, 2].map(ofSample)).toEqual([3, 3, 3, 3]);
    expect(samplesOf({ budgetSeconds: 0.3, samples: 1 }, { seconds: 0.02, elapsedSeconds: 1 })).toBe(1);
  });
});

describe('the executions of a sample', () => {
  const of = (isRequests: boolean, repeats: boolean, times: readonly number[]) =>
    times.map((seconds) =>
      executionsOf({ seconds, elapsedSeconds: seconds }, { isRequests, repeats }, { budgetSeconds: 2 }),
    );

  it('take 20 ms together, for requests half a second', () => {
    expect(of(false, false, [2, 0.02, 0.015, 0.001])).toEqual([1, 1, 2, 20]);
    expect(of(true, false, [2, 0.5, 0.3, 0.01])).toEqual([1, 1, 2, 50]);
  });

  it('are bounded by their number, and by the work around them that is not timed', () => {
    expect(of(false, false, [1e-6, 0])).toEqual([1000, 1000]);
    expect(
      executionsOf(
        { seconds: 0.001, elapsedSeconds: 0.6 },
        { isRequests: false, repeats: false },
        { budgetSeconds: 2 },
      ),
    ).toBe(3);
    expect(isTooShort(3 * 0.001)).toBe(true);
    expect(isTooShort(0.019)).toBe(false);
  });

  it('is one if there is no time for samples', () => {
    for (const repeats of [false, true]) {
      const none = { budgetSeconds: 0 };
      expect(executionsOf({ seconds: 1e-6, elapsedSeconds: 1e-6 }, { isRequests: true, repeats }, none)).toBe(1);
    }
  });

  it('are as many as it takes if they are within one timed span', () => {
    expect(of(false, true, [1e-6, 1e-9])).toEqual([20_000, 20_000_000]);
  });
});

describe('the order of a round', () => {
  it('begins one later each time, and goes backwards every other time', () => {
    const rounds = [0, 1, 2, 3].map((round) => orderOf(['A', 'B', 'C'], round).join(''));
    expect(rounds).toEqual(['ABC', 'BAC', 'CAB', 'ACB']);
    expect(orderOf([], 3)).toEqual([]);
  });

  it('begins with each item equally often', () => {
    const items = ['A', 'B', 'C', 'D'];
    const first = Array.from({ length: 2 * items.length }, (_, round) => orderOf(items, round)[0]);
    for (const item of items) expect(first.filter((each) => each === item)).toHaveLength(2);
  });
});
