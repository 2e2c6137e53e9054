import { setImmediate as nextTurn } from 'node:timers/promises';

import { addon, type Cancel, type FrameReader } from '../../addon.js';
import { type CollectGarbage, exposeCollector } from '../../collect-garbage.js';
import { BoundaryError } from '../../errors.js';
import { Cancellation, readWorkOptions, type WorkOptions } from '../crossing/cancellation.js';
import type { Int64Mode } from './cell-readers.js';
import { describeValue } from '../crossing/describe-value.js';
import { Frame } from './frame.js';
import type { OpenHandles } from '../crossing/open-handles.js';
import type { ParameterInput } from './parameters.js';
import { type Column, fromColumnSpecs } from './table-definition.js';

/** The most rows of a batch. */
const MOST_BATCH_ROWS = 1 << 24;

export interface QueryOptions extends WorkOptions {
  /**
   * The values of `$1`, `$2`, ...: null, booleans, strings, `Uint8Array`s, bigints (of 64 bits), numbers (safe integers as
   * integers, all others as doubles), and `Date`s as timestamps. `typed` gives a value another type.
   */
  readonly parameters?: readonly ParameterInput[] | undefined;
  /** `number`: 64-bit integers as numbers, where one that is no safe integer is `BB_UNSAFE_INTEGER`. Default: `bigint`. */
  readonly int64?: Int64Mode | undefined;
  /** At most so many rows cross at once, 1 to 16777216; 65536 where it is left out. */
  readonly batchRows?: number | undefined;
}

/** How a query is to run, beside its parameters, as plain values. */
export interface ReadQueryOptions extends WorkOptions {
  readonly int64: Int64Mode;
  readonly batchRows: number | undefined;
}

/** How a query is run, and what a run of it needs of its connection or statement. */
export interface QuerySource {
  readonly handles: OpenHandles;
  /** Throws `BB_CLOSED` when the connection or the statement is closed. */
  assertOpen(): void;
  /** Starts the query. */
  start(batchRows: number | undefined, token: Cancel): Promise<FrameReader>;
}

/** A query under way: its frames one after the other, its errors explained, its end in order. It starts when first asked. */
export class QueryRun {
  readonly #source: QuerySource;
  readonly #options: ReadQueryOptions;
  #cancellation: Cancellation | undefined;
  #started: Promise<{ reader: FrameReader; columns: readonly Column[] }> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(source: QuerySource, options: QueryOptions) {
    this.#source = source;
    this.#options = readQueryOptions(options);
  }

  /** How 64-bit integers are to be given. */
  get int64(): Int64Mode {
    return this.#options.int64;
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
    this.#source.assertOpen();
    const cancellation = new Cancellation(this.#source.handles, this.#options);
    this.#cancellation = cancellation;
    try {
      const reader = await this.#source.start(this.#options.batchRows, cancellation.token);
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

/** How frames that were released find their buffers collected; where V8 has no such function, the addon makes garbage. */
let collect: CollectGarbage | undefined;
addon.collectYoungBy(() => {
  collect ??= exposeCollector() ?? (() => {});
  collect('young');
});

/** Gives a frame's memory back; its views become empty. What users have seen of it, a request of theirs may still read. */
export function releaseFrame(frame: Frame): void {
  addon.releaseFrame(frame.buffer);
}

/** Gives back the memory of a frame at once, of which nobody outside of this library has had a view. */
export function recycleFrame(frame: Frame): void {
  addon.recycleFrame(frame.buffer);
}

/** What a caller gave for a query, checked and read once; see `readWorkOptions`. */
export function readQueryOptions(options: QueryOptions): ReadQueryOptions {
  const invalid = (message: string) => new BoundaryError('BB_INVALID_ARGUMENT', message);
  const { batchRows, int64 = 'bigint' } = options;
  if (batchRows !== undefined && !(Number.isInteger(batchRows) && batchRows >= 1 && batchRows <= MOST_BATCH_ROWS)) {
    throw invalid(`batchRows must be an integer of 1 to ${MOST_BATCH_ROWS}, not ${describeValue(batchRows)}`);
  }
  if (int64 !== 'bigint' && int64 !== 'number') {
    throw invalid(`int64 must be 'bigint' or 'number', not ${describeValue(int64)}`);
  }
  return { ...readWorkOptions(options), int64, batchRows };
}

/** Checks that a caller gave a text. */
export function checkSql(sql: unknown): void {
  if (typeof sql !== 'string') throw new BoundaryError('BB_INVALID_ARGUMENT', 'a query must be a string of SQL');
}
