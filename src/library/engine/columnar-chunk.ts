import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import {
  type CellReader,
  createCellReader,
  type Int64Mode,
  isNull,
  readValues,
  type RowValue,
} from './cell-readers.js';
import type { Frame, FrameColumn, FrameValues } from './frame.js';
import { claimValues } from './heap-guard.js';
import { recycleFrame, releaseFrame } from './query-run.js';
import { rowCursor, type RowCursor } from './row-cursor.js';
import { type Row, setOwn } from './row-reader.js';
import { type Column, indexOfColumn } from './table-definition.js';

/** The most columns that an error names. */
const MOST_NAMED = 50;

/**
 * A batch of rows as columns. Its typed arrays are views of memory from a pool. `release` returns the memory early, the garbage
 * collector late: release chunks early (or declare them with `using`) to keep memory small and warm. The pool reuses memory once
 * nothing can read it, including an `fs.write` under way that was given one of the typed arrays. It does so at once if no typed
 * array was handed out, else when the garbage collector has found them unreachable. A collection is requested every 32 MiB. Methods
 * that name a column take its name or its index.
 */
export class ColumnarChunk implements Disposable {
  readonly rowCount: number;
  readonly columns: readonly Column[];
  readonly #int64: Int64Mode;
  readonly #firstRow: number;
  readonly #views: (FrameColumn | undefined)[] = [];
  readonly #readers: (CellReader | undefined)[] = [];
  /** Whether views of the frame were handed out. */
  #isShared = false;
  #frame: Frame | undefined;

  /** @internal */
  constructor(frame: Frame, int64: Int64Mode, firstRow: number) {
    this.#frame = frame;
    this.rowCount = frame.rowCount;
    this.columns = frame.columns;
    this.#int64 = int64;
    this.#firstRow = firstRow;
  }

  /**
   * The values of a column: `Uint8Array` of 0 and 1 for bool, `Int16Array`, `Int32Array` (also days of dates), `BigInt64Array`
   * (also microseconds of timestamps, and two words per decimal, the low one first), `Float32Array`, `Float64Array`. For text and
   * bytes: the concatenated bytes of all values, see `offsets`. If `validity` says null, the value is undefined.
   */
  column<T extends FrameValues = FrameValues>(column: string | number): T {
    return this.#shared(column).values as T;
  }

  /**
   * The validity bitmap of a column: one bit per row, set if the row has a value, lowest bit first; null if the chunk has no
   * nulls in it.
   */
  validity(column: string | number): Uint8Array | null {
    return this.#shared(column).validity;
  }

  /** @internal Whether row `index` has a value in the column: like `validity`, without a view that a caller could keep. */
  has(column: string | number, index: number): boolean {
    const isRow = typeof index === 'number' && index >= 0 && index < this.rowCount;
    return isRow && !isNull(this.#column(column).validity, index);
  }

  /** The offsets of a text or bytes column: value i lies between the offsets i and i + 1. */
  offsets(column: string | number): Int32Array {
    const { offsets } = this.#shared(column);
    if (offsets !== null) return offsets;
    const { name, type } = this.columns[this.#indexOf(column)]!;
    throw invalidArgument(`column "${name}" is ${type}, which has no offsets`);
  }

  /** The number of nulls of the column in this chunk. */
  nullCount(column: string | number): number {
    return this.#column(column).nullCount;
  }

  /**
   * The values of a column as rows have them. They are copies, and stay valid after `release`. Throws `BB_RESULT_TOO_LARGE` if they
   * do not fit into V8's heap.
   */
  values(column: string | number): RowValue[] {
    const index = this.#indexOf(column);
    if (this.#frame !== undefined) claimValues(this.#frame, index, this.columns[index]!, this.#int64);
    return readValues(this.columns[index]!, this.#column(index), this.rowCount, this.#int64, this.#firstRow);
  }

  /**
   * The rows of this chunk, one after the other, by one object that moves: `for (const row of chunk.rows()) sum += row.value`.
   * No object is made for a row, and no value that is not asked for. See `CursorRow`. Each call begins at the first row. Throws
   * `BB_INVALID_ARGUMENT` if a column is named `toObject`.
   */
  rows<T extends object = Row>(): RowCursor<T> {
    const views = this.columns.map((_, index) => this.#column(index));
    return rowCursor<T>(this.columns, this.#int64, { views, start: 0, end: this.rowCount, firstRow: this.#firstRow });
  }

  /** Row `index` of this chunk as an object. */
  row(index: number): Row {
    if (!Number.isInteger(index) || index < 0 || index >= this.rowCount) {
      throw invalidArgument(`the chunk has no row ${describeValue(index)}, it has ${this.rowCount}`);
    }
    const row: Row = {};
    for (const [position, column] of this.columns.entries()) {
      const views = this.#column(position);
      this.#readers[position] ??= createCellReader(column, views, this.#int64, this.#firstRow);
      setOwn(row, column.name, isNull(views.validity, index) ? null : this.#readers[position](index));
    }
    return row;
  }

  /** Returns the memory to the pool. The typed arrays become empty. Does nothing the second time. */
  release(): void {
    if (this.#frame === undefined) return;
    if (this.#isShared) releaseFrame(this.#frame);
    else recycleFrame(this.#frame);
    this.#frame = undefined;
    this.#views.length = 0;
    this.#readers.length = 0;
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** The views of a column, for a caller who may keep them. */
  #shared(column: string | number): FrameColumn {
    this.#isShared = true;
    return this.#column(column);
  }

  #column(column: string | number): FrameColumn {
    const index = this.#indexOf(column);
    if (this.#frame === undefined) throw new BoundaryError('BB_CLOSED', 'the chunk was released');
    this.#views[index] ??= this.#frame.column(index);
    return this.#views[index];
  }

  #indexOf(column: string | number): number {
    const index = typeof column === 'number' ? column : indexOfColumn(this.columns, column);
    if (index !== undefined && this.columns[index] !== undefined) return index;
    const names = this.columns.slice(0, MOST_NAMED).map(({ name }) => JSON.stringify(name));
    const others = this.columns.length - names.length;
    throw invalidArgument(`the result has no column ${describeValue(column)}`, {
      hint: `Its columns are ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`,
    });
  }
}
