import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { startWorker } from '../../../src/families/boundary/adders.js';
import { SharedNumbers } from '../../../src/families/boundary/shared-numbers.js';

const ADDITIONS = 50_000;

/** Wakes the threads that wait at a place of memory, though nothing has changed there: a wake-up may come late, after the next call began. */
const WAKING = `
  const state = new Int32Array(require('node:worker_threads').workerData, 0, 1);
  for (;;) Atomics.notify(state, 0);
`;

test('a wake-up without a reason yields no sum of an earlier call', async () => {
  const shared = new SharedNumbers();
  const adder = await startWorker('adder-thread', shared.memory);
  const waker = new Worker(WAKING, { eval: true, workerData: shared.memory });
  for (const worker of [adder, waker]) onTestFinished(async () => void (await worker.terminate()));
  onTestFinished(() => shared.close());
  const wrong: string[] = [];
  for (let number = 0; number < ADDITIONS; number += 1) {
    const sum = shared.add(number, 1);
    if (sum !== number + 1) wrong.push(`${number} + 1 = ${sum}`);
  }
  expect(wrong).toEqual([]);
});
