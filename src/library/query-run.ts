import { setImmediate as nextTurn } from 'node:timers/promises';

import { addon, type Engine, type FrameReader } from '../addon.js';
import { BoundaryError } from '../errors.js';
import { Cancellation } from './cancellation.js';
import type { Int64Mode } from './cell-readers.js';
import { Frame } from './frame.js';
import type { OpenHandles } from './open-handles.js';
import { type Column, fromColumnSpecs } from './table-definition.js';

/** The most rows of a batch. */
const MOST_BATCH_ROWS = 1 << 24;

export interface QueryOptions {
  /** Ends the query when it is aborted; what waits is rejected with `BB_ABORTED`, whose cause is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** `number`: 64-bit integers as numbers, where one that is no safe integer is `BB_UNSAFE_INTEGER`. Default: `bigint`. */
  readonly int64?: Int64Mode | undefined;
  /** At most so many rows cross at once, 1 to 16777216; 65536 where it is left out. */
  readonly batchRows?: number | undefined;
}

/** What a query needs of its connection. */
export interface QueryHost {
  readonly handles: OpenHandles;
  /** The engine; throws `BB_CLOSED` when the connection is closed. */
  engine(): Engine;
}

/** A query under way: its frames one after the other, its errors explained, its end in order. It starts when first asked. */
export class QueryRun {
  readonly #host: QueryHost;
  readonly #sql: string;
  readonly #options: QueryOptions;
  #cancellation: Cancellation | undefined;
  #started: Promise<{ reader: FrameReader; columns: readonly Column[] }> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(host: QueryHost, sql: string, options: QueryOptions) {
    checkQuery(sql, options);
    this.#host = host;
    this.#sql = sql;
    this.#options = options;
  }

  /** Whether it was ended before its end: rows at hand are not to be used any more. */
  get isCancelled(): boolean {
    return this.#cancellation !== undefined && this.#cancellation.isCancelled;
  }

  /** The result's columns. */
  async columns(): Promise<readonly Column[]> {
    return (await this.#start()).columns;
  }

  /** The next frame; undefined at the end, after `stop`, and after an error was thrown. */
  next(): Promise<Frame | undefined> {
    // One after the other, so that calls under way at once get the frames in their order.
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => {});
    return next;
  }

  /** Ends the query, wherever it is. */
  stop(): void {
    this.#hasEnded = true;
    this.#cancellation?.stop();
  }

  async #next(): Promise<Frame | undefined> {
    if (this.#hasEnded) return undefined;
    try {
      const { reader, columns } = await this.#start();
      const buffer = await nextBuffer(reader);
      // What arrives after the work was ended is not to be used.
      this.#cancellation!.assertWanted();
      if (buffer !== null) return new Frame(buffer, columns);
      this.#end();
      return undefined;
    } catch (thrown) {
      this.#end();
      const error = this.#cancellation === undefined ? thrown : this.#cancellation.explain(thrown);
      if (error === undefined) return undefined;
      throw error;
    }
  }

  #start(): Promise<{ reader: FrameReader; columns: readonly Column[] }> {
    this.#started ??= this.#begin();
    return this.#started;
  }

  async #begin(): Promise<{ reader: FrameReader; columns: readonly Column[] }> {
    const engine = this.#host.engine();
    const cancellation = new Cancellation(this.#host.handles, this.#options.signal);
    this.#cancellation = cancellation;
    try {
      const reader = await engine.query(this.#sql, this.#options.batchRows, cancellation.token);
      return { reader, columns: fromColumnSpecs(reader.columns) };
    } catch (thrown) {
      cancellation.finish();
      throw cancellation.explain(thrown) ?? new BoundaryError('BB_CLOSED', 'the query was ended before it began');
    }
  }

  #end(): void {
    this.#hasEnded = true;
    this.#cancellation?.finish();
  }
}

/** A frame that is there already costs one turn of the event loop, which others get meanwhile, and no other thread. */
async function nextBuffer(reader: FrameReader): Promise<ArrayBuffer | null> {
  await nextTurn();
  const buffer = reader.tryNext();
  return buffer === undefined ? await reader.next() : buffer;
}

/** Gives a frame's memory back at once; its views become empty. */
export function releaseFrame(frame: Frame): void {
  addon.releaseFrame(frame.buffer);
}

/** Checks what a caller gave for a query. */
export function checkQuery(sql: unknown, options: QueryOptions): void {
  const invalid = (message: string) => new BoundaryError('BB_INVALID_ARGUMENT', message);
  if (typeof sql !== 'string') throw invalid('a query must be a string of SQL');
  const { batchRows, int64, signal } = options;
  if (batchRows !== undefined && !(Number.isInteger(batchRows) && batchRows >= 1 && batchRows <= MOST_BATCH_ROWS)) {
    throw invalid(`batchRows must be an integer of 1 to ${MOST_BATCH_ROWS}, not ${String(batchRows)}`);
  }
  if (int64 !== undefined && int64 !== 'bigint' && int64 !== 'number') {
    throw invalid(`int64 must be 'bigint' or 'number', not ${JSON.stringify(int64)}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal must be an AbortSignal');
}
