import { Worker } from 'node:worker_threads';

import { BoundaryError } from '../../errors.js';
import type { Checksum } from '../../records/record.js';
import type { CodecWork, NativeTiming } from '../workload.js';
import type { LaneTask } from './lane.js';
import { sharedNow } from './thread-clock.js';
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.js';

// Node runs a worker's module without transpiling it, so workers run the compiled module even from the sources (in tests).
const WORKER_MODULE = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/families/measurements/worker.js' : './worker.js',
  import.meta.url,
);

const MICROSECONDS_PER_SECOND = 1e6;
const MS_PER_SECOND = 1000;

/** The result of one execution by all workers. */
export interface PoolResult {
  /**
   * The time from the common start until the last worker's end, without each worker's pauses. The CPU time is that of the whole
   * process, pauses included: Node does not report it per thread.
   */
  readonly timing: NativeTiming;
  /** The checksum of each worker's rows, for a lane out. */
  readonly checksums: readonly Checksum[];
}

/** Worker threads, one per task, that share one engine. They stay warm from one execution to the next. */
export class WorkerPool {
  readonly #workers: readonly PoolWorker[];

  private constructor(workers: readonly PoolWorker[]) {
    this.#workers = workers;
  }

  /** Starts the workers; resolves when their lanes are prepared. */
  static async start(engine: string, tasks: readonly LaneTask[]): Promise<WorkerPool> {
    const workers = tasks.map((task) => new PoolWorker({ engine, task }));
    const pool = new WorkerPool(workers);
    try {
      await Promise.all(workers.map((worker) => worker.reply()));
      return pool;
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  /** Executes all tasks once, concurrently. A worker's error is thrown with its code, after the others have ended. */
  async run(signal: AbortSignal): Promise<PoolResult> {
    signal.throwIfAborted();
    const abort = (): void => this.#workers.forEach((worker) => worker.send('abort'));
    signal.addEventListener('abort', abort, { once: true });
    try {
      const cpuBefore = process.cpuUsage();
      const startedAt = sharedNow();
      const replies = this.#workers.map((worker) => worker.ask('go'));
      await Promise.allSettled(replies);
      const cpu = process.cpuUsage(cpuBefore);
      const results = (await Promise.all(replies)).flatMap((reply) => (reply.type === 'done' ? [reply] : []));
      const codec = (work: CodecWork): number | undefined => {
        const times = results.map(({ codecMs }) => codecMs[work]).filter((ms) => ms !== undefined);
        return times.length === 0 ? undefined : times.reduce((sum, ms) => sum + ms, 0) / MS_PER_SECOND;
      };
      // The workers of all cells of a group are alive at once, and the garbage of their last executions adds up.
      await Promise.all(this.#workers.map((worker) => worker.ask('collect')));
      const [encodeSeconds, decodeSeconds] = [codec('encode'), codec('decode')];
      const elapsed = results.map(({ endedAt, pausedMs }) => endedAt - startedAt - pausedMs);
      return {
        timing: {
          seconds: Math.max(...elapsed) / MS_PER_SECOND,
          ...(encodeSeconds === undefined ? {} : { encodeSeconds }),
          ...(decodeSeconds === undefined ? {} : { decodeSeconds }),
          cpuUserSeconds: cpu.user / MICROSECONDS_PER_SECOND,
          cpuSystemSeconds: cpu.system / MICROSECONDS_PER_SECOND,
        },
        checksums: results.flatMap(({ checksum }) => checksum ?? []),
      };
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends the threads, which must be idle. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }
}

/** The promise of a worker's next message. */
interface Waiting {
  resolve(message: FromWorker): void;
  reject(error: unknown): void;
}

/** One thread, with the promise of its next message. */
class PoolWorker {
  readonly #thread: Worker;
  readonly #exited: Promise<void>;
  #waiting: Waiting | undefined;
  #failure: unknown;

  constructor(start: WorkerStart) {
    this.#thread = new Worker(WORKER_MODULE, { workerData: start });
    this.#thread.on('message', (message: FromWorker) => this.#receive(message));
    this.#thread.on('error', (error) => this.#fail(error));
    this.#exited = new Promise((resolve) => {
      this.#thread.once('exit', (code) => {
        this.#fail(new BoundaryError('BB_WORKER_EXITED', `a worker thread ended with exit code ${code}`));
        resolve();
      });
    });
  }

  send(message: ToWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin.
    this.#thread.postMessage(message);
  }

  /** Sends a message; resolves to its reply. */
  ask(message: ToWorker): Promise<FromWorker> {
    this.send(message);
    return this.reply();
  }

  /** The next message of the worker; rejects with the worker's error. */
  reply(): Promise<FromWorker> {
    return new Promise((resolve, reject) => {
      if (this.#failure === undefined) this.#waiting = { resolve, reject };
      else reject(this.#failure);
    });
  }

  async close(): Promise<void> {
    this.send('close');
    const impatience = setTimeout(() => void this.#thread.terminate(), MS_PER_SECOND);
    await this.#exited;
    clearTimeout(impatience);
  }

  #receive(message: FromWorker): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (message.type === 'failed') waiting?.reject(new BoundaryError(message.code, message.message));
    else waiting?.resolve(message);
  }

  /** Marks the thread as lost; the first error is the reason. */
  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }
}
