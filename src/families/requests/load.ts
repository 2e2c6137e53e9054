/**
 * The load of many small requests. A *thread* is one connection with one request in flight. Thread `t` of `T` sends the requests
 * `t`, `t + T`, `t + 2T`, ..., as in `native/kernel`.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import { ABORTED, BoundaryError } from '../../errors.js';
import { LatencyHistogram } from '../../stats/latency-histogram.js';

/** A connection that sends one request after the other. */
export interface Requester {
  /** Sends request `index` and resolves once its response is consumed. */
  request(index: number): Promise<void>;
}

export interface Load {
  /** The requests of all threads together. */
  readonly requests: number;
  /** The requests per second of all threads together, for an open loop; absent: a closed loop. */
  readonly rate?: number | undefined;
}

export interface LoadOutcome {
  /** The latencies of all requests, in an open loop from the intended send time. */
  readonly latency: LatencyHistogram;
  /**
   * For an open loop: the delays of requests caused by this process, not by a pending response: the delay until it noticed that
   * a request was due, plus the delay until it then sent it.
   */
  readonly behind?: LatencyHistogram;
}

/** The milliseconds from the start of an open loop to its first request. */
const OPEN_LOOP_DELAY_MS = 2;

/** The most milliseconds by which timers are late; this last part of a wait is spent in turns of the event loop. */
const TIMER_LATE_MS = 2;

const MICROSECONDS_PER_MS = 1000;
const MS_PER_SECOND = 1000;

/**
 * Sends all requests and resolves once all responses are consumed: in a closed loop each thread sends after the previous
 * response, in an open loop request `i` is sent `i / rate` seconds after the start, or at once if the thread is late. Rejects at
 * the first failure or at the signal's abort; no thread sends anything after that.
 */
export async function runLoad(requesters: readonly Requester[], load: Load, signal: AbortSignal): Promise<LoadOutcome> {
  const { rate } = load;
  if (requesters.length === 0) throw new BoundaryError('BB_INVALID_ARGUMENT', 'a load needs a connection');
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0)) {
    throw new BoundaryError('BB_INVALID_ARGUMENT', `a rate must be above 0 requests a second, not ${rate}`);
  }
  const stop = new Stop(signal);
  try {
    return await Promise.race([
      rate === undefined ? closedLoop(requesters, load, stop) : openLoop(requesters, load.requests, rate, stop),
      stop.requested,
    ]);
  } finally {
    stop.now();
  }
}

/** The signal that ends the threads of a load. */
class Stop {
  /** Rejects when the caller's signal aborts. */
  readonly requested: Promise<never>;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  #onAbort: () => void = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.requested = new Promise((_, reject) => {
      this.#onAbort = () => {
        this.#ended.abort();
        reject(new BoundaryError(ABORTED, 'the load was aborted'));
      };
    });
    // Marks a rejection as handled, since it may come when nothing awaits the promise.
    this.requested.catch(() => {});
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isStopped(): boolean {
    return this.#ended.signal.aborted;
  }

  now(): void {
    this.#ended.abort();
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** Sleeps, but not beyond the end. */
  async sleep(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#ended.signal }).catch(() => {});
  }
}

async function closedLoop(requesters: readonly Requester[], { requests }: Load, stop: Stop): Promise<LoadOutcome> {
  const latency = new LatencyHistogram();
  const threads = requesters.length;
  await Promise.all(
    requesters.map(async (requester, thread) => {
      let sent = performance.now();
      for (let index = thread; index < requests; index += threads) {
        if (stop.isStopped) return;
        await requester.request(index);
        const answered = performance.now();
        latency.record((answered - sent) * MICROSECONDS_PER_MS);
        sent = answered;
      }
    }),
  );
  return { latency };
}

async function openLoop(
  requesters: readonly Requester[],
  requests: number,
  rate: number,
  stop: Stop,
): Promise<LoadOutcome> {
  const latency = new LatencyHistogram();
  const behind = new LatencyHistogram();
  const threads = requesters.length;
  const start = performance.now() + OPEN_LOOP_DELAY_MS;
  const intendedAt = (index: number): number => start + (index / rate) * MS_PER_SECOND;
  const clock = new SendClock(requesters.length);
  const pace = async (): Promise<void> => {
    for (let index = 0; index < requests; index += 1) {
      await waitUntil(intendedAt(index), stop);
      if (stop.isStopped) return clock.end();
      clock.release(index % threads, performance.now());
    }
  };
  const send = async (requester: Requester, thread: number): Promise<void> => {
    let answered = Number.NEGATIVE_INFINITY;
    for (let index = thread; index < requests; index += threads) {
      const noticed = await clock.due(thread);
      if (stop.isStopped) return;
      const intended = intendedAt(index);
      const late = noticed - intended + (performance.now() - Math.max(noticed, answered));
      behind.record(late * MICROSECONDS_PER_MS);
      await requester.request(index);
      answered = performance.now();
      latency.record((answered - intended) * MICROSECONDS_PER_MS);
    }
  };
  await Promise.all([pace(), ...requesters.map(send)]);
  return { latency, behind };
}

/** Sleeps while a timer is precise enough, then turns the event loop, so that responses are read in the meantime. */
async function waitUntil(time: number, stop: Stop): Promise<void> {
  for (;;) {
    const left = time - performance.now();
    if (left <= 0 || stop.isStopped) return;
    if (left > TIMER_LATE_MS) await stop.sleep(left - TIMER_LATE_MS);
    else await nextTurn();
  }
}

/** For each thread, the times at which its next requests were noticed as due, and its promise while it waits for one. */
class SendClock {
  readonly #due: number[][];
  readonly #waiting: (((noticed: number) => void) | undefined)[];

  constructor(threads: number) {
    this.#due = Array.from({ length: threads }, () => []);
    this.#waiting = Array.from({ length: threads }, () => undefined);
  }

  release(thread: number, noticed: number): void {
    const waiting = this.#waiting[thread];
    if (waiting === undefined) {
      this.#due[thread]!.push(noticed);
    } else {
      this.#waiting[thread] = undefined;
      waiting(noticed);
    }
  }

  due(thread: number): Promise<number> {
    const noticed = this.#due[thread]!.shift();
    if (noticed !== undefined) return Promise.resolve(noticed);
    return new Promise((resolve) => {
      this.#waiting[thread] = resolve;
    });
  }

  /** Resumes every waiting thread, to see that the load has ended. */
  end(): void {
    for (const waiting of this.#waiting) waiting?.(performance.now());
  }
}
