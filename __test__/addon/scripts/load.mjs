/** Terminates threads while they load the addons. Takes the number of threads; prints how many there were. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

import { addon } from '../../../dist/addon.js';
import { crossing } from '../../../dist/crossing-addon.js';

/** The longest time until a thread is terminated, in milliseconds. Loading takes less. */
const LONGEST = 12;

if (isMainThread) {
  const threads = Number(process.argv[2]);
  for (let thread = 0; thread < threads; thread += 1) {
    const worker = new Worker(new URL(import.meta.url));
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await sleep((thread / threads) * LONGEST);
    await worker.terminate();
  }
  console.log(threads);
} else {
  parentPort.postMessage('started', []);
  if (crossing.eventLoop === undefined || addon.Engine === undefined) throw new Error('the addons have other members');
  // The thread waits until it is terminated.
  parentPort.on('message', () => {});
}
