/**
 * The load of many small requests. Each requester has one request in flight. Requester `r` of `R` sends the requests
 * `r`, `r + R`, `r + 2R`, ..., as in `native/kernel`.
 */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import { ABORTED, BoundaryError, invalidArgument } from '../../errors.js';
import { LatencyHistogram } from '../../stats/latency-histogram.js';

/** A connection that sends one request after the other. */
export interface Requester {
  /** Sends request `index` and resolves once its response is consumed. */
  request(index: number): Promise<void>;
  /** Takes note of a failed request, which has no latency, after which the requester goes on. Absent: the first failure ends the load. */
  failed?(thrown: unknown): Promise<void>;
  /** Closes the connection, if it is the requester's own. */
  close?(): Promise<void>;
}

export interface Load {
  /** The most requests of all requesters together. */
  readonly requests: number;
  /** The duration in seconds after which no request is sent; absent: the load ends with its last request. */
  readonly seconds?: number | undefined;
  /** The requests per second of all requesters together, for an open loop; absent: a closed loop. */
  readonly rate?: number | undefined;
}

export interface LoadOutcome {
  /** The seconds from the common start to the last response consumed. */
  readonly seconds: number;
  /** The latencies of all requests that succeeded, in an open loop from the intended send time. */
  readonly latency: LatencyHistogram;
  /**
   * For an open loop: the delays of requests caused by this process, not by a pending response. Each is the delay until
   * the process noticed that a request was due, plus the delay until it then sent it.
   */
  readonly behind?: LatencyHistogram;
  /** For an open loop: the seconds in which the event loop turned without work until a request was due. They are CPU time. */
  readonly idleSeconds?: number;
  /** The requests of an open loop that were due, but not sent before its end. */
  readonly unsent: number;
}

/** The most milliseconds by which timers are late. This last part of a wait is spent in turns of the event loop. */
const TIMER_LATE_MS = 2;

/** The milliseconds below which a turn of the event loop had no work: it asks the kernel for answers, and there is none. */
const IDLE_TURN_MS = 0.01;

/** The number of due requests whose times are kept. Of a longer backlog the newest count for the oldest. */
const MOST_NOTICES = 65_536;

const NANOSECONDS_PER_MS = 1e6;
const MS_PER_SECOND = 1000;

/**
 * Sends requests until the end of the load, and resolves once all responses are consumed. In a closed loop each requester sends after
 * the previous response. In an open loop request `i` is sent `i / rate` seconds after the start, or at once if the requester is late.
 * Rejects at the first failure of which its requester takes no note, and at the signal's abort. No requester sends anything after
 * that. A load with a duration does not reject at the abort, but ends when the requests in flight are answered.
 */
export async function runLoad(requesters: readonly Requester[], load: Load, signal: AbortSignal): Promise<LoadOutcome> {
  const { rate } = load;
  if (requesters.length === 0) throw invalidArgument('a load needs a connection');
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0)) {
    throw invalidArgument(`a rate must be above 0 requests per second, not ${rate}`);
  }
  const stop = new Stop(signal);
  try {
    const outcome = sendAll(requesters, load, stop);
    return await (load.seconds === undefined ? Promise.race([outcome, stop.requested]) : outcome);
  } finally {
    stop.now();
  }
}

/** The signal that ends a load. */
class Stop {
  /** Rejects when the caller's signal aborts. */
  readonly requested: Promise<never>;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  #onAbort: () => void = () => {};

  constructor(signal: AbortSignal) {
    // Each requester that sleeps listens to it.
    setMaxListeners(0, this.#ended.signal);
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

async function sendAll(requesters: readonly Requester[], load: Load, stop: Stop): Promise<LoadOutcome> {
  const latency = new LatencyHistogram();
  const schedule = load.rate === undefined ? undefined : new Schedule(load, load.rate, stop);
  const { requests } = schedule ?? load;
  const start = schedule?.start ?? performance.now();
  const end = start + (load.seconds ?? Infinity) * MS_PER_SECOND;
  /** Sends the requests of one requester, and returns the time of its last response. */
  const send = async (requester: Requester, first: number): Promise<number> => {
    let ready = performance.now();
    for (let index = first; index < requests && ready < end; index += requesters.length) {
      const from = schedule === undefined ? ready : await schedule.turn(index, ready);
      if (stop.isStopped) break;
      try {
        await requester.request(index);
        ready = performance.now();
        latency.record((ready - from) * NANOSECONDS_PER_MS);
      } catch (thrown) {
        if (requester.failed === undefined) throw thrown;
        await requester.failed(thrown);
        ready = performance.now();
      }
    }
    return ready;
  };
  const telling = schedule?.run();
  const ended = await Promise.all(requesters.map(send));
  stop.now();
  await telling;
  const seconds = (Math.max(start, ...ended) - start) / MS_PER_SECOND;
  const open = schedule && { behind: schedule.behind, idleSeconds: schedule.idleMs / MS_PER_SECOND };
  return { seconds, latency, ...open, unsent: schedule?.unsent ?? 0 };
}

/** The schedule of an open loop. */
class Schedule {
  readonly behind = new LatencyHistogram();
  /** The milliseconds of turns of the event loop without work. */
  idleMs = 0;
  readonly requests: number;
  /** The time at which the first request is due: at once, since a wait before it would count as time of the load. */
  readonly start = performance.now();
  readonly #rate: number;
  readonly #stop: Stop;
  /** The number of requests that were noticed as due. */
  #due = 0;
  /** The times at which the latest requests were noticed as due, by the index modulo the length. */
  readonly #noticed: Float64Array;
  /** Resume the requesters that wait for a request to be due, by its index. */
  readonly #waiting = new Map<number, () => void>();

  constructor({ requests, seconds = Infinity }: Load, rate: number, stop: Stop) {
    this.requests = Math.min(requests, Math.ceil(seconds * rate));
    this.#rate = rate;
    this.#stop = stop;
    this.#noticed = new Float64Array(Math.min(this.requests, MOST_NOTICES));
  }

  /** The number of requests that were due, but not sent. */
  get unsent(): number {
    return this.#due - this.behind.count;
  }

  /** Tells when requests are due, until all are, or the load is stopped. */
  async run(): Promise<void> {
    while (this.#due < this.requests) {
      await this.#waitUntil(this.#intended(this.#due));
      if (this.#stop.isStopped) break;
      this.#release(performance.now());
    }
    for (const resume of this.#waiting.values()) resume();
  }

  /**
   * Waits until a request is due, and returns the time at which it was due, also if the load is stopped. `ready` is the
   * time since which its requester has been ready.
   */
  async turn(index: number, ready: number): Promise<number> {
    if (index >= this.#due) await new Promise<void>((resume) => this.#waiting.set(index, resume));
    const intended = this.#intended(index);
    if (this.#stop.isStopped) return intended;
    const noticed = this.#noticed[index % MOST_NOTICES]!;
    const late = noticed - intended + (performance.now() - Math.max(noticed, ready));
    this.behind.record(late * NANOSECONDS_PER_MS);
    return intended;
  }

  #intended(index: number): number {
    return this.start + (index / this.#rate) * MS_PER_SECOND;
  }

  /** Marks the requests as due that are, at most as many as there are notices, so that the event loop turns in between. */
  #release(now: number): void {
    const most = Math.min(this.requests, this.#due + MOST_NOTICES);
    while (this.#due < most && this.#intended(this.#due) <= now) {
      const index = this.#due;
      this.#due += 1;
      this.#noticed[index % MOST_NOTICES] = now;
      this.#waiting.get(index)?.();
      this.#waiting.delete(index);
    }
  }

  /** Waits for a turn of the event loop. */
  async #turn(): Promise<void> {
    const before = performance.now();
    await nextTurn();
    const took = performance.now() - before;
    if (took < IDLE_TURN_MS) this.idleMs += took;
  }

  /** Sleeps while a timer is precise enough, then turns the event loop, once at least, so that responses are read meanwhile. */
  async #waitUntil(time: number): Promise<void> {
    do {
      const left = time - performance.now();
      if (left > TIMER_LATE_MS) await this.#stop.sleep(left - TIMER_LATE_MS);
      else await this.#turn();
    } while (performance.now() < time && !this.#stop.isStopped);
  }
}
