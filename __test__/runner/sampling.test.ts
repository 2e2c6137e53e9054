import { describe, expect, it } from 'vitest';
import { executionsOf, forksOf, isWarm, orderOf, samplesOf } from '../../src/runner/sampling.js';

const policy = { budgetSeconds: 1 };
const executions = (...times: number[]) => times.map((seconds) => ({ seconds, elapsedSeconds: seconds }));

describe('a warm-up', () => {
  it('takes two executions that agree', () => {
    expect(isWarm([], policy)).toBe(false);
    expect(isWarm(executions(0.1), policy)).toBe(false);
    expect(isWarm(executions(0.1, 0.05), policy)).toBe(false);
    expect(isWarm(executions(0.1, 0.05, 0.049), policy)).toBe(true);
  });

  it('ends after six, or once it took the budget', () => {
    expect(isWarm(executions(0.01, 0.02, 0.01, 0.02, 0.01), policy)).toBe(false);
    expect(isWarm(executions(0.01, 0.02, 0.01, 0.02, 0.01, 0.02), policy)).toBe(true);
    expect(isWarm(executions(1.5), policy)).toBe(false);
    expect(isWarm(executions(1.5, 0.5), policy)).toBe(true);
    expect(isWarm(executions(5), policy)).toBe(true);
    expect(isWarm(executions(0.4, 0.7), policy)).toBe(true);
  });

  it('counts the work that is not timed into the budget alone', () => {
    const slowToMake = { seconds: 0.1, elapsedSeconds: 5 };
    expect(isWarm([slowToMake], policy)).toBe(true);
    expect(isWarm([{ ...slowToMake, elapsedSeconds: 0.2 }], policy)).toBe(false);
  });
});

describe('the number of processes', () => {
  const forks = { forks: 5, slowForks: 3 };

  it('is smaller for a cell whose first samples all are slow', () => {
    expect(forksOf(forks)).toBe(5);
    expect(forksOf(forks, executions(1.9))).toBe(5);
    expect(forksOf(forks, executions(2, 7))).toBe(3);
    expect(forksOf(forks, executions(1, 7))).toBe(5);
    expect(forksOf({ forks: 2, slowForks: 3 }, executions(2))).toBe(2);
  });
});

describe('the number of samples', () => {
  const [last] = executions(0.2);

  it('is what the user says', () => {
    expect(samplesOf({ ...policy, samples: 1 }, last!)).toBe(1);
    expect(samplesOf({ ...policy, samples: 50 }, last!)).toBe(50);
  });

  it('is else what the budget has room for, from 1 to 10', () => {
    const ofBudget = (budgetSeconds: number): number => samplesOf({ budgetSeconds }, last!);
    expect([0, 0.5, 1, 1.3, 100].map(ofBudget)).toEqual([1, 2, 5, 6, 10]);
    expect(samplesOf(policy, { seconds: 0, elapsedSeconds: 0 })).toBe(10);
  });

  it('is three at least where samples are short, however long their input takes to make', () => {
    const ofSample = (seconds: number): number => samplesOf({ budgetSeconds: 0.3 }, { seconds, elapsedSeconds: 1 });
    expect([0.02, 0.1, 0.11, 2].map(ofSample)).toEqual([3, 3, 1, 1]);
    expect(samplesOf({ budgetSeconds: 0.3, samples: 1 }, { seconds: 0.02, elapsedSeconds: 1 })).toBe(1);
  });
});

describe('the executions of a sample of requests', () => {
  it('take half a second together, and are a hundred at most', () => {
    const times = [2, 0.5, 0.3, 0.01, 0.001, 0].map((seconds) => executionsOf({ seconds, elapsedSeconds: seconds }));
    expect(times).toEqual([1, 1, 2, 50, 100, 100]);
    // Each execution takes half a second of untimed work.
    expect(executionsOf({ seconds: 0.1, elapsedSeconds: 0.6 })).toBe(3);
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
