import { Worker } from 'node:worker_threads';

import { builtModule } from '../../built-module.js';
import { BoundaryError, receivedError, toBoundaryError } from '../../errors.js';
import type { PoolCall } from './pool-call.js';
import type { FromThread, ThreadStart, ToThread } from './worker-messages.js';

const PROGRAM = builtModule(new URL('worker-main.js', import.meta.url));

/** A running thread, with what awaits its next message. */
interface Running {
  readonly worker: Worker;
  waiting: Waiting | undefined;
  /** The reason why the thread is lost, once it is. */
  lost: BoundaryError | undefined;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: BoundaryError): void;
}

/** One thread of a pool. If it has ended, the next call starts it again. */
export class PoolThread {
  readonly #start: ThreadStart;
  readonly #graceMs: number;
  #running: Running | undefined;
  /** Resolves when the thread that ran last has ended. */
  #exited: Promise<void> = Promise.resolve();

  constructor(start: ThreadStart, graceMs: number) {
    this.#start = start;
    this.#graceMs = graceMs;
  }

  /** Starts the thread if it does not run. Resolves when its module is loaded. */
  async start(): Promise<void> {
    await this.#started();
  }

  /** The running thread, which is started if there is none. */
  async #started(): Promise<Running> {
    if (this.#running !== undefined) return this.#running;
    const worker = new Worker(PROGRAM, { workerData: this.#start });
    const running: Running = { worker, waiting: undefined, lost: undefined };
    this.#running = running;
    this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: FromThread) => receive(running, message));
    worker.on('messageerror', (cause) => running.waiting?.reject(notCloneable('what the function returned', cause)));
    worker.on('error', (cause) => this.#lose(running, crashed(this.#start.index, cause)));
    worker.once('exit', (code) => this.#lose(running, exited(this.#start.index, code)));
    try {
      await replyOf(running);
      return running;
    } catch (thrown) {
      await this.close();
      throw thrown;
    } finally {
      // An idle thread does not keep the process alive.
      worker.unref();
    }
  }

  /** Makes a call. Resolves when it is over, and never rejects: the call has the outcome. */
  async perform(call: PoolCall): Promise<void> {
    try {
      // The thread may be lost by now. Its reply is then the reason.
      const running = await this.#started();
      if (call.ended !== undefined) throw call.ended;
      let grace: NodeJS.Timeout | undefined;
      running.worker.ref();
      try {
        const reply = replyOf(running);
        post(running.worker, { type: 'call', name: call.name, argument: call.argument }, call.transfer);
        call.onEnded = () => {
          post(running.worker, { type: 'abort' });
          // A function that does not look at its signal would keep the thread forever.
          grace = setTimeout(() => void running.worker.terminate(), this.#graceMs);
        };
        call.resolve(await reply);
      } finally {
        clearTimeout(grace);
        running.waiting = undefined;
        running.worker.unref();
      }
    } catch (thrown) {
      call.reject(toBoundaryError(thrown));
    }
  }

  /** Ends the thread at once, and the call under way with this error. */
  async terminate(reason: BoundaryError): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#lose(running, reason);
    await running.worker.terminate();
  }

  /** Ends the thread, which must be idle: by itself, or after its time of grace. */
  async close(): Promise<void> {
    const { worker } = this.#running ?? {};
    if (worker !== undefined) {
      worker.ref();
      post(worker, { type: 'close' });
    }
    const grace = setTimeout(() => void worker?.terminate(), this.#graceMs);
    await this.#exited;
    clearTimeout(grace);
  }

  /** Marks a thread as lost. The first error is the reason. */
  #lose(running: Running, reason: BoundaryError): void {
    if (this.#running === running) this.#running = undefined;
    running.lost ??= reason;
    running.waiting?.reject(running.lost);
    running.waiting = undefined;
  }
}

/** The next message of a thread. Rejects with the error of its call, or with the reason why the thread is lost. */
function replyOf(running: Running): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (running.lost === undefined) running.waiting = { resolve, reject };
    else reject(running.lost);
  });
}

/** Takes a message. A module may send others, which nobody awaits. */
function receive({ waiting }: Running, message: FromThread | undefined | null): void {
  if (message?.type === 'boundary-bench:failed') waiting?.reject(receivedError(message.error));
  else if (message?.type === 'boundary-bench:returned') waiting?.resolve(message.value);
  else if (message?.type === 'boundary-bench:ready') waiting?.resolve(undefined);
}

function post(worker: Worker, message: ToThread, transfer: readonly unknown[] = []): void {
  try {
    worker.postMessage(message, transfer as Parameters<Worker['postMessage']>[1] & object[]);
  } catch (cause) {
    throw notCloneable('the argument', cause);
  }
}

function notCloneable(what: string, cause: unknown): BoundaryError {
  const { message } = toBoundaryError(cause);
  return new BoundaryError('BB_NOT_CLONEABLE', `${what} can't be sent to another thread: ${message}`, { cause });
}

function crashed(index: number, cause: unknown): BoundaryError {
  const { message } = toBoundaryError(cause);
  return new BoundaryError('BB_WORKER_EXITED', `worker ${index} crashed: ${message}`, { cause });
}

function exited(index: number, code: number): BoundaryError {
  return new BoundaryError('BB_WORKER_EXITED', `the thread of worker ${index} ended with exit code ${code}`);
}
