import { describe, expect, it } from 'vitest';

import { type ThreadTimes, threadTimes, workingThreads } from '../../src/families/working-threads.js';

const times = (process: number, threads: Readonly<Record<string, number>>): ThreadTimes => ({
  process,
  threads: new Map(Object.entries(threads)),
});

describe('workingThreads', () => {
  const before = times(10, { 1: 5, 2: 1, 3: 4 });
  const since = (process: number, threads: Readonly<Record<string, number>>): number | undefined =>
    workingThreads(before, times(process, threads), 1);

  it.each([
    ['one that worked, one that almost did not, one that did not', 11.03, { 1: 6, 2: 1.03, 3: 4, 4: 0 }, 1],
    ['one that is new', 12, { 1: 5.5, 2: 1.9, 3: 4, 4: 0.6 }, 3],
    ['one that came and went', 12, { 1: 6, 2: 1, 3: 4 }, 2],
    ['accounts that lag', 11.049, { 1: 6, 2: 1, 3: 4 }, 1],
  ])('counts %s', (_, process, threads, expected) => {
    expect(since(process, threads)).toBe(expected);
  });

  it('says nothing of a span that is too short, or in which nothing was read', () => {
    expect(workingThreads(before, times(12, { 1: 7 }), 0.001)).toBeUndefined();
    expect(workingThreads(undefined, before, 1)).toBeUndefined();
    expect(workingThreads(before, undefined, 1)).toBeUndefined();
  });
});

describe.runIf(process.platform === 'linux')('threadTimes', () => {
  it('includes the calling thread in the times of the threads', () => {
    const before = threadTimes()!;
    const start = process.cpuUsage();
    const microseconds = ({ user, system }: NodeJS.CpuUsage): number => user + system;
    while (microseconds(process.cpuUsage(start)) < 60_000);
    const after = threadTimes()!;
    expect(after.process - before.process).toBeGreaterThan(0.02);
    expect(after.threads.get(String(process.pid))! - before.threads.get(String(process.pid))!).toBeGreaterThan(0.02);
  });
});
