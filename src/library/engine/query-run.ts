import { setImmediate as nextTurn } from 'node:timers/promises';

import { addon, type Cancel, type FrameReader } from '../../addon.js';
import { BoundaryError } from '../../errors.js';
import { Cancellation, WORK_OPTIONS, type WorkOptions } from '../crossing/cancellation.js';
import type { Int64Mode } from './cell-readers.js';
import { Frame } from './frame.js';
import type { OpenHandles } from '../crossing/open-handles.js';
import { checkBoolean, checkLater, integerIn, type OptionChecks, oneOf, readOptions } from '../crossing/options.js';
import { checkText } from '../crossing/well-formed.js';
import type { ParameterInput } from './parameters.js';
import { type Column, fromColumnSpecs } from './table-definition.js';

/** The most rows of a batch. */
const MOST_BATCH_ROWS = 1 << 24;

/** The parameters of a query, the form of its values, and an end to it. */
export interface QueryOptions extends WorkOptions {
  /**
   * The values of `$1`, `$2`, ...: null, booleans, strings, `Uint8Array`s, bigints (64 bits), numbers (safe integers as
   * integers, others as doubles), and `Date`s as timestamps. If the statement takes an integer, a number from 2^53 on is refused.
   * `typed` gives a value another type.
   */
  readonly parameters?: readonly ParameterInput[] | undefined;
  /** The type of 64-bit integers. With `number`, an integer that is not safe is `BB_UNSAFE_INTEGER`. Default: `bigint`. */
  readonly int64?: Int64Mode | undefined;
  /** The most rows that cross at once, 1 to 16777216. Default: 65536, and fewer if columns have texts or bytes. */
  readonly batchRows?: number | undefined;
  /**
   * Whether the query runs ahead of its reader, on a thread of its own. With `false`, each batch is made when it is asked for, by
   * the thread that asks. Its rows stay in the caches of that core, and no other core is needed. But the thread, with its event
   * loop, waits for the engine meanwhile. It is for worker threads, as many as there are cores, and for queries without parameters
   * that return rows all the time. Default: `true`.
   */
  readonly readAhead?: boolean | undefined;
}

/** Checks of the options of a run of a prepared statement. */
export const RUN_OPTIONS: OptionChecks<Omit<QueryOptions, 'parameters' | 'readAhead'>> = {
  ...WORK_OPTIONS,
  int64: oneOf('bigint', 'number'),
  batchRows: integerIn(1, MOST_BATCH_ROWS),
};

/** Checks of the options of a query, whose parameters are checked where they are read. */
const QUERY_OPTIONS: OptionChecks<QueryOptions> = { ...RUN_OPTIONS, parameters: checkLater, readAhead: checkBoolean };

/** The options of a query without its parameters, checked, as plain values. */
export interface ReadQueryOptions extends WorkOptions {
  readonly int64: Int64Mode;
  readonly batchRows: number | undefined;
  readonly readAhead: boolean;
}

/** The connection or statement that runs a query, as a run needs it. */
export interface QuerySource {
  readonly handles: OpenHandles;
  readonly options: ReadQueryOptions;
  /** Throws `BB_CLOSED` when the connection or the statement is closed. */
  assertOpen(): void;
  /** Starts the query. */
  start(options: ReadQueryOptions, token: Cancel): Promise<FrameReader>;
}

/**
 * A query under way: it reads frames in order, maps errors and ends the work. It starts at once, so that it has its place in the order of
 * the calls. Its time-out begins when its columns or its first frame are asked for.
 */
export class QueryRun {
  readonly #source: QuerySource;
  #cancellation: Cancellation | undefined;
  readonly #started: Promise<{ reader: FrameReader; columns: readonly Column[] }>;
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(source: QuerySource) {
    this.#source = source;
    this.#started = this.#begin();
    // An error is told to the first who asks. Nobody may.
    this.#started.catch(() => {});
  }

  /** The JavaScript type of 64-bit integers. */
  get int64(): Int64Mode {
    return this.#source.options.int64;
  }

  /** Whether the query was ended early: rows already received must not be used any more. */
  get isCancelled(): boolean {
    return this.#cancellation !== undefined && this.#cancellation.isCancelled;
  }

  /** The result's columns. */
  async columns(): Promise<readonly Column[]> {
    return (await this.#start()).columns;
  }

  /** The next frame; undefined at the end, after `stop`, and after an error. */
  next(): Promise<Frame | undefined> {
    // Chained, so that concurrent calls get the frames in their order.
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => {});
    return next;
  }

  /** Ends the query at any point. */
  stop(): void {
    this.#hasEnded = true;
    this.#cancellation?.stop();
  }

  async #next(): Promise<Frame | undefined> {
    if (this.#hasEnded) return undefined;
    try {
      const { reader, columns } = await this.#start();
      const buffer = await nextBuffer(reader);
      // A frame that arrives after the work was ended must not be used.
      this.#cancellation!.assertWanted();
      if (buffer !== null) return new Frame(buffer, columns);
      this.#end();
      return undefined;
    } catch (thrown) {
      this.#end();
      const error = this.#cancellation === undefined ? thrown : this.#cancellation.explain(thrown, true);
      if (error === undefined) return undefined;
      throw error;
    }
  }

  #start(): Promise<{ reader: FrameReader; columns: readonly Column[] }> {
    this.#cancellation?.startTimer(this.#source.options.timeoutMs);
    return this.#started;
  }

  async #begin(): Promise<{ reader: FrameReader; columns: readonly Column[] }> {
    this.#source.assertOpen();
    const cancellation = new Cancellation(this.#source.handles, { signal: this.#source.options.signal });
    this.#cancellation = cancellation;
    try {
      const reader = await this.#source.start(this.#source.options, cancellation.token);
      if (reader.isPublished) cancellation.settle();
      // Else a query that is broken off keeps its engine until V8 collects the reader.
      cancellation.onEnd(() => reader.cancel());
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

/**
 * Reads the next frame. A frame that is ready costs one turn of the event loop, in which other work runs, and no other thread.
 */
async function nextBuffer(reader: FrameReader): Promise<ArrayBuffer | null> {
  await nextTurn();
  const buffer = reader.tryNext();
  return buffer === undefined ? await reader.next() : buffer;
}

/**
 * Returns a frame's memory to the pool. Its views become empty. A request under way may still read views that users were given.
 */
export function releaseFrame(frame: Frame): void {
  addon.releaseFrame(frame.buffer);
}

/** Returns the memory of a frame to the pool at once. Nobody outside of this library may have had a view of it. */
export function recycleFrame(frame: Frame): void {
  addon.recycleFrame(frame.buffer);
}

/** The options of a query, checked and read once, with its parameters as they were given. */
export function readQueryOptions(
  options: QueryOptions,
  checks: OptionChecks<QueryOptions> | typeof RUN_OPTIONS = QUERY_OPTIONS,
): ReadQueryOptions & Pick<QueryOptions, 'parameters'> {
  const read: QueryOptions = readOptions(options, checks as OptionChecks<QueryOptions>);
  const { int64 = 'bigint', batchRows, readAhead = true, parameters, signal, timeoutMs } = read;
  return { int64, batchRows, readAhead, parameters, signal, timeoutMs };
}

/** Throws for what is no statement of SQL that can cross. */
export function checkSql(sql: unknown): asserts sql is string {
  checkText('a statement of SQL', sql);
}
