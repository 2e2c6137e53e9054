import { expect, test } from 'vitest';

import { openFloor, openLoop, sumOfCalls } from '../../src/families/in-process.js';
import type { NativeTiming, OpenCell, PlannedCell, Stopwatch } from '../../src/families/workload.js';
import { verifyChecksum } from '../../src/families/verify-checksum.js';
import type { Checksum } from '../../src/records/record.js';

/** A stopwatch that keeps what it was told. */
function noting(): Stopwatch & { readonly notes: string[]; readonly added: NativeTiming[] } {
  const notes: string[] = [];
  const added: NativeTiming[] = [];
  return {
    notes,
    added,
    start: () => void notes.push('start'),
    stop: () => void notes.push('stop'),
    add: (timing) => void added.push(timing),
    addRequests: () => {},
    addHeapBytes: () => void notes.push('heap'),
    apart: (_work, execute) => execute(),
  };
}

const sampled = (cell: OpenCell, stopwatch: Stopwatch, repeats?: number): Promise<Checksum> =>
  cell.sample(stopwatch, new AbortController().signal, repeats);

test.each([
  ['returns', (sum: number): number => sum],
  ['promises', async (sum: number): Promise<number> => sum],
])('a loop that %s a sum is repeated within one timed span', async (_, given) => {
  const stopwatch = noting();
  const loop = (calls: number): number | Promise<number> => {
    stopwatch.notes.push(`${calls} calls`);
    return given(calls * 2);
  };
  const cell = openLoop(loop, 7, sumOfCalls(7, 14));
  expect(cell.repeats).toBe(true);
  verifyChecksum(await sampled(cell, stopwatch, 3), cell.expected);
  expect(stopwatch.notes.splice(0)).toEqual(['start', '7 calls', '7 calls', '7 calls', 'stop']);
  verifyChecksum(await sampled(cell, stopwatch), cell.expected);
  expect(stopwatch.notes).toEqual(['start', '7 calls', 'stop']);
});

test('a loop that waits for nothing waits for no turn of the event loop between its repeats', async () => {
  let turns = 0;
  const cell = openLoop((calls) => calls, 1, sumOfCalls(1, 1));
  const stopwatch = noting();
  let running = true;
  const count = (): void => {
    turns += 1;
    if (running) queueMicrotask(count);
  };
  const sample = sampled(
    { ...cell },
    { ...stopwatch, start: () => queueMicrotask(count), stop: () => (running = false) as never },
    1000,
  );
  await sample;
  expect(turns).toBeLessThan(3);
});

test.each([
  ['returns', (sum: number): number => sum],
  ['promises', async (sum: number): Promise<number> => sum],
])('a loop that %s another sum at one of its repeats fails the sample', async (_, given) => {
  const checksums: Checksum[] = [];
  for (const odd of [0, 1, 2, 3]) {
    let execution = 0;
    const loop = (calls: number): number | Promise<number> => given(execution++ === odd ? calls + 1 : calls);
    checksums.push(await sampled(openLoop(loop, 5, sumOfCalls(5, 5)), noting(), 4));
  }
  // The first execution that is wrong makes all others unlike it.
  expect(checksums.map(({ sums }) => sums['result'])).toEqual([5, 6, 6, 6]);
});

test('a loop whose first execution alone is wrong is noticed, too', async () => {
  let execution = 0;
  const cell = openLoop((calls) => (execution++ === 0 ? calls + 2 : calls), 5, sumOfCalls(5, 7));
  const checksum = await sampled(cell, noting(), 2);
  expect(() => verifyChecksum(checksum, cell.expected)).toThrow(/result/);
});

test('the growth of the heap is looked at once, whatever the repeats', async () => {
  const stopwatch = noting();
  await sampled(
    openLoop((calls) => calls, 1000, sumOfCalls(1000, 1000)),
    stopwatch,
    4,
  );
  expect(stopwatch.notes).toEqual(['start', 'stop', 'heap']);
});

test.runIf(process.platform === 'linux')(
  'a floor is repeated within Rust: the time is of all executions, the checksum of one',
  async () => {
    const calls = 200_000;
    const planned = {
      cell: { family: 'boundary', workload: 'error', lane: 'call', calls },
    } as unknown as PlannedCell;
    const cell = await openFloor(planned, sumOfCalls(calls, 9 * calls));
    expect(cell.repeats).toBe(true);
    const stopwatch = noting();
    verifyChecksum(await sampled(cell, stopwatch), cell.expected);
    verifyChecksum(await sampled(cell, stopwatch, 20), cell.expected);
    const [once, often] = stopwatch.added.map(({ seconds }) => seconds) as [number, number];
    // Twenty times the work, on a machine that may be disturbed.
    expect(often).toBeGreaterThan(4 * once);
    expect(stopwatch.added[1]!.cpuUserSeconds).toBeGreaterThan(0);
    expect(stopwatch.added[1]!.minorFaults).toBeGreaterThanOrEqual(0);
    await cell.close();
  },
);
