/**
 * The load of many small requests. A *thread* is one connection with one request in flight. Thread `t` of `T` sends the
 * requests `t`, `t + T`, `t + 2T`, ..., as `native/kernel` does it.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import { ABORTED, BoundaryError } from '../../errors.js';
import { LatencyHistogram } from '../../stats/latency-histogram.js';

/** A connection that sends one request after the other. */
export interface Requester {
  /** Sends the request of this index and resolves once its answer is consumed. */
  request(index: number): Promise<void>;
}

export interface Load {
  /** The requests of all threads together. */
  readonly requests: number;
  /** Requests a second of all threads together, for an open loop; absent: a closed one. */
  readonly rate?: number | undefined;
}

export interface LoadOutcome {
  /** The latencies of all requests, in an open loop from when each was meant to be sent. */
  readonly latency: LatencyHistogram;
  /**
   * Of an open loop: how late requests were sent by this process's own doing, not for want of the answer before: how late it
   * noticed that their time had come, and how late it then sent them.
   */
  readonly behind?: LatencyHistogram;
}

/** How long before its first request an open loop starts. */
const OPEN_LOOP_DELAY_MS = 2;

/** Timers are up to this late, so the last part of a wait is spent in turns of the event loop. */
const TIMER_LATE_MS = 2;

const MICROSECONDS_PER_MS = 1000;
const MS_PER_SECOND = 1000;

/**
 * Sends all requests and resolves once all answers are consumed: in a closed loop each thread its next one when the last
 * one is answered, in an open loop request `i` at `i / rate` seconds after the start, or at once where the thread is late.
 * The first failure rejects, and no thread sends anything after it; so does the signal.
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

/** Ends the threads of a load. */
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
    // It may reject when nobody waits any more.
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

/** Sleeps while a timer is good enough, then goes round the event loop, so that answers are read meanwhile. */
async function waitUntil(time: number, stop: Stop): Promise<void> {
  for (;;) {
    const left = time - performance.now();
    if (left <= 0 || stop.isStopped) return;
    if (left > TIMER_LATE_MS) await stop.sleep(left - TIMER_LATE_MS);
    else await nextTurn();
  }
}

/** For each thread, when it was noticed that its next requests are due, and the thread that waits for one. */
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

  /** Lets every thread go on, to see that the load has ended. */
  end(): void {
    for (const waiting of this.#waiting) waiting?.(performance.now());
  }
}
