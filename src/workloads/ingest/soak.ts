/**
 * The soak: workers post batches to `/write` for a while, in a closed loop each its next one when the last is answered, or at a
 * rate, each at its time. Latencies of an open loop count from when a request was meant to be sent, so that a server that
 * can't keep up shows. Afterwards the server must hold what it acknowledged.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { BoundaryError, toBoundaryError } from '../../errors.js';
import type { Latency } from '../../records/record.js';
import { LatencyHistogram } from '../../stats/latency-histogram.js';
import type { ColumnBatch } from '../../targets/ingest-target.js';
import type { SoakClient } from './soak-client.js';

export interface SoakOptions {
  /** Requests under way at once, each over a connection of its own. */
  readonly workers: number;
  /** Points of a request. */
  readonly batchSize: number;
  readonly durationSeconds: number;
  /** Not in the figures, and in the count. */
  readonly warmupSeconds: number;
  /** Requests a second of all workers together; absent: a closed loop. */
  readonly rate?: number | undefined;
  readonly database: string;
}

export interface SoakResult {
  /** Acknowledged while it was measured. */
  readonly points: number;
  readonly seconds: number;
  readonly requests: number;
  readonly latency: Latency;
  /** How often each kind of failure was met. */
  readonly errors: Readonly<Record<string, number>>;
  /** Acknowledged in all, the warm-up with it. */
  readonly acknowledged: number;
  /** Of requests that got no response: they may be kept or not. */
  readonly uncertain: number;
  /** What the server counts. */
  readonly counted: number;
}

const MS = 1000;
const MICROSECONDS_PER_MS = 1000;
const FIELD = 'v';
const NO_CONTENT = 204;

/** HyperbyteDB counts what it has flushed, every ten seconds. */
const COUNT_WITHIN_MS = 30_000;
const COUNT_AGAIN_MS = 250;

/** After a failure a worker rests, so that a server that is down is not hammered. */
const REST_MS = 10;

/** Runs a soak. Throws a `BoundaryError` where the server does not hold what it acknowledged. */
export async function runSoak(client: SoakClient, options: SoakOptions, signal: AbortSignal): Promise<SoakResult> {
  const { database, workers } = options;
  await query(client, { q: `CREATE DATABASE "${database}"` });
  const measurement = `soak_${randomBytes(6).toString('hex')}`;
  const load = new SoakLoad(client, options, measurement, signal);
  await Promise.all(Array.from({ length: workers }, (_, worker) => load.work(worker)));
  const counted = await settledCount(client, database, measurement, load);
  const { acknowledged, uncertain } = load;
  if (counted < acknowledged || counted > acknowledged + uncertain) {
    const most = uncertain === 0 ? '' : `, and ${uncertain} more got no answer`;
    throw new BoundaryError(
      'BB_CHECKSUM_MISMATCH',
      `the server counts ${counted} points of ${measurement}; it acknowledged ${acknowledged}${most}`,
    );
  }
  return { ...load.figures(), acknowledged, uncertain, counted };
}

class SoakLoad {
  acknowledged = 0;
  uncertain = 0;
  readonly #client: SoakClient;
  readonly #options: SoakOptions;
  readonly #measurement: string;
  readonly #signal: AbortSignal;
  readonly #path: string;
  readonly #startsAt = performance.now();
  readonly #measuredFrom: number;
  readonly #endsAt: number;
  readonly #latency = new LatencyHistogram();
  readonly #errors = new Map<string, number>();
  #points = 0;
  #requests = 0;
  #next = 0;
  #lastAnswer = 0;

  constructor(client: SoakClient, options: SoakOptions, measurement: string, signal: AbortSignal) {
    this.#client = client;
    this.#options = options;
    this.#measurement = measurement;
    this.#signal = signal;
    this.#path = `/write?${new URLSearchParams({ db: options.database, precision: 'ms' })}`;
    this.#measuredFrom = this.#startsAt + options.warmupSeconds * MS;
    this.#endsAt = this.#measuredFrom + options.durationSeconds * MS;
  }

  /** One worker: its own series, so that no two of its points share a time. */
  async work(worker: number): Promise<void> {
    const { batchSize } = this.#options;
    const encode = this.#client.encoder({
      measurement: this.#measurement,
      tags: { worker: `${worker}` },
      field: FIELD,
    });
    const first = Date.now();
    for (let batch = 0; ; batch += 1) {
      const intended = await this.#turn();
      if (intended === undefined) return;
      const body = encode(batchOf(batch * batchSize, batchSize, first));
      await this.#send(body, intended ?? performance.now());
    }
  }

  /** What was measured. */
  figures(): Pick<SoakResult, 'points' | 'seconds' | 'requests' | 'latency' | 'errors'> {
    return {
      points: this.#points,
      seconds: Math.max(this.#lastAnswer - this.#measuredFrom, 0) / MS,
      requests: this.#requests,
      latency: this.#latency.summary(),
      errors: Object.fromEntries(this.#errors),
    };
  }

  /** Waits for the next request's time, and returns it: null in a closed loop, `undefined` at the end. */
  async #turn(): Promise<number | null | undefined> {
    this.#signal.throwIfAborted();
    const { rate } = this.#options;
    if (rate === undefined) return performance.now() < this.#endsAt ? null : undefined;
    const intended = this.#startsAt + (this.#next * MS) / rate;
    if (intended >= this.#endsAt) return undefined;
    this.#next += 1;
    const early = intended - performance.now();
    if (early > 0) await delay(early, undefined, { signal: this.#signal });
    return intended;
  }

  async #send(body: Uint8Array, from: number): Promise<void> {
    const { batchSize } = this.#options;
    let failure: string | undefined;
    try {
      const { status, text } = await this.#client.write(this.#path, body);
      if (status === NO_CONTENT) this.acknowledged += batchSize;
      else failure = `HTTP ${status}: ${errorText(text)}`;
    } catch (thrown) {
      failure = kindOf(thrown);
      this.uncertain += batchSize;
    }
    const answered = performance.now();
    if (answered >= this.#measuredFrom) {
      this.#lastAnswer = Math.max(this.#lastAnswer, answered);
      this.#count(failure, answered - from, batchSize);
    }
    if (failure !== undefined) await delay(REST_MS, undefined, { signal: this.#signal });
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

function batchOf(from: number, length: number, first: number): ColumnBatch {
  const values = new Float64Array(length);
  const timestamps = new BigInt64Array(length);
  for (let index = 0; index < length; index += 1) {
    values[index] = (from + index) / 1000;
    timestamps[index] = BigInt(first + from + index);
  }
  return { values, timestamps };
}

/** An error's code, of ours or of the system's. */
function kindOf(thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  return typeof code === 'string' ? code : toBoundaryError(thrown).code;
}

/** What the server says, without what differs from request to request. */
function errorText(text: string): string {
  try {
    return String((JSON.parse(text) as { error?: unknown }).error).replaceAll(/\d+/g, 'N');
  } catch {
    return text.slice(0, 100);
  }
}

/** The count once it is what it must be, or the last one in time. */
async function settledCount(
  client: SoakClient,
  db: string,
  measurement: string,
  { acknowledged }: SoakLoad,
): Promise<number> {
  const until = performance.now() + COUNT_WITHIN_MS;
  for (;;) {
    const [series] = await query(client, { db, q: `SELECT count("${FIELD}") FROM "${measurement}"` });
    const counted = Number(series?.values[0]?.[1] ?? 0);
    if (counted >= acknowledged || performance.now() > until) return counted;
    await delay(COUNT_AGAIN_MS);
  }
}

interface QuerySeries {
  readonly values: readonly (readonly unknown[])[];
}

async function query(
  client: SoakClient,
  parameters: Readonly<Record<string, string>>,
): Promise<readonly QuerySeries[]> {
  const { status, text } = await client.query(parameters);
  const failed = (why: string): BoundaryError =>
    new BoundaryError('BB_ENGINE', `the server answers ${parameters['q']} with ${status}: ${why}`);
  if (status !== 200) throw failed(errorText(text));
  const { results } = JSON.parse(text) as { results?: { series?: QuerySeries[]; error?: string }[] };
  const [result] = results ?? [];
  if (result?.error !== undefined) throw failed(result.error);
  return result?.series ?? [];
}
