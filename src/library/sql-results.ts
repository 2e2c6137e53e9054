import { BoundaryError, toBoundaryError } from '../errors.js';
import type { Int64Mode } from './cell-readers.js';
import { ColumnarChunk } from './columnar-chunk.js';
import { Frame } from './frame.js';
import { type Row, RowReader } from './row-reader.js';
import type { Column } from './table-definition.js';

/** Words for each statement, and for each request; `native/mysql/src/submission.rs` describes them. */
const HEAD_WORDS = 2;
const STATEMENT_WORDS = 2;
const REQUEST_WORDS = 8;

const TWO_TO_32 = 2 ** 32;

/** What results of the same columns share. */
export class ResultShape {
  readonly columns: readonly Column[];
  readonly reader: RowReader;

  constructor(columns: readonly Column[], int64: Int64Mode) {
    this.columns = columns;
    this.reader = new RowReader(columns, int64);
  }
}

/** A request of a batch that failed. */
export interface SqlRequestError {
  /** Which request, from 0. */
  readonly index: number;
  readonly error: BoundaryError;
}

/** What the requests of one call did, in their order. Rows are read when they are asked for. */
export class SqlResults implements Iterable<SqlResult> {
  /** The number of requests. */
  readonly length: number;
  readonly #buffer: ArrayBuffer;
  readonly #words: Uint32Array;
  readonly #statements: number;
  readonly #int64: Int64Mode;
  /** Of each statement; undefined where it returned no rows. */
  readonly #shapes: readonly (ResultShape | undefined)[];
  readonly #statementOf: (index: number) => number;
  readonly #frames: (Frame | undefined)[] = [];

  /** @internal */
  constructor(
    buffer: ArrayBuffer,
    int64: Int64Mode,
    shapeOf: (number: number) => ResultShape,
    statementOf: (index: number) => number,
  ) {
    this.#buffer = buffer;
    const [statements = 0, requests = 0] = new Uint32Array(buffer, 0, HEAD_WORDS);
    this.#statements = statements;
    this.length = requests;
    this.#words = new Uint32Array(buffer, 0, HEAD_WORDS + STATEMENT_WORDS * statements + REQUEST_WORDS * requests);
    this.#int64 = int64;
    this.#statementOf = statementOf;
    // At once: the addon forgets shapes in time.
    const shapes: (ResultShape | undefined)[] = [];
    for (let statement = 0; statement < statements; statement += 1) {
      const shape = this.#words[HEAD_WORDS + STATEMENT_WORDS * statement]!;
      shapes.push(shape === 0 ? undefined : shapeOf(shape));
    }
    this.#shapes = shapes;
  }

  /** What request `index` did. Throws its error where it failed. */
  at(index: number): SqlResult {
    const error = this.error(index);
    if (error !== undefined) throw error;
    return new SqlResult(this, index);
  }

  /** Why request `index` failed; undefined where it did not. */
  error(index: number): BoundaryError | undefined {
    const word = this.#word(index);
    const start = this.#words[word + 6]!;
    if (start === 0) return undefined;
    return toBoundaryError(new Error(Buffer.from(this.#buffer).toString('utf8', start, this.#words[word + 7])));
  }

  /** The requests that failed. */
  get errors(): SqlRequestError[] {
    const errors: SqlRequestError[] = [];
    for (let index = 0; index < this.length; index += 1) {
      if (this.#words[this.#word(index) + 6] !== 0) errors.push({ index, error: this.error(index)! });
    }
    return errors;
  }

  /** Throws the error of the first request that failed, if one did. */
  throwIfFailed(): void {
    for (let index = 0; index < this.length; index += 1) {
      if (this.#words[this.#word(index) + 6] !== 0) throw this.error(index)!;
    }
  }

  /** Rows changed by all requests together; of an update, rows that it found. */
  get affectedRows(): number {
    let sum = 0;
    for (let index = 0; index < this.length; index += 1) sum += this.affectedRowsOf(index);
    return sum;
  }

  /**
   * The rows of all requests of a statement (the first, where it is left out) as columns; undefined where it returned
   * none. Releasing the chunk gives back the memory of all these results.
   */
  chunk(statement = 0): ColumnarChunk | undefined {
    const frame = this.#frame(statement);
    return frame === undefined ? undefined : new ColumnarChunk(frame, this.#int64, 0);
  }

  /** The rows of all requests of a statement (the first, where it is left out), as objects. */
  rows(statement = 0): Row[] {
    const frame = this.#frame(statement);
    return frame === undefined ? [] : this.#read(frame, statement, 0, frame.rowCount);
  }

  *[Symbol.iterator](): IterableIterator<SqlResult> {
    for (let index = 0; index < this.length; index += 1) yield this.at(index);
  }

  /** @internal */
  affectedRowsOf(index: number): number {
    const word = this.#word(index);
    return this.#words[word + 2]! + this.#words[word + 3]! * TWO_TO_32;
  }

  /** @internal */
  lastInsertIdOf(index: number): number | bigint {
    const word = this.#word(index);
    const high = this.#words[word + 5]!;
    const low = this.#words[word + 4]!;
    return high < 1 << 21 ? high * TWO_TO_32 + low : (BigInt(high) << 32n) | BigInt(low);
  }

  /** @internal */
  rowCountOf(index: number): number {
    return this.#words[this.#word(index) + 1]!;
  }

  /** @internal */
  rowsOf(index: number): Row[] {
    const word = this.#word(index);
    const statement = this.#statementOf(index);
    const frame = this.#frame(statement);
    const first = this.#words[word]!;
    return frame === undefined ? [] : this.#read(frame, statement, first, first + this.#words[word + 1]!);
  }

  /** @internal */
  columnsOf(index: number): readonly Column[] {
    return this.#frame(this.#statementOf(index))?.columns ?? [];
  }

  #read(frame: Frame, statement: number, start: number, end: number): Row[] {
    if (start === end) return [];
    const { reader } = this.#shapes[statement]!;
    reader.restart();
    return reader.read(frame, start, end);
  }

  #frame(statement: number): Frame | undefined {
    if (!(Number.isInteger(statement) && statement >= 0 && statement < this.#statements)) {
      throw new BoundaryError('BB_INVALID_ARGUMENT', `there is no statement ${statement} of ${this.#statements}`);
    }
    const shape = this.#shapes[statement];
    if (shape === undefined) return undefined;
    const start = this.#words[HEAD_WORDS + STATEMENT_WORDS * statement + 1]!;
    this.#frames[statement] ??= new Frame(this.#buffer, shape.columns, start);
    return this.#frames[statement];
  }

  #word(index: number): number {
    if (!(Number.isInteger(index) && index >= 0 && index < this.length)) {
      throw new BoundaryError('BB_INVALID_ARGUMENT', `there is no request ${index} of ${this.length}`);
    }
    return HEAD_WORDS + STATEMENT_WORDS * this.#statements + REQUEST_WORDS * index;
  }
}

/** What one request did. */
export class SqlResult {
  readonly #results: SqlResults;
  readonly #index: number;

  /** @internal */
  constructor(results: SqlResults, index: number) {
    this.#results = results;
    this.#index = index;
  }

  /** Rows that it changed; of an update, those that it found. */
  get affectedRows(): number {
    return this.#results.affectedRowsOf(this.#index);
  }

  /** The first key that the server made up, 0 where it made none; a bigint where it is no safe integer. */
  get lastInsertId(): number | bigint {
    return this.#results.lastInsertIdOf(this.#index);
  }

  /** How many rows it returned. */
  get rowCount(): number {
    return this.#results.rowCountOf(this.#index);
  }

  /** The columns of its rows. */
  get columns(): readonly Column[] {
    return this.#results.columnsOf(this.#index);
  }

  /** Its rows as objects, made anew by each call. */
  rows(): Row[] {
    return this.#results.rowsOf(this.#index);
  }
}
