/** What the soak asks a server beside its writes: to make a database, and to count. */
import { setTimeout as delay } from 'node:timers/promises';

import { BoundaryError } from '../../errors.js';
import { HttpClient } from '../../library/http-client.js';
import { httpAddress } from '../requests/http-address.js';
import type { SoakAnswer } from './soak-client.js';

/** The field of all points. */
export const FIELD = 'v';

/** HyperbyteDB counts what it has flushed, every ten seconds. */
const COUNT_WITHIN_MS = 30_000;
const COUNT_AGAIN_MS = 50;

/** How long a server may take to answer. */
const TIMEOUT_MS = 30_000;

/** A connection for `/query`. */
export class PointsQuery {
  readonly #client: HttpClient;

  constructor(serverUrl: string) {
    const { url, tlsCa } = httpAddress(serverUrl);
    this.#client = new HttpClient(url, { tlsCa, timeoutMs: TIMEOUT_MS });
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async createDatabase(database: string): Promise<void> {
    await this.#query({ q: `CREATE DATABASE "${database}"` });
  }

  /** The points of a measurement once they are as many as they must be, or the last count in time. */
  async count(database: string, measurement: string, wanted: number): Promise<number> {
    const until = performance.now() + COUNT_WITHIN_MS;
    for (;;) {
      const [series] = await this.#query({ db: database, q: `SELECT count("${FIELD}") FROM "${measurement}"` });
      const counted = Number(series?.values[0]?.[1] ?? 0);
      if (counted >= wanted || performance.now() > until) return counted;
      await delay(COUNT_AGAIN_MS);
    }
  }

  async #query(parameters: Readonly<Record<string, string>>): Promise<readonly QuerySeries[]> {
    const path = `/query?${new URLSearchParams(parameters)}`;
    const response = await this.#client.request({ method: 'POST', path, body: '' });
    const answer = { status: response.status, text: response.text() };
    const failed = (why: string): BoundaryError =>
      new BoundaryError('BB_ENGINE', `the server answers ${parameters['q']} with ${why}`);
    if (answer.status !== 200) throw failed(failureKind(answer));
    const { results } = JSON.parse(answer.text) as { results?: { series?: QuerySeries[]; error?: string }[] };
    const [result] = results ?? [];
    if (result?.error !== undefined) throw failed(result.error);
    return result?.series ?? [];
  }
}

interface QuerySeries {
  readonly values: readonly (readonly unknown[])[];
}

/** The most of an answer that an error repeats. */
const MOST_TEXT = 300;

/** What a server says that refuses, without what differs from request to request. */
export function failureKind({ status, text }: SoakAnswer): string {
  let said = text;
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') said = error;
  } catch {
    // Not all say it in JSON.
  }
  return `HTTP ${status}: ${said.slice(0, MOST_TEXT).replaceAll(/\d+/g, 'N')}`;
}

/** The path of writes to a database, with times in milliseconds. */
export function writePath(database: string): string {
  return `/write?${new URLSearchParams({ db: database, precision: 'ms' })}`;
}
