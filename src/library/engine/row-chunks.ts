import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Frame } from './frame.js';
import { type QueryRun, recycleFrame } from './query-run.js';
import { type Row, RowReader } from './row-reader.js';

/**
 * The rows built in one turn of the event loop: a few milliseconds of work, and few enough that the garbage collector finds most
 * of the earlier rows unreachable.
 */
export const ROWS_PER_TURN = 16_384;

export interface RowChunksOptions {
  /** The most rows built in one turn of the event loop. */
  readonly rowsPerTurn: number;
  /** The most rows of an array, or `rowsPerTurn` if it is left out. */
  readonly rowsAtOnce?: number;
  /** Whether the caller keeps all rows. Default: no. */
  readonly rowsAreKept?: boolean;
  readonly admit?: AdmitFrame;
}

/** A hook called with each frame before its rows are built, and with the number of rows before it. May throw. */
export type AdmitFrame = (frame: Frame, rowCount: number) => void;

/** The rows of a query in arrays, with a turn of the event loop between any two. Frames are released once they are read. */
export class RowChunks {
  readonly #run: QueryRun;
  readonly #options: RowChunksOptions;
  #reader: RowReader | undefined;
  #frame: Frame | undefined;
  /** The index of the first row of the current frame that is not built yet. */
  #start = 0;
  /** The index behind the last row of the current frame that may be built in this turn. */
  #turnEnd = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(run: QueryRun, options: RowChunksOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** The next rows; undefined at the end. Concurrent calls get them in their order. */
  next(): Promise<Row[] | undefined> {
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => {});
    return next;
  }

  /**
   * The next rows without a wait, while rows may be built in this turn; undefined if `next` must be called. Not to be called
   * while a call of `next` is under way.
   */
  nextInTurn(): Row[] | undefined {
    if (this.#frame === undefined || this.#start === this.#turnEnd || this.#run.isCancelled) return undefined;
    try {
      return this.#build(this.#frame);
    } catch (error) {
      this.#release();
      this.#run.stop();
      throw error;
    }
  }

  /** Ends the query, and returns the memory of the current frame once no call is under way. */
  stop(): void {
    this.#run.stop();
    this.#last = this.#last.then(() => this.#release());
  }

  async #next(): Promise<Row[] | undefined> {
    try {
      if (this.#frame !== undefined) await nextTurn();
      // A query that was ended in the meantime has no more rows, or throws the reason.
      if (this.#run.isCancelled) this.#release();
      const frame = this.#frame ?? (await this.#nextFrame());
      if (frame === undefined) return undefined;
      this.#turnEnd = Math.min(frame.rowCount, this.#start + this.#options.rowsPerTurn);
      return this.#build(frame);
    } catch (error) {
      this.#release();
      this.#run.stop();
      throw error;
    }
  }

  #build(frame: Frame): Row[] {
    const { rowsPerTurn, rowsAtOnce = rowsPerTurn, rowsAreKept = false } = this.#options;
    const end = Math.min(this.#turnEnd, this.#start + rowsAtOnce);
    this.#reader ??= new RowReader(frame.columns, this.#run.int64, { rowsAreKept });
    const rows = this.#reader.read(frame, this.#start, end);
    this.#start = end;
    if (end === frame.rowCount) this.#release();
    return rows;
  }

  async #nextFrame(): Promise<Frame | undefined> {
    const frame = await this.#run.next();
    this.#frame = frame;
    this.#start = 0;
    if (frame !== undefined) this.#options.admit?.(frame, this.#reader?.rowCount ?? 0);
    return frame;
  }

  #release(): void {
    if (this.#frame !== undefined) recycleFrame(this.#frame);
    this.#frame = undefined;
  }
}
