import type { ColumnarChunk } from './columnar-chunk.js';
import { ChunkIterator } from './columnar-stream.js';
import { QueryRun, type QuerySource } from './query-run.js';
import { ROWS_PER_TURN, RowChunks } from './row-chunks.js';
import type { RowCursor } from './row-cursor.js';
import type { Row } from './row-reader.js';
import { assertFirstUse } from '../crossing/single-use.js';
import type { Column } from './table-definition.js';

/**
 * The number of rows built ahead of the row asked for. It is small, since each row brings garbage of its own, a promise and an
 * iterator result, and a collection in the meantime copies the rows built ahead.
 */
const ROWS_AHEAD = 256;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * The rows of a query, one by one, in chunks, or by a cursor. Can be iterated once. The query starts at the call that made
 * the stream, and breaking out of the loop ends it.
 */
export class RowStream<T extends object = Row> implements AsyncIterable<T> {
  readonly #run: QueryRun;
  #isUsed = false;

  constructor(source: QuerySource) {
    this.#run = new QueryRun(source);
  }

  /** The columns of the result, also of a result without rows. */
  columns(): Promise<readonly Column[]> {
    return this.#run.columns();
  }

  /** The rows one by one: `for await (const row of stream)`. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T, undefined> {
    this.#assertFirstUse();
    const source = new RowChunks(this.#run, { rowsPerTurn: ROWS_PER_TURN, rowsAtOnce: ROWS_AHEAD });
    return new RowIterator<T>(this.#run, source);
  }

  /** The rows in arrays of at most `batchRows` and at most 16384 rows: faster, since no promise is awaited per row. */
  chunks(): AsyncIterableIterator<T[], undefined> {
    this.#assertFirstUse();
    return new RowChunkIterator<T>(new RowChunks(this.#run, { rowsPerTurn: ROWS_PER_TURN }));
  }

  /**
   * The rows as they lie in memory, by an accessor that moves, batch by batch of at most `batchRows`: the fastest way to read rows.
   * `for await (const rows of stream.cursor()) for (const row of rows) sum += row.value`. See `CursorRow` and `ColumnarChunk.rows`.
   * The next batch, and the end of the loop, release the memory of the previous batch. There are two loops, since `for await` waits
   * for a promise at each step, which takes several times as long as the step.
   */
  cursor(): AsyncIterableIterator<RowCursor<T>, undefined> {
    this.#assertFirstUse();
    return new CursorIterator<T>(new ChunkIterator(this.#run));
  }

  #assertFirstUse(): void {
    assertFirstUse(this.#isUsed);
    this.#isUsed = true;
  }
}

class RowChunkIterator<T extends object> implements AsyncIterableIterator<T[], undefined> {
  readonly #source: RowChunks;

  constructor(source: RowChunks) {
    this.#source = source;
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

/** The cursors over the chunks of a query. A chunk is released when the next one is asked for. */
class CursorIterator<T extends object> implements AsyncIterableIterator<RowCursor<T>, undefined> {
  readonly #chunks: ChunkIterator;
  /** The chunks that were handed out and not released yet: several after concurrent calls of `next`. */
  #held: ColumnarChunk[] = [];

  constructor(chunks: ChunkIterator) {
    this.#chunks = chunks;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<RowCursor<T>, undefined>> {
    this.#release();
    const { value: chunk } = await this.#chunks.next();
    if (chunk === undefined) return DONE;
    this.#held.push(chunk);
    try {
      return { value: chunk.rows<T>(), done: false };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#release();
    await this.#chunks.return();
    return DONE;
  }

  #release(): void {
    for (const chunk of this.#held) chunk.release();
    this.#held = [];
  }
}

/**
 * The iterator over single rows, written by hand: an async generator takes several promises per row, this takes one. While rows
 * of a chunk are left, only that promise stands between a row and its consumer.
 */
class RowIterator<T extends object> implements AsyncIterableIterator<T, undefined> {
  readonly #run: QueryRun;
  readonly #source: RowChunks;
  #rows: readonly T[] = [];
  #index = 0;
  #loading: Promise<void> | undefined;
  #hasEnded = false;

  constructor(run: QueryRun, source: RowChunks) {
    this.#run = run;
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#index < this.#rows.length && !this.#run.isCancelled) {
      return Promise.resolve({ value: this.#rows[this.#index++]!, done: false });
    }
    if (this.#hasEnded) return Promise.resolve(DONE);
    if (this.#loading === undefined) {
      try {
        const rows = this.#source.nextInTurn();
        if (rows !== undefined) {
          this.#rows = rows as object[] as T[];
          this.#index = 1;
          return Promise.resolve({ value: this.#rows[0]!, done: false });
        }
      } catch (error) {
        this.#hasEnded = true;
        return Promise.reject(error);
      }
    }
    // Concurrent calls wait for the same chunk, and take its rows in their order.
    this.#loading ??= this.#load();
    return this.#loading.then(() => this.next());
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true;
    this.#rows = [];
    this.#source.stop();
    return DONE;
  }

  async #load(): Promise<void> {
    this.#rows = [];
    this.#index = 0;
    try {
      const rows = await this.#source.next();
      if (rows === undefined) this.#hasEnded = true;
      else if (!this.#hasEnded) this.#rows = rows as object[] as T[];
    } catch (error) {
      this.#hasEnded = true;
      throw error;
    } finally {
      this.#loading = undefined;
    }
  }
}
