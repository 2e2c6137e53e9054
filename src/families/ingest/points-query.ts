/** The queries of the soak besides its writes: creating a database, and counting points. */
import { setTimeout as delay } from 'node:timers/promises';

import { BoundaryError, checksumMismatch } from '../../errors.js';
import { HttpClient } from '../../library/http/http-client.js';
import { type HttpAddress, httpAddress } from '../requests/http-address.js';
import { matrix } from './matrix.js';
import type { SoakAnswer } from './soak-client.js';

/** The field of all points. */
export const FIELD = matrix.field;

/** The time-out of a count in milliseconds: HyperbyteDB counts only flushed points, and flushes every ten seconds. */
const COUNT_WITHIN_MS = 30_000;
const COUNT_AGAIN_MS = 50;

/** The least number of points that a server counts per millisecond. */
const COUNTED_PER_MS = 1000;

/** The most points that one query reads back. */
const READ_AT_ONCE = 500_000;

/** The time-out in milliseconds of a query that counts nothing. */
const TIMEOUT_MS = 30_000;

/** The status of the response to a write that the server has kept. */
const NO_CONTENT = 204;

/** A connection for `/query`. */
export class PointsQuery {
  readonly #client: HttpClient;

  private constructor(serverUrl: string) {
    const address = httpAddress(serverUrl);
    const { url, tlsCa } = address;
    this.#client = new HttpClient(url, { tlsCa, headers: keyHeader(address), timeoutMs: TIMEOUT_MS });
  }

  /** Connects, and creates a database if there is none of its name. */
  static async open(serverUrl: string, database: string): Promise<PointsQuery> {
    const query = new PointsQuery(serverUrl);
    try {
      await query.#query({ q: `CREATE DATABASE ${quoted(database)}` }, TIMEOUT_MS);
      return query;
    } catch (thrown) {
      await query.close();
      throw thrown;
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** The number of points of a measurement, once there are `wanted`, else the last count within the time limit. */
  async count(database: string, measurement: string, wanted: number): Promise<number> {
    const withinMs = countWithinMs(wanted);
    const until = performance.now() + withinMs;
    const parameters = { db: database, q: `SELECT count(${quoted(FIELD)}) FROM ${quoted(measurement)}` };
    for (;;) {
      const counted = countOf(await this.#query(parameters, withinMs));
      if (counted >= wanted || performance.now() > until) return counted;
      await delay(COUNT_AGAIN_MS);
    }
  }

  /** Checks that a measurement of `points` points holds the points with the numbers below that, each with its value at its time. */
  async check(database: string, measurement: string, points: number, signal: AbortSignal): Promise<void> {
    const { timestampStart } = matrix;
    for (let from = 0; from < points; from += READ_AT_ONCE) {
      signal.throwIfAborted();
      const to = Math.min(points, from + READ_AT_ONCE);
      const times = `time >= ${timestampStart + from}ms AND time < ${timestampStart + to}ms`;
      const q = `SELECT ${quoted(FIELD)} FROM ${quoted(measurement)} WHERE ${times} ORDER BY time`;
      checkPoints(await this.#query({ db: database, q }, countWithinMs(points)), from, to);
    }
  }

  /** Drops the measurements whose names begin with a prefix. Throws if the server, as many, can't drop any. */
  async remove(database: string, prefix: string): Promise<void> {
    const [series] = await this.#query({ db: database, q: 'SHOW MEASUREMENTS' }, TIMEOUT_MS);
    for (const [name] of series?.values ?? []) {
      if (!String(name).startsWith(prefix)) continue;
      await this.#query({ db: database, q: `DROP MEASUREMENT ${quoted(String(name))}` }, TIMEOUT_MS);
    }
  }

  async #query(parameters: Readonly<Record<string, string>>, timeoutMs: number): Promise<readonly QuerySeries[]> {
    const path = `/query?${new URLSearchParams({ epoch: 'ms', ...parameters })}`;
    const response = await this.#client.request({ method: 'POST', path, body: '' }, { timeoutMs });
    return seriesOf(parameters['q']!, { status: response.status, text: response.text() });
  }
}

/** The milliseconds that flushing and counting `points` points may take. */
export function countWithinMs(points: number): number {
  return COUNT_WITHIN_MS + Math.ceil(points / COUNTED_PER_MS);
}

/** A name in a query: in double quotes, with quotes doubled. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The header with the key of an address, which HyperbyteDB takes as `user:password`. */
export function keyHeader({ secret }: HttpAddress): Readonly<Record<string, string>> {
  return secret === '' ? {} : { authorization: `Token ${secret}` };
}

/** A series of a response. */
export interface QuerySeries {
  readonly columns: readonly string[];
  readonly values?: readonly (readonly unknown[])[];
}

/** The series of the response to a query. Throws the server's error if there is one. */
export function seriesOf(query: string, answer: SoakAnswer): readonly QuerySeries[] {
  const failed = (why: string): BoundaryError =>
    new BoundaryError('BB_ENGINE', `the server answers ${query} with ${why}`);
  if (answer.status !== 200) throw failed(failureKind(answer));
  let results: readonly { series?: QuerySeries[]; error?: string }[] | undefined;
  try {
    ({ results } = JSON.parse(answer.text) as { results?: typeof results });
  } catch {
    // Reported below as a response without results.
  }
  const result = results?.[0];
  if (result === undefined) throw failed('what is no answer to a query');
  if (result.error !== undefined) throw failed(result.error);
  return result.series ?? [];
}

/** The count of the points' field, by the name of its column; 0 if there is nothing to count yet. */
export function countOf([series]: readonly QuerySeries[]): number {
  const row = series?.values?.[0];
  if (series === undefined || row === undefined) return 0;
  // InfluxDB names the column without the field.
  const column = [`count_${FIELD}`, 'count'].map((name) => series.columns.indexOf(name)).find((index) => index >= 0);
  const count = column === undefined ? undefined : row[column];
  if (typeof count === 'number') return count;
  const what = column === undefined ? `the columns ${series.columns.join(', ')}` : 'what is no number';
  throw new BoundaryError('BB_ENGINE', `the server answers a count with ${what}`);
}

/** Checks the response to a query for the points from number `from` to `to`, exclusive, in their order. */
export function checkPoints([series]: readonly QuerySeries[], from: number, to: number): void {
  const { columns = [], values: rows = [] } = series ?? {};
  const [timePlace, valuePlace] = [columns.indexOf('time'), columns.indexOf(FIELD)];
  if (rows.length !== to - from) throw checksumMismatch(`${rows.length} points came instead of ${to - from}`);
  for (const [index, row] of rows.entries()) {
    const point = from + index;
    const [time, value] = [matrix.timestampStart + point, point / matrix.valueDivisor];
    if (row[timePlace] !== time || row[valuePlace] !== value) {
      const expected = `should have the value ${value} at ${time} ms`;
      throw checksumMismatch(`the point ${point} came as ${JSON.stringify(row)}, and ${expected}`);
    }
  }
}

/** The most characters of a response that an error repeats. */
const MOST_TEXT = 300;

/** The error in a server's response, without the numbers that differ from request to request. */
export function failureKind({ status, text }: SoakAnswer): string {
  let said = text;
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') said = error;
  } catch {
    // Not every server writes its errors in JSON.
  }
  return `HTTP ${status}: ${said.slice(0, MOST_TEXT).replaceAll(/\d+/g, 'N')}`;
}

/** The error of a write that the server has refused. Its message is the kind of the failure. */
export class RefusedWrite extends BoundaryError {
  constructor(answer: SoakAnswer) {
    super('BB_ENGINE', failureKind(answer));
  }
}

/** Throws a `RefusedWrite` unless the server has kept the points. */
export function checkKept(answer: SoakAnswer): void {
  if (answer.status !== NO_CONTENT) throw new RefusedWrite(answer);
}

/** The path of writes to a database, with times in milliseconds. */
export function writePath(database: string): string {
  return `/write?${new URLSearchParams({ db: database, precision: 'ms' })}`;
}
