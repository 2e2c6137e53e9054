/** The loop of the soak in Node; `native/suite/src/ingest/soak.rs` is the same in Rust. */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import { toBoundaryError } from '../../errors.js';
import { LatencyHistogram } from '../../stats/latency-histogram.js';
import { FIELD, failureKind } from './points-query.js';
import { SoakBatch } from './soak-batch.js';
import type { SoakClient } from './soak-client.js';
import type { SoakFigures, SoakLoad } from './soak.js';

const MS = 1000;
const MICROSECONDS_PER_MS = 1000;
const NO_CONTENT = 204;

/** The milliseconds that a worker waits after a failure, so that a server that is down is not flooded. */
const REST_MS = 10;

/** The most milliseconds by which timers are late; this last part of a wait is spent in turns of the event loop. */
const TIMER_LATE_MS = 2;

/** Posts batches with this client until the end, or until the signal is aborted. */
export async function runLoad(client: SoakClient, load: SoakLoad, signal: AbortSignal): Promise<SoakFigures> {
  // A signal of its own, since each waiting worker adds a listener.
  const stop = AbortSignal.any([signal]);
  setMaxListeners(0, stop);
  const workers = new Workers(client, load, stop);
  await Promise.all([workers.pace(), ...Array.from({ length: load.workers }, (_, worker) => workers.work(worker))]);
  return workers.figures();
}

class Workers {
  readonly #client: SoakClient;
  readonly #load: SoakLoad;
  readonly #signal: AbortSignal;
  readonly #startsAt = performance.now();
  readonly #measuredFrom: number;
  readonly #endsAt: number;
  readonly #latency = new LatencyHistogram();
  readonly #errors = new Map<string, number>();
  #acknowledged = 0;
  #uncertain = 0;
  #points = 0;
  #requests = 0;
  #lastAnswer = 0;
  /** For an open loop: the number of due requests, the number taken, and the workers that wait for one. */
  #due = 0;
  #taken = 0;
  #waiting: ((intended: number | undefined) => void)[] = [];
  #isOver = false;

  constructor(client: SoakClient, load: SoakLoad, signal: AbortSignal) {
    this.#client = client;
    this.#load = load;
    this.#signal = signal;
    this.#measuredFrom = this.#startsAt + load.warmupSeconds * MS;
    this.#endsAt = this.#measuredFrom + load.durationSeconds * MS;
  }

  /** Runs one worker, with a series of its own, so that no two of its points share a time. */
  async work(worker: number): Promise<void> {
    const { batchSize, measurement, firstTime, rate } = this.#load;
    const batch = new SoakBatch(batchSize);
    const encode = this.#client.encoder({ measurement, tags: { worker: `${worker}` }, field: FIELD }, batch);
    for (let from = 0; ; from += batchSize) {
      const intended = rate === undefined ? undefined : await this.#turn();
      if (rate === undefined ? this.#hasEnded() : intended === undefined) return;
      batch.fill(from, firstTime);
      const body = encode();
      await this.#send(body, intended ?? performance.now());
    }
  }

  /** Marks the requests of an open loop as due. */
  async pace(): Promise<void> {
    const { rate } = this.#load;
    if (rate === undefined) return;
    while (!this.#hasEnded()) {
      const now = performance.now();
      // No request becomes due at the end.
      if (now < this.#endsAt) this.#due = Math.floor(((now - this.#startsAt) / MS) * rate) + 1;
      while (this.#waiting.length > 0 && this.#taken < this.#due) this.#waiting.shift()!(this.#take());
      const left = Math.min(this.#intended(this.#due), this.#endsAt) - performance.now();
      if (left > TIMER_LATE_MS) await this.#sleep(left - TIMER_LATE_MS);
      else await nextTurn();
    }
    this.#isOver = true;
    for (const waiting of this.#waiting) waiting(undefined);
  }

  figures(): SoakFigures {
    return {
      points: this.#points,
      seconds: Math.max(this.#lastAnswer - this.#measuredFrom, 0) / MS,
      requests: this.#requests,
      latency: this.#latency.summary(),
      errors: Object.fromEntries(this.#errors),
      acknowledged: this.#acknowledged,
      uncertain: this.#uncertain,
      unsent: this.#due - this.#taken,
    };
  }

  #hasEnded(): boolean {
    return this.#signal.aborted || performance.now() >= this.#endsAt;
  }

  #intended(request: number): number {
    return this.#startsAt + (request * MS) / this.#load.rate!;
  }

  #take(): number {
    this.#taken += 1;
    return this.#intended(this.#taken - 1);
  }

  /** Waits until the next request is due, and returns its time; `undefined` at the end. */
  async #turn(): Promise<number | undefined> {
    if (this.#isOver) return undefined;
    if (this.#taken < this.#due) return this.#take();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  async #sleep(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {});
  }

  async #send(body: Uint8Array, from: number): Promise<void> {
    const { batchSize } = this.#load;
    let failure: string | undefined;
    try {
      const answer = await this.#client.write(this.#load.path, body);
      if (answer.status === NO_CONTENT) this.#acknowledged += batchSize;
      else failure = failureKind(answer);
    } catch (thrown) {
      failure = codeOf(thrown);
      this.#uncertain += batchSize;
    }
    const answered = performance.now();
    if (answered >= this.#measuredFrom) {
      this.#lastAnswer = Math.max(this.#lastAnswer, answered);
      this.#count(failure, answered - from, batchSize);
    }
    if (failure !== undefined) await this.#sleep(REST_MS);
  }

  #count(failure: string | undefined, latencyMs: number, points: number): void {
    if (failure !== undefined) {
      this.#errors.set(failure, (this.#errors.get(failure) ?? 0) + 1);
      return;
    }
    this.#points += points;
    this.#requests += 1;
    this.#latency.record(latencyMs * MICROSECONDS_PER_MS);
  }
}

/** The code of an error, ours or the system's. */
function codeOf(thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  return typeof code === 'string' ? code : toBoundaryError(thrown).code;
}
