/**
 * The soak: workers post batches to `/write` for a while, in a closed loop each after the previous response, or in an
 * open loop at a rate. Latencies of an open loop count from the intended send time, so that a server that can't keep up
 * shows. Afterwards the server must hold the points it acknowledged.
 */
import { randomBytes } from 'node:crypto';

import { toBoundaryError } from '../../errors.js';
import type { Latency } from '../../records/record.js';
import { LatencyHistogram } from '../../stats/latency-histogram.js';
import { startNative } from '../native-program.js';
import { PointsQuery, writePath } from './points-query.js';
import { openSoakClient } from './soak-client.js';
import { postAll } from './soak-worker.js';
import type { SoakValues } from './soak-options.js';

export interface SoakOptions extends Omit<SoakValues, 'url' | 'apiKey' | 'durable'> {
  readonly url: string;
}

/** The load of the workers, without their client. */
export interface SoakLoad extends Omit<SoakOptions, 'client' | 'database'> {
  readonly path: string;
  readonly measurement: string;
  /** The time of the first point of each worker, in milliseconds. */
  readonly firstTime: number;
}

export interface SoakFigures {
  /** The points acknowledged during the measurement. */
  readonly points: number;
  readonly seconds: number;
  readonly requests: number;
  readonly latency: Latency;
  /** The number of failures of each kind. */
  readonly errors: Readonly<Record<string, number>>;
  /** The points acknowledged in total, including the warm-up. */
  readonly acknowledged: number;
  /** The points of requests without a response, which may be stored or not. */
  readonly uncertain: number;
  /** For an open loop: requests that were due during the measurement, but not sent before its end. */
  readonly unsent: number;
}

/** Whether the server holds the points that it acknowledged, and no more than were sent. */
export type SoakCount =
  | { readonly outcome: 'right' | 'wrong'; readonly counted: number }
  | { readonly outcome: 'unknown'; readonly why: string };

export interface SoakResult extends SoakFigures {
  readonly count: SoakCount;
  /** The measurement whose points the server still holds, if it could not drop it. */
  readonly left?: string;
}

/** Runs a soak. Aborting the signal ends it early, with the figures so far. */
export async function runSoak(options: SoakOptions, signal: AbortSignal): Promise<SoakResult> {
  const { database, client: name, ...load } = options;
  const query = await PointsQuery.open(options.url, database);
  try {
    const measurement = `soak_${randomBytes(6).toString('hex')}`;
    const figures = await figuresOf(
      name,
      { ...load, path: writePath(database), measurement, firstTime: Date.now() },
      signal,
    );
    const count = await countOf(query, database, measurement, figures);
    const isGone = await query.remove(database, measurement).then(
      () => true,
      () => false,
    );
    return { ...figures, count, ...(!isGone && { left: measurement }) };
  } finally {
    await query.close();
  }
}

async function figuresOf(name: SoakOptions['client'], load: SoakLoad, signal: AbortSignal): Promise<SoakFigures> {
  if (name === 'rust') return runNativeLoad(load, signal);
  const client = await openSoakClient(name, load.url, load.workers, load.encoding);
  try {
    return await postAll(client, load, signal);
  } finally {
    await client.close();
  }
}

async function runNativeLoad(load: SoakLoad, signal: AbortSignal): Promise<SoakFigures> {
  const running = await startNative({ kind: 'soak', spec: load }, signal);
  try {
    const { type: _, ...figures } = (await running.sample(1, signal)) as NativeFigures;
    return { ...figures, latency: LatencyHistogram.fromBase64(figures.latency).summary() };
  } finally {
    await running.close();
  }
}

interface NativeFigures extends Omit<SoakFigures, 'latency'> {
  readonly type: 'sample';
  readonly latency: string;
}

async function countOf(
  query: PointsQuery,
  database: string,
  measurement: string,
  { acknowledged, uncertain }: SoakFigures,
): Promise<SoakCount> {
  try {
    const counted = await query.count(database, measurement, acknowledged);
    const isRight = counted >= acknowledged && counted <= acknowledged + uncertain;
    return { outcome: isRight ? 'right' : 'wrong', counted };
  } catch (thrown) {
    return { outcome: 'unknown', why: toBoundaryError(thrown).message };
  }
}
