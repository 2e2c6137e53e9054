/** The module of the worker thread that adds: numbers that come as messages, or through memory that both threads share. */
import { parentPort, workerData } from 'node:worker_threads';

import { type SharedAddition, SharedNumbers } from './shared-numbers.js';

const shared = workerData as SharedAddition | null;
if (shared === null) {
  parentPort!.on('message', ([left, right]: readonly [number, number]) => parentPort!.postMessage(left + right));
  parentPort!.postMessage('ready');
} else {
  parentPort!.postMessage('ready');
  new SharedNumbers(shared).serve();
}
