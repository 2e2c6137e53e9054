import { BoundaryError } from '../../errors.js';
import { checkIndex } from '../crossing/check-index.js';
import { errorOf } from '../crossing/result-frame.js';
import type { Int64Mode } from '../engine/cell-readers.js';
import { ColumnarChunk } from '../engine/columnar-chunk.js';
import { fewRowsReader, type ReadFewRows } from '../engine/few-rows.js';
import { Frame, type FrameMemory } from '../engine/frame.js';
import { rowCursor, type RowCursor } from '../engine/row-cursor.js';
import { type Row, RowReader } from '../engine/row-reader.js';
import type { Column } from '../engine/table-definition.js';

/** Header words of the results, of each statement and of each request; `native/clients/mysql/src/submission.rs` describes them. */
export const HEAD_WORDS = 2;
export const STATEMENT_WORDS = 2;
export const REQUEST_WORDS = 8;

/** The most rows that are read without views of their columns: making these takes longer. */
const FEW_ROWS = 16;

const TWO_TO_32 = 2 ** 32;

/** The bytes of the results of one call. */
export class ResultBytes {
  readonly memory: FrameMemory;
  /** Byte offsets of the first byte, and behind the last. */
  readonly start: number;
  readonly end: number;
  /** Whether the memory holds nothing else: memory that results share must not be detached. */
  readonly isAlone: boolean;

  constructor(memory: FrameMemory, start: number, end: number, isAlone: boolean) {
    this.memory = memory;
    this.start = start;
    this.end = end;
    this.isAlone = isAlone;
  }
}

/** The columns of a result, with the readers that all results of these columns share. */
export class ResultShape {
  readonly columns: readonly Column[];
  readonly reader: RowReader;
  /** The reader of a few rows; undefined if `reader` reads all rows. */
  readonly readFew: ReadFewRows | undefined;

  constructor(columns: readonly Column[], int64: Int64Mode) {
    this.columns = columns;
    this.reader = new RowReader(columns, int64);
    this.readFew = fewRowsReader(columns, int64);
  }
}

/** A request of a batch that failed. */
export interface SqlRequestError {
  /** The index of the request, from 0. */
  readonly index: number;
  readonly error: BoundaryError;
}

/** The results of the requests of one call, in order. Rows are decoded when they are read. */
export class SqlResults implements Iterable<SqlResult> {
  /** The number of requests. */
  readonly length: number;
  readonly #bytes: ResultBytes;
  readonly #words: Uint32Array;
  /** The index of the first word of the results. */
  readonly #head: number;
  readonly #statements: number;
  readonly #int64: Int64Mode;
  /** The shape of each statement's rows; undefined if the statement returned no rows. */
  readonly #shapes: readonly (ResultShape | undefined)[];
  readonly #statementOf: (index: number) => number;
  readonly #frames: (Frame | undefined)[] = [];

  /** @internal */
  constructor(
    bytes: ResultBytes,
    int64: Int64Mode,
    shapeOf: (number: number) => ResultShape,
    statementOf: (index: number) => number,
  ) {
    const { words } = bytes.memory;
    const head = bytes.start >> 2;
    const statements = words[head]!;
    this.#bytes = bytes;
    this.#words = words;
    this.#head = head;
    this.#statements = statements;
    this.length = words[head + 1]!;
    this.#int64 = int64;
    this.#statementOf = statementOf;
    // Looked up at once, since the addon drops old shapes.
    const shapes: (ResultShape | undefined)[] = [];
    for (let statement = 0; statement < statements; statement += 1) {
      const shape = words[head + HEAD_WORDS + STATEMENT_WORDS * statement]!;
      shapes.push(shape === 0 ? undefined : shapeOf(shape));
    }
    this.#shapes = shapes;
  }

  /** The result of request `index`. Throws its error if it failed. */
  at(index: number): SqlResult {
    const error = this.error(index);
    if (error !== undefined) throw error;
    return new SqlResult(this, index);
  }

  /** The error of request `index`; undefined if it did not fail. */
  error(index: number): BoundaryError | undefined {
    const word = this.#word(index);
    const from = this.#words[word + 6]!;
    if (from === 0) return undefined;
    const { memory, start } = this.#bytes;
    return errorOf(memory.bytes.toString('utf8', start + from, start + this.#words[word + 7]!));
  }

  /** The requests that failed. */
  get errors(): SqlRequestError[] {
    const errors: SqlRequestError[] = [];
    for (let index = 0; index < this.length; index += 1) {
      if (this.#words[this.#word(index) + 6] !== 0) errors.push({ index, error: this.error(index)! });
    }
    return errors;
  }

  /** Throws the error of the first request that failed, if there is one. */
  throwIfFailed(): void {
    for (let index = 0; index < this.length; index += 1) {
      if (this.#words[this.#word(index) + 6] !== 0) throw this.error(index)!;
    }
  }

  /** The number of rows changed by all requests together; for an update, the number of rows found. */
  get affectedRows(): number {
    let sum = 0;
    for (let index = 0; index < this.length; index += 1) sum += this.affectedRowsOf(index);
    return sum;
  }

  /**
   * The rows of all requests of a statement (default: the first) as columns; undefined if it returned none. Releasing the chunk
   * frees the memory of all these results.
   */
  chunk(statement = 0): ColumnarChunk | undefined {
    const shape = this.#shapeOf(statement);
    if (shape === undefined) return undefined;
    const { memory, start, end, isAlone } = this.#bytes;
    const frame = isAlone
      ? this.#frame(statement, shape)
      : new Frame(memory.buffer.slice(start, end), shape.columns, this.#frameStart(statement));
    return new ColumnarChunk(frame, this.#int64, 0);
  }

  /** The rows of all requests of a statement (default: the first) as objects. */
  rows(statement = 0): Row[] {
    const shape = this.#shapeOf(statement);
    if (shape === undefined) return [];
    const frame = this.#bytes.start + this.#frameStart(statement);
    return this.#read(statement, shape, 0, this.#words[frame >> 2]!);
  }

  /** Like `rows`, by one object that moves; see `CursorRow`. */
  cursor<T extends object = Row>(statement = 0): RowCursor<T> {
    const shape = this.#shapeOf(statement);
    const frame = this.#bytes.start + this.#frameStart(statement);
    return this.#cursor<T>(statement, shape, 0, shape === undefined ? 0 : this.#words[frame >> 2]!);
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
    const statement = this.#statementOf(index);
    const shape = this.#shapeOf(statement);
    if (shape === undefined) return [];
    const word = this.#word(index);
    const first = this.#words[word]!;
    return this.#read(statement, shape, first, first + this.#words[word + 1]!);
  }

  /** @internal */
  cursorOf<T extends object>(index: number): RowCursor<T> {
    const statement = this.#statementOf(index);
    const word = this.#word(index);
    const first = this.#words[word]!;
    return this.#cursor<T>(statement, this.#shapeOf(statement), first, first + this.#words[word + 1]!);
  }

  /** @internal */
  columnsOf(index: number): readonly Column[] {
    return this.#shapeOf(this.#statementOf(index))?.columns ?? [];
  }

  #read(statement: number, shape: ResultShape, start: number, end: number): Row[] {
    const { reader, readFew } = shape;
    if (end - start <= FEW_ROWS && readFew !== undefined) {
      const { memory, start: first } = this.#bytes;
      return readFew(memory, first + this.#frameStart(statement), start, end);
    }
    try {
      return reader.read(this.#frame(statement, shape), start, end);
    } finally {
      // The reader outlives these results, and must not keep their memory.
      reader.restart();
    }
  }

  #cursor<T extends object>(
    statement: number,
    shape: ResultShape | undefined,
    start: number,
    end: number,
  ): RowCursor<T> {
    if (shape === undefined) return rowCursor<T>([], this.#int64, { views: [], start: 0, end: 0, firstRow: 0 });
    const frame = this.#frame(statement, shape);
    const views = shape.columns.map((_, index) => frame.column(index));
    return rowCursor<T>(shape.columns, this.#int64, { views, start, end, firstRow: 0 });
  }

  #shapeOf(statement: number): ResultShape | undefined {
    this.#checkMemory();
    checkIndex('statement', statement, this.#statements);
    return this.#shapes[statement];
  }

  /** Throws `BB_CLOSED` if the memory of the results was released, or transferred. */
  #checkMemory(): void {
    if (this.#words.length === 0) throw new BoundaryError('BB_CLOSED', 'the results were released');
  }

  /** The byte offset in the results at which the frame of a statement begins. */
  #frameStart(statement: number): number {
    return this.#words[this.#head + HEAD_WORDS + STATEMENT_WORDS * statement + 1]!;
  }

  #frame(statement: number, shape: ResultShape): Frame {
    const { memory, start } = this.#bytes;
    this.#frames[statement] ??= new Frame(memory.buffer, shape.columns, start + this.#frameStart(statement));
    return this.#frames[statement];
  }

  #word(index: number): number {
    this.#checkMemory();
    checkIndex('request', index, this.length);
    return this.#head + HEAD_WORDS + STATEMENT_WORDS * this.#statements + REQUEST_WORDS * index;
  }
}

/** The result of one request. */
export class SqlResult {
  readonly #results: SqlResults;
  readonly #index: number;

  /** @internal */
  constructor(results: SqlResults, index: number) {
    this.#results = results;
    this.#index = index;
  }

  /** The number of rows changed; for an update, the number of rows found. */
  get affectedRows(): number {
    return this.#results.affectedRowsOf(this.#index);
  }

  /** The first key that the server generated, 0 if there is none; a bigint if it is not a safe integer. */
  get lastInsertId(): number | bigint {
    return this.#results.lastInsertIdOf(this.#index);
  }

  /** The number of rows returned. */
  get rowCount(): number {
    return this.#results.rowCountOf(this.#index);
  }

  /** The columns of the rows. */
  get columns(): readonly Column[] {
    return this.#results.columnsOf(this.#index);
  }

  /** The rows as objects, made anew by each call. */
  rows(): Row[] {
    return this.#results.rowsOf(this.#index);
  }

  /** The rows by one object that moves; see `CursorRow`. */
  cursor<T extends object = Row>(): RowCursor<T> {
    return this.#results.cursorOf<T>(this.#index);
  }
}
