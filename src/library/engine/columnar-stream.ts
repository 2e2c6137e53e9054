import { ColumnarChunk } from './columnar-chunk.js';
import { QueryRun, type QuerySource } from './query-run.js';
import { assertFirstUse } from '../crossing/single-use.js';
import type { Column } from './table-definition.js';

/**
 * The chunks of a query, as columns. Can be iterated once. The query starts at the call that made the stream, and breaking out of the
 * loop ends it. Chunks stay valid until they are released, also after the loop.
 */
export class ColumnarStream implements AsyncIterable<ColumnarChunk> {
  readonly #run: QueryRun;
  #isUsed = false;

  constructor(source: QuerySource) {
    this.#run = new QueryRun(source);
  }

  /** The columns of the result, also of a result without rows. */
  columns(): Promise<readonly Column[]> {
    return this.#run.columns();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ColumnarChunk, undefined> {
    assertFirstUse(this.#isUsed);
    this.#isUsed = true;
    return new ChunkIterator(this.#run);
  }
}

/** The chunks of a query that is under way. */
export class ChunkIterator implements AsyncIterableIterator<ColumnarChunk, undefined> {
  readonly #run: QueryRun;
  #rowCount = 0;

  constructor(run: QueryRun) {
    this.#run = run;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ColumnarChunk, undefined>> {
    const frame = await this.#run.next();
    if (frame === undefined) return { value: undefined, done: true };
    const chunk = new ColumnarChunk(frame, this.#run.int64, this.#rowCount);
    this.#rowCount += chunk.rowCount;
    return { value: chunk, done: false };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#run.stop();
    return { value: undefined, done: true };
  }
}
