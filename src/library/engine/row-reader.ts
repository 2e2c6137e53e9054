import { canGenerateCode, generateFunction, literalKey, MOST_GENERATED_COLUMNS } from './code-generation.js';
import { type CellReader, createCellReader, type Int64Mode, isNull, type RowValue } from './cell-readers.js';
import type { Frame, FrameColumn } from './frame.js';
import { KeptRows } from './kept-rows.js';
import type { Column } from './table-definition.js';

/** A row of a result: a plain object with the columns' names as keys. */
export type Row = Record<string, RowValue>;

/** The views of a column from which rows are built, and its reader. */
interface BoundColumn extends Pick<FrameColumn, 'values' | 'validity'> {
  /** Reads the value of a row. The value must not be null. */
  readonly read: CellReader;
}

/** The most builder functions made for one query. Beyond that, a function that checks every column for nulls is used. */
const MOST_BUILDERS = 8;

type BuildRows = (start: number, end: number, columns: readonly BoundColumn[]) => Row[];

export interface RowReaderOptions {
  /** Whether to make functions from text. `false` is for processes in which they can't be made. */
  readonly generate?: boolean;
  /** Whether the caller keeps all rows. Default: no. */
  readonly rowsAreKept?: boolean;
}

/** Builds the rows of a query's frames. All rows of a query have one hidden class. */
export class RowReader {
  readonly #columns: readonly Column[];
  readonly #int64: Int64Mode;
  readonly #generates: boolean;
  readonly #rowsAreKept: boolean;
  /** The builders made so far, by the set of columns that may hold nulls. */
  readonly #builders = new Map<string, BuildRows>();
  #build: BuildRows;
  #rowCount = 0;
  #frame: Frame | undefined;
  #bound: readonly BoundColumn[] = [];

  constructor(
    columns: readonly Column[],
    int64: Int64Mode,
    { generate = canGenerateCode, rowsAreKept = false }: RowReaderOptions = {},
  ) {
    this.#columns = columns;
    this.#int64 = int64;
    this.#rowsAreKept = rowsAreKept;
    this.#generates = generate && columns.length <= MOST_GENERATED_COLUMNS;
    this.#build = interpretingBuild(columns);
  }

  /** The number of rows read so far. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /**
   * The rows from `start` to `end` of a frame. Frames must be read in order, and so must a frame's rows. The rows hold copies,
   * so the frame's memory can be released.
   */
  read(frame: Frame, start = 0, end = frame.rowCount): Row[] {
    if (frame !== this.#frame) this.#bind(frame);
    const rows = this.#build(start, end, this.#bound);
    this.#rowCount += rows.length;
    return rows;
  }

  /** Lets the frame go, and counts rows from 0 again, for another result with the same columns. */
  restart(): void {
    this.#frame = undefined;
    this.#bound = [];
    this.#rowCount = 0;
  }

  #bind(frame: Frame): void {
    this.#frame = frame;
    this.#bound = this.#columns.map((column, index): BoundColumn => {
      const views = frame.column(index);
      const read = createCellReader(column, views, this.#int64, this.#rowCount);
      return { values: views.values, validity: views.validity, read };
    });
    if (this.#generates) this.#build = this.#builderFor(this.#bound);
  }

  /**
   * The builder for a frame. A column without nulls in this frame is read without null checks. A value that may be null must be a
   * heap object of its own before its row is made. V8 allocates a double that can't be null together with its row, which takes less
   * time for rows that are kept.
   */
  #builderFor(bound: readonly BoundColumn[]): BuildRows {
    const withNulls = bound.map(({ validity }) => validity !== null);
    if (this.#builders.size >= MOST_BUILDERS) withNulls.fill(true);
    const key = withNulls.join();
    const made = this.#builders.get(key);
    if (made !== undefined) return made;
    const source = buildSource(this.#columns, this.#int64, withNulls);
    const make = (directive: string): BuildRows =>
      generateFunction<BuildRows>(['start', 'end', 'columns'], directive + source);
    const kept = this.#rowsAreKept ? new KeptRows(make) : undefined;
    const build: BuildRows = kept === undefined ? make('') : (...given) => kept.call(...given);
    this.#builders.set(key, build);
    return build;
  }
}

/**
 * The source of a builder. An object literal with all keys gives rows one hidden class at once, without a transition for each
 * key.
 */
function buildSource(columns: readonly Column[], int64: Int64Mode, withNulls: readonly boolean[]): string {
  const setUp = columns.map((column, index) =>
    isPlain(column, int64)
      ? `const c${index} = columns[${index}].values, n${index} = columns[${index}].validity;`
      : `const r${index} = columns[${index}].read, n${index} = columns[${index}].validity;`,
  );
  const fields = columns.map((column, index) => {
    const value = isPlain(column, int64) ? `c${index}[i]` : `r${index}(i)`;
    const isNullAt = withNulls[index]
      ? `n${index} !== null && (n${index}[i >> 3] & (1 << (i & 7))) === 0 ? null : `
      : '';
    return `${literalKey(column.name)}: ${isNullAt}${value},`;
  });
  return `${setUp.join('\n')}
const rows = new Array(end - start);
for (let i = start; i < end; i++) {
  rows[i - start] = {
${fields.join('\n')}
  };
}
return rows;`;
}

/** Whether the elements of the column's typed array are its JavaScript values. */
export function isPlain({ type }: Column, int64: Int64Mode): boolean {
  switch (type.kind) {
    case 'smallint':
    case 'int':
    case 'real':
    case 'double':
    case 'date':
      return true;
    case 'bigint':
    case 'timestamp':
      return int64 === 'bigint';
    default:
      return false;
  }
}

function interpretingBuild(columns: readonly Column[]): BuildRows {
  return (start, end, bound) => {
    const rows: Row[] = [];
    for (let index = start; index < end; index++) rows.push(buildRow(columns, bound, index));
    return rows;
  };
}

function buildRow(columns: readonly Column[], bound: readonly BoundColumn[], index: number): Row {
  const row: Row = {};
  for (let column = 0; column < columns.length; column++) {
    const { read, validity } = bound[column]!;
    setOwn(row, columns[column]!.name, isNull(validity, index) ? null : read(index));
  }
  return row;
}

/** Sets an own property of the object, even if its prototype has a setter of that name. */
export function setOwn(row: Row, name: string, value: RowValue): void {
  if (name === '__proto__') {
    Object.defineProperty(row, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    row[name] = value;
  }
}
