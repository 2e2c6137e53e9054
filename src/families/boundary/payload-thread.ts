/** The module of the worker thread to which bytes or rows go, or from which they come, as messages. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import { bytesOf, endsOf } from './functions.js';
import { rowsOf } from './matrix.js';
import type { PayloadTask } from './payloads.js';
import { kindOf } from './rows.js';

const port = parentPort as MessagePort;
const { workload, lane } = workerData as PayloadTask;
const [kind, size] = workload.split('.') as [string, string];

/** Answers each message with what `answer` makes of it, and hands over the memory of what it returns beside. */
function serve<Message>(answer: (message: Message) => unknown, memoryOf: (answer: never) => ArrayBuffer[]): void {
  port.on('message', (message: Message) => {
    const answered = answer(message);
    port.postMessage(answered, memoryOf(answered as never));
  });
}

const nothing = (): ArrayBuffer[] => [];
const ofBytes = (bytes: Uint8Array): ArrayBuffer[] => [bytes.buffer as ArrayBuffer];

switch (kind) {
  case 'bytes_in':
    if (lane === 'clone') serve(endsOf, nothing);
    else {
      serve(
        (bytes: Uint8Array) => [endsOf(bytes), bytes] as const,
        ([, bytes]: readonly [number, Uint8Array]) => ofBytes(bytes),
      );
    }
    break;
  case 'bytes_out': {
    const bytes = bytesOf(Number(size))[0]!;
    if (lane === 'clone') serve(() => bytes, nothing);
    else serve(() => bytes.slice(), ofBytes);
    break;
  }
  case 'rows_in':
    serve(kindOf(rowsOf(workload).shape).sum, nothing);
    break;
  default: {
    const { shape, count } = rowsOf(workload);
    const rows = kindOf(shape).make(count, shape.characters);
    serve(() => rows, nothing);
  }
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin.
port.postMessage('ready');
