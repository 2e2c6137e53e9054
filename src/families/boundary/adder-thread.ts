/** The module of the worker thread that adds: numbers that come as messages, or through memory that both threads share. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import { type SharedAddition, SharedNumbers } from './shared-numbers.js';

const port = parentPort as MessagePort;
const shared = workerData as SharedAddition | null;
if (shared === null) {
  port.on('message', ([left, right]: readonly [number, number]) => port.postMessage(left + right));
  port.postMessage('ready');
} else {
  port.postMessage('ready');
  new SharedNumbers(shared).serve();
}
