/** The module of a worker thread: attaches to the engine, prepares its task's lane, and runs it on each `go`. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import { toBoundaryError } from '../../errors.js';
import { attach } from '../../library/engine/connection.js';
import type { LaneRun } from './lane.js';
import { prepareLane } from './lanes.js';
import { ThreadClock } from './thread-clock.js';
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.js';

const port = parentPort as MessagePort;
const { engine, task } = workerData as WorkerStart;
let abort = new AbortController();

try {
  const connection = attach(engine);
  const run = await prepareLane(connection, task);
  port.on('message', (message: ToWorker) => {
    if (message === 'go') void execute(run).then(reply);
    else if (message === 'abort') abort.abort();
    else if (message === 'collect') reply(collected());
    else void connection.close().finally(() => port.close());
  });
  reply({ type: 'ready' });
} catch (thrown) {
  reply(failure(thrown));
}

async function execute(run: LaneRun): Promise<FromWorker> {
  abort = new AbortController();
  const clock = new ThreadClock();
  try {
    const checksum = await run(clock, abort.signal);
    const { endedAt, pausedMs, codecMs } = clock;
    return { type: 'done', endedAt, pausedMs, codecMs, checksum };
  } catch (thrown) {
    return failure(thrown);
  }
}

/** Collects garbage. A run that exposes the collector exposes it in threads that start later, too. */
function collected(): FromWorker {
  if (typeof globalThis.gc === 'function') globalThis.gc();
  return { type: 'ready' };
}

function failure(thrown: unknown): FromWorker {
  const { code, message } = toBoundaryError(thrown);
  return { type: 'failed', code, message };
}

function reply(message: FromWorker): void {
  port.postMessage(message);
}
