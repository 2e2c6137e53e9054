import type { Int64Mode } from './cell-readers.js';
import { type QueryHost, type QueryOptions, QueryRun } from './query-run.js';
import { ROWS_PER_TURN, RowChunks } from './row-chunks.js';
import type { Row } from './row-reader.js';
import { assertFirstUse } from './single-use.js';
import type { Column } from './table-definition.js';

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * The rows of a query, one by one or in chunks; it can be iterated once. The query starts with the first row asked for,
 * and breaking out of the loop ends it.
 */
export class RowStream<T extends object = Row> implements AsyncIterable<T> {
  readonly #run: QueryRun;
  readonly #int64: Int64Mode;
  #isUsed = false;

  constructor(host: QueryHost, sql: string, options: QueryOptions) {
    this.#run = new QueryRun(host, sql, options);
    this.#int64 = options.int64 ?? 'bigint';
  }

  /** The result's columns, also of a result without rows. */
  columns(): Promise<readonly Column[]> {
    return this.#run.columns();
  }

  /** The rows one by one: `for await (const row of stream)`. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    return new RowIterator<T>(this.#run, this.chunks());
  }

  /** The rows in arrays, of up to `batchRows` and 16384: faster, since a row need not be awaited. */
  chunks(): AsyncIterableIterator<T[], undefined> {
    assertFirstUse(this.#isUsed);
    this.#isUsed = true;
    return new RowChunkIterator<T>(this.#run, this.#int64);
  }
}

class RowChunkIterator<T extends object> implements AsyncIterableIterator<T[], undefined> {
  readonly #source: RowChunks;

  constructor(run: QueryRun, int64: Int64Mode) {
    this.#source = new RowChunks(run, { int64, rowsPerTurn: ROWS_PER_TURN });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T[], undefined>> {
    const rows = await this.#source.next();
    return rows === undefined ? DONE : { value: rows as object[] as T[], done: false };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#source.stop();
    return DONE;
  }
}

/**
 * Written by hand, since an async generator takes several promises a row and this takes one. While rows of a chunk are
 * left, nothing but that promise stands between a row and its consumer.
 */
class RowIterator<T extends object> implements AsyncIterableIterator<T, undefined> {
  readonly #run: QueryRun;
  readonly #chunks: AsyncIterableIterator<T[], undefined>;
  #rows: T[] = [];
  #index = 0;
  #loading: Promise<void> | undefined;
  #hasEnded = false;

  constructor(run: QueryRun, chunks: AsyncIterableIterator<T[], undefined>) {
    this.#run = run;
    this.#chunks = chunks;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#index < this.#rows.length && !this.#run.isCancelled) {
      return Promise.resolve({ value: this.#rows[this.#index++]!, done: false });
    }
    if (this.#hasEnded) return Promise.resolve(DONE);
    // Calls under way at once wait for the same chunk, and take its rows in their order.
    this.#loading ??= this.#load();
    return this.#loading.then(() => this.next());
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true;
    this.#rows = [];
    await this.#chunks.return?.();
    return DONE;
  }

  async #load(): Promise<void> {
    this.#rows = [];
    this.#index = 0;
    try {
      const next = await this.#chunks.next();
      if (next.done) this.#hasEnded = true;
      else if (!this.#hasEnded) this.#rows = next.value;
    } catch (error) {
      this.#hasEnded = true;
      throw error;
    } finally {
      this.#loading = undefined;
    }
  }
}
