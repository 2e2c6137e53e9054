import { BoundaryError } from '../../errors.js';
import { checkIndex } from '../crossing/check-index.js';
import { errorOf } from '../crossing/result-frame.js';
import type { Int64Mode } from '../engine/cell-readers.js';
import { ColumnarChunk } from '../engine/columnar-chunk.js';
import { fewRowsReader, type ReadFewRows } from '../engine/few-rows.js';
import { Frame, type FrameMemory } from '../engine/frame.js';
import { claimRows } from '../engine/heap-guard.js';
import { type CursorRow, rowCursor, type RowCursor } from '../engine/row-cursor.js';
import { type Row, RowReader } from '../engine/row-reader.js';
import type { Column } from '../engine/table-definition.js';

/** Header words of the results, of each part and of each result. `native/clients/mysql/src/submission.rs` describes them. */
export const HEAD_WORDS = 4;
export const PART_WORDS = 4;
export const RESULT_WORDS = 10;

/**
 * Flags of a lost connection whose session was changed: a transaction was open; no call was told. `native/clients/mysql/src/submission.rs`
 * describes them.
 */
export const LOST_TRANSACTION = 1;
export const LOST_UNTOLD = 2;

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

/**
 * The results of the requests of one call, in order. Rows are decoded when they are read.
 *
 * A request that failed has its error, and the others have their results. `rows`, `cursor` and `chunk`, which read all rows of a
 * statement, throw the error of its first request that failed: they never return a part of the rows.
 */
export class SqlResults implements Iterable<SqlResult> {
  /** The number of requests. */
  readonly length: number;
  readonly #bytes: ResultBytes;
  readonly #words: Uint32Array;
  /** The index of the first word of the results. */
  readonly #head: number;
  readonly #statements: number;
  readonly #int64: Int64Mode;
  /** The shape of each part's rows; undefined if the part has no rows. The first parts belong to the statements. */
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
    const parts = words[head + 1]!;
    this.#bytes = bytes;
    this.#words = words;
    this.#head = head;
    this.#statements = words[head]!;
    this.length = words[head + 2]!;
    this.#int64 = int64;
    this.#statementOf = statementOf;
    // Looked up at once, since the addon drops old shapes.
    const shapes: (ResultShape | undefined)[] = [];
    for (let part = 0; part < parts; part += 1) {
      const shape = words[head + HEAD_WORDS + PART_WORDS * part]!;
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
    this.#checkMemory();
    checkIndex('request', index, this.length);
    const word = this.#word(index);
    const from = this.#words[word + 8]!;
    if (from === 0) return undefined;
    const { memory, start } = this.#bytes;
    return errorOf(memory.bytes.toString('utf8', start + from, start + this.#words[word + 9]!));
  }

  /** The requests that failed. */
  get errors(): SqlRequestError[] {
    const errors: SqlRequestError[] = [];
    for (let index = 0; index < this.length; index += 1) {
      if (this.#words[this.#word(index) + 8] !== 0) errors.push({ index, error: this.error(index)! });
    }
    return errors;
  }

  /** Throws the error of the first request that failed, if there is one. */
  throwIfFailed(): void {
    for (let index = 0; index < this.length; index += 1) {
      if (this.#words[this.#word(index) + 8] !== 0) throw this.error(index)!;
    }
  }

  /** The number of rows changed by all requests together. For an update: the number of rows found. */
  get affectedRows(): number {
    let sum = 0;
    for (let index = 0; index < this.length; index += 1) sum += this.affectedRowsOf(index);
    return sum;
  }

  /**
   * The rows of all requests of a statement (default: the first) as columns; undefined if it returned none. Throws
   * `BB_SCHEMA_MISMATCH` if its requests returned columns of different types. Releasing the chunk frees the memory of all these
   * results.
   */
  chunk(statement = 0): ColumnarChunk | undefined {
    if (this.#isSplit(statement)) {
      const types = [...this.#resultsOf(statement)].map((result) => this.columnsOf(result).map(typeOf).join(', '));
      throw new BoundaryError(
        'BB_SCHEMA_MISMATCH',
        `the requests of the statement returned different columns: ${[...new Set(types)].join('; ')}`,
        { hint: 'Read them by rows() or at(index), or CAST the columns in the statement' },
      );
    }
    const shape = this.#shapes[statement];
    if (shape === undefined) return undefined;
    const { memory, start, end, isAlone } = this.#bytes;
    const frame = isAlone
      ? this.#frame(statement, shape)
      : new Frame(memory.buffer.slice(start, end), shape.columns, this.#frameStart(statement));
    return new ColumnarChunk(frame, this.#int64, 0);
  }

  /**
   * The rows of all requests of a statement (default: the first) as objects. If requests returned columns of different types, each row
   * has the types of its own request. Throws `BB_RESULT_TOO_LARGE` if they do not fit into V8's heap.
   */
  rows(statement = 0): Row[] {
    if (this.#isSplit(statement)) {
      const rows: Row[] = [];
      for (const result of this.#resultsOf(statement)) for (const row of this.rowsOf(result)) rows.push(row);
      return rows;
    }
    const shape = this.#shapes[statement];
    return shape === undefined ? [] : this.#read(statement, shape, 0, this.#rowsOfPart(statement));
  }

  /** Like `rows`, by one object that moves. See `CursorRow`. For columns of different types there are several objects. */
  cursor<T extends object = Row>(statement = 0): RowCursor<T> {
    if (this.#isSplit(statement)) return this.#cursors<T>(statement);
    const shape = this.#shapes[statement];
    return this.#cursor<T>(statement, shape, 0, shape === undefined ? 0 : this.#rowsOfPart(statement));
  }

  *[Symbol.iterator](): IterableIterator<SqlResult> {
    for (let index = 0; index < this.length; index += 1) yield this.at(index);
  }

  /** @internal */
  affectedRowsOf(result: number): number {
    const word = this.#word(result);
    return this.#words[word + 4]! + this.#words[word + 5]! * TWO_TO_32;
  }

  /** @internal */
  lastInsertIdOf(result: number): number | bigint {
    const word = this.#word(result);
    const high = this.#words[word + 7]!;
    const low = this.#words[word + 6]!;
    return high < 1 << 21 ? high * TWO_TO_32 + low : (BigInt(high) << 32n) | BigInt(low);
  }

  /** @internal */
  rowCountOf(result: number): number {
    return this.#words[this.#word(result) + 2]!;
  }

  /** @internal */
  rowsOf(result: number): Row[] {
    const word = this.#word(result);
    const part = this.#words[word]! - 1;
    const shape = this.#shapes[part];
    if (shape === undefined) return [];
    const first = this.#words[word + 1]!;
    return this.#read(part, shape, first, first + this.#words[word + 2]!);
  }

  /** @internal */
  cursorOf<T extends object>(result: number): RowCursor<T> {
    const word = this.#word(result);
    const part = this.#words[word]! - 1;
    const first = this.#words[word + 1]!;
    return this.#cursor<T>(part, this.#shapes[part], first, first + this.#words[word + 2]!);
  }

  /** @internal */
  columnsOf(result: number): readonly Column[] {
    return this.#shapes[this.#words[this.#word(result)]! - 1]?.columns ?? [];
  }

  /** @internal The result of the same request that follows a result; 0 if there is none. */
  nextOf(result: number): number {
    return this.#words[this.#word(result) + 3]!;
  }

  /** All results of the requests of a statement. */
  *#resultsOf(statement: number): Generator<number> {
    for (let index = 0; index < this.length; index += 1) {
      if (this.#statementOf(index) !== statement) continue;
      let result = index;
      do {
        yield result;
        result = this.nextOf(result);
      } while (result !== 0);
    }
  }

  *#cursors<T extends object>(statement: number): Generator<CursorRow<T>, undefined> {
    for (const result of this.#resultsOf(statement)) yield* this.cursorOf<T>(result);
  }

  #read(part: number, shape: ResultShape, start: number, end: number): Row[] {
    const { reader, readFew } = shape;
    if (end - start <= FEW_ROWS && readFew !== undefined) {
      const { memory, start: first } = this.#bytes;
      return readFew(memory, first + this.#frameStart(part), start, end);
    }
    try {
      const frame = this.#frame(part, shape);
      claimRows(frame, shape.columns, this.#int64, end - start);
      return reader.read(frame, start, end);
    } finally {
      // The reader outlives these results, and must not keep their memory.
      reader.restart();
    }
  }

  #cursor<T extends object>(part: number, shape: ResultShape | undefined, start: number, end: number): RowCursor<T> {
    if (shape === undefined) return rowCursor<T>([], this.#int64, { views: [], start: 0, end: 0, firstRow: 0 });
    const frame = this.#frame(part, shape);
    const views = shape.columns.map((_, index) => frame.column(index));
    return rowCursor<T>(shape.columns, this.#int64, { views, start, end, firstRow: 0 });
  }

  /** Whether the rows of a statement are in several parts. Throws the error of a request of the statement that failed. */
  #isSplit(statement: number): boolean {
    this.#checkMemory();
    checkIndex('statement', statement, this.#statements);
    const word = this.#head + HEAD_WORDS + PART_WORDS * statement;
    const failed = this.#words[word + 2]!;
    if (failed !== 0) throw this.error(failed - 1)!;
    return this.#words[word + 3] !== 0;
  }

  /** Throws `BB_CLOSED` if the memory of the results was released, or transferred. */
  #checkMemory(): void {
    if (this.#words.length === 0) throw new BoundaryError('BB_CLOSED', 'the results were released');
  }

  /** The byte offset in the results at which the frame of a part begins. */
  #frameStart(part: number): number {
    return this.#words[this.#head + HEAD_WORDS + PART_WORDS * part + 1]!;
  }

  /** The number of rows of a part, the first word of its frame. */
  #rowsOfPart(part: number): number {
    return this.#words[(this.#bytes.start + this.#frameStart(part)) >> 2]!;
  }

  #frame(part: number, shape: ResultShape): Frame {
    const { memory, start } = this.#bytes;
    this.#frames[part] ??= new Frame(memory.buffer, shape.columns, start + this.#frameStart(part));
    return this.#frames[part];
  }

  /** The index of the first word of a result. */
  #word(result: number): number {
    this.#checkMemory();
    return this.#head + HEAD_WORDS + PART_WORDS * this.#shapes.length + RESULT_WORDS * result;
  }
}

function typeOf({ name, type }: Column): string {
  return `${name} ${type.toString()}`;
}

/** The result of one request, or one of the results of a procedure. */
export class SqlResult {
  readonly #results: SqlResults;
  readonly #index: number;

  /** @internal */
  constructor(results: SqlResults, index: number) {
    this.#results = results;
    this.#index = index;
  }

  /** The results with rows that follow this one: a procedure (`CALL`) returns one for each of its queries. */
  get further(): SqlResult[] {
    const further: SqlResult[] = [];
    for (let next = this.#results.nextOf(this.#index); next !== 0; next = this.#results.nextOf(next)) {
      further.push(new SqlResult(this.#results, next));
    }
    return further;
  }

  /** The number of rows changed. For an update: the number of rows found. */
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

  /** The rows as objects, which each call makes again. */
  rows(): Row[] {
    return this.#results.rowsOf(this.#index);
  }

  /** The rows by one object that moves. See `CursorRow`. */
  cursor<T extends object = Row>(): RowCursor<T> {
    return this.#results.cursorOf<T>(this.#index);
  }
}
