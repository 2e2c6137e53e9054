/** Rows read from the memory of a frame by one accessor object, which moves from row to row: no object is made for a row. */
import { inspect } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { type CellReader, createCellReader, type Int64Mode, isNull, type RowValue } from './cell-readers.js';
import { canGenerateCode, generateFunction, literalKey, MOST_GENERATED_COLUMNS } from './code-generation.js';
import type { FrameColumn } from './frame.js';
import { isPlain, type Row, setOwn } from './row-reader.js';
import type { Column } from './table-definition.js';

/**
 * The current row of a cursor: a getter for each column, by its name. It is one object that moves with each step: keep
 * `toObject()`, not the row itself. Off the rows, that is after the end of its loop, or once the memory was released, each
 * getter throws `BB_CLOSED`. Copying its properties (`{ ...row }`) copies nothing, since getters are not its own.
 */
export type CursorRow<T extends object = Row> = Readonly<T> & {
  /** The row as a plain object of its own, like the rows of `executeQuery`. It can be kept. */
  toObject(): T;
};

/** The rows of one piece of a result, in order. Can be iterated once. All steps yield the same object. */
export type RowCursor<T extends object = Row> = IterableIterator<CursorRow<T>, undefined>;

/** The rows that a cursor steps over, in the columns of one frame. */
export interface CursorRange {
  /** The views of each column. */
  readonly views: readonly FrameColumn[];
  /** The first row in the views, and the one behind the last. */
  readonly start: number;
  readonly end: number;
  /** The number of rows of the result before the first one of the views, for errors. */
  readonly firstRow: number;
}

/** A column of one frame, as an accessor reads it. */
interface Cell {
  /** An array with an element at the index of each row, and none at others: the offsets, or else the values. */
  readonly probe: FrameColumn['values'];
  readonly validity: Uint8Array | null;
  /** The values as the fast way reads them: an empty array if there are nulls among them. */
  readonly values: FrameColumn['values'];
  /** Reads the value of a row. The value must not be null. */
  readonly read: CellReader;
}

type MakeCursor = (cells: readonly Cell[], start: number, end: number) => RowCursor;

/** The cursors' makers by the columns of their results, of which each chunk of a query has the same. */
const makers: Readonly<Record<Int64Mode, WeakMap<readonly Column[], MakeCursor>>> = {
  bigint: new WeakMap(),
  number: new WeakMap(),
};

/**
 * A cursor over rows of a frame. Throws `BB_INVALID_ARGUMENT` if a column has the name of a method of the row. `generate: false`
 * uses closures for processes in which functions can't be made from text.
 */
export function rowCursor<T extends object = Row>(
  columns: readonly Column[],
  int64: Int64Mode,
  { views, start, end, firstRow }: CursorRange,
  generate = canGenerateCode,
): RowCursor<T> {
  let make = generate ? makers[int64].get(columns) : undefined;
  if (make === undefined) {
    checkNames(columns);
    const isGenerated = generate && columns.length > 0 && columns.length <= MOST_GENERATED_COLUMNS;
    make = isGenerated ? generatedMaker(columns, int64) : interpretedMaker(columns);
    if (generate) makers[int64].set(columns, make);
  }
  const cells = columns.map((column, index) => cellOf(column, views[index]!, int64, firstRow));
  return make(cells, start, end) as IterableIterator<object> as RowCursor<T>;
}

function checkNames(columns: readonly Column[]): void {
  if (!columns.some(({ name }) => name === 'toObject')) return;
  throw invalidArgument('a cursor has no getter for the column "toObject": it is a method of its rows', {
    hint: 'Give the column another name in the query (AS), or read it as objects or columns',
  });
}

function cellOf(column: Column, views: FrameColumn, int64: Int64Mode, firstRow: number): Cell {
  const { values, offsets, validity } = views;
  const fast = isNumber64(column, int64) ? halvesOf(values) : values;
  return {
    probe: offsets ?? values,
    validity,
    values: validity !== null ? fast.subarray(0, 0) : fast,
    read: createCellReader(column, views, int64, firstRow),
  };
}

/** The 32-bit halves of 64-bit integers, the low ones first. */
function halvesOf({ buffer, byteOffset, length }: FrameColumn['values']): Int32Array {
  return new Int32Array(buffer as ArrayBuffer, byteOffset, length * 2);
}

/** Whether the column has 64-bit integers that are read as numbers. */
function isNumber64({ type: { kind } }: Column, int64: Int64Mode): boolean {
  return int64 === 'number' && (kind === 'bigint' || kind === 'timestamp');
}

/** Throws the error of an accessor that is on no row, or whose memory is gone. */
export function gone(): never {
  throw new BoundaryError('BB_CLOSED', 'the row is gone: its loop has ended, or its memory was released', {
    hint: 'The rows of a cursor are one object that moves: keep row.toObject()',
  });
}

/** The value that `console.log` shows for an accessor: the current row, or why there is none. */
function shown(row: CursorRow): Row | string {
  try {
    return row.toObject();
  } catch (error) {
    return `[${(error as Error).message}]`;
  }
}

/** The generated classes by their generated functions, of which there is one for each text. */
const classes = new WeakMap<Function, MakeCursor>();

/** The maker of cursors over these columns. Results with the same columns share it, and with it V8's optimised code. */
function generatedMaker(columns: readonly Column[], int64: Int64Mode): MakeCursor {
  const define = generateFunction<(...bound: unknown[]) => MakeCursor>(
    ['gone', 'shown', 'inspect'],
    cursorSource(columns, int64),
  );
  let make = classes.get(define);
  if (make === undefined) {
    make = define(gone, shown, inspect.custom);
    classes.set(define, make);
  }
  return make;
}

/**
 * The source of an accessor and its iterator. Private names keep the accessor's state apart from any column's name, and let the
 * iterator move it by a plain store, which V8 compiles into the loop. The result of `next` is one object as well.
 */
function cursorSource(columns: readonly Column[], int64: Int64Mode): string {
  const each = (part: (column: Column, index: number) => string): string => columns.map(part).join('\n');
  return `const ${columns.map((_, index) => `slow${index} = Symbol()`).join(', ')};
class Row {
#at; #cells;
${each((_, index) => `#v${index};`)}
constructor(cells, at) {
this.#at = at;
this.#cells = cells;
${each((_, index) => `this.#v${index} = cells[${index}].values;`)}
}
${each((column, index) => `get [${JSON.stringify(column.name)}]() { ${fastSource(column, index, int64)} }`)}
${each((column, index) => `get [slow${index}]() { ${slowSource(column, index, int64)} }`)}
toObject() {
return {
${each(({ name }) => `${literalKey(name)}: this[${JSON.stringify(name)}],`)}
};
}
${columns.some(({ name }) => name === 'toJSON') ? '' : 'toJSON() { return this.toObject(); }'}
[inspect]() { return shown(this); }
static Cursor = class {
#row; #end; #result;
constructor(cells, start, end) {
this.#row = new Row(cells, start - 1);
this.#end = end;
this.#result = { value: this.#row, done: false };
}
[Symbol.iterator]() { return this; }
next() {
const row = this.#row;
const at = row.#at + 1;
if (at < this.#end) {
row.#at = at;
return this.#result;
}
row.#at = -1;
this.#end = 0;
return { value: undefined, done: true };
}
};
}
return (cells, start, end) => new Row.Cursor(cells, start, end);`;
}

/**
 * The body of the getter of a column. V8 compiles a function of less than 27 bytes of bytecode into every loop that calls it. It
 * compiles a longer function into a loop only while the loop's budget lasts, so the common getters are that short. An element that
 * is not there leads to the slow getter: in a column with nulls, off the rows, and after the memory was released.
 */
function fastSource(column: Column, index: number, int64: Int64Mode): string {
  const slow = `this[slow${index}]`;
  if (isPlain(column, int64)) return `return this.#v${index}[this.#at] ?? ${slow};`;
  switch (column.type.kind) {
    case 'bool':
      return `const value = this.#v${index}[this.#at]; return value === undefined ? ${slow} : value !== 0;`;
    case 'bigint':
    case 'timestamp':
      return `const halves = this.#v${index}, low = 2 * this.#at;
const value = halves[low + 1] * 4294967296 + (halves[low] >>> 0);
return value <= ${Number.MAX_SAFE_INTEGER} && value >= ${Number.MIN_SAFE_INTEGER} ? value : ${slow};`;
    default:
      return `return ${slow};`;
  }
}

/** The body of the slow getter of a column, for every value and none. */
function slowSource(column: Column, index: number, int64: Int64Mode): string {
  return `const at = this.#at;
const { probe, validity, read } = this.#cells[${index}];
const first = probe[at];
if (first === undefined) gone();
if (validity !== null && (validity[at >> 3] & (1 << (at & 7))) === 0) return null;
return ${isPlain(column, int64) ? 'first' : 'read(at)'};`;
}

function interpretedMaker(columns: readonly Column[]): MakeCursor {
  class InterpretedRow {
    readonly #cells: readonly Cell[];
    #at: number;

    constructor(cells: readonly Cell[], at: number) {
      this.#cells = cells;
      this.#at = at;
    }

    static move(row: InterpretedRow, end: number): boolean {
      row.#at = row.#at + 1 < end ? row.#at + 1 : -1;
      return row.#at !== -1;
    }

    static read(row: InterpretedRow, column: number): RowValue {
      const { probe, validity, read } = row.#cells[column]!;
      if (probe[row.#at] === undefined) gone();
      return isNull(validity, row.#at) ? null : read(row.#at);
    }

    toObject(): Row {
      const object: Row = {};
      columns.forEach(({ name }, index) => setOwn(object, name, InterpretedRow.read(this, index)));
      return object;
    }

    toJSON(): Row {
      return this.toObject();
    }

    [inspect.custom](): Row | string {
      return shown(this as unknown as CursorRow);
    }
  }
  columns.forEach(({ name }, index) => {
    Object.defineProperty(InterpretedRow.prototype, name, {
      get(this: InterpretedRow) {
        return InterpretedRow.read(this, index);
      },
      configurable: true,
    });
  });
  return (cells, start, end) => {
    const row = new InterpretedRow(cells, start - 1);
    let last = end;
    return {
      [Symbol.iterator]() {
        return this;
      },
      next() {
        if (InterpretedRow.move(row, last)) return { value: row as unknown as CursorRow, done: false };
        last = 0;
        return { value: undefined, done: true };
      },
    };
  };
}
