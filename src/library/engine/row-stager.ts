import { BoundaryError, invalidArgument } from '../../errors.js';
import { canGenerateCode, MOST_GENERATED_COLUMNS } from './code-generation.js';
import type { ColumnParts, ColumnStage } from './column-stage.js';
import { createColumnStages } from './create-column-stage.js';
import { describeValue } from '../crossing/describe-value.js';
import { isPlainObject } from '../crossing/named-values.js';
import { generateStager, type StagerFailures, type StagerFunctions } from './row-stager-source.js';
import { makeWriter, type StagedWriter, type WriterInsert } from './row-writer.js';
import type { Column } from './table-definition.js';

/** A row to add: its values in column order, or by column name. */
export type RowInput = readonly unknown[] | Readonly<Record<string, unknown>>;

/**
 * Stages rows in typed arrays that are reused batch after batch. If a value does not fit its column, nothing of its row remains,
 * and the rows before it stay.
 */
export class RowStager {
  readonly capacity: number;
  readonly #stages: readonly ColumnStage[];
  readonly #functions: StagerFunctions;
  readonly #columns: readonly Column[];
  readonly #generates: boolean;
  readonly #failures: StagerFailures;
  #writer: StagedWriter | undefined;
  /** The number of rows added and sent before the first staged row. */
  #base = 0;

  /** `generate: false` uses the loop for processes in which functions can't be made from text. */
  constructor(columns: readonly Column[], capacity: number, generate = canGenerateCode) {
    this.capacity = capacity;
    this.#stages = createColumnStages(columns, capacity);
    const failures = this.#failuresOf(columns);
    this.#columns = columns;
    this.#generates = generate;
    this.#failures = failures;
    this.#functions =
      generate && columns.length <= MOST_GENERATED_COLUMNS
        ? generateStager(columns, this.#stages, capacity, failures)
        : interpretingStager(columns, this.#stages, capacity, failures);
  }

  /** The number of rows staged since the last `reset`. */
  get rows(): number {
    return this.#functions.rows();
  }

  /** The number of all rows so far, for row numbers in errors. */
  get rowCount(): number {
    return this.#base + this.rows;
  }

  /** Stages a row. Returns true if the stage is full: send `parts()` and call `reset()` before the next row. */
  add(row: RowInput): boolean {
    try {
      if (Array.isArray(row)) return this.#added(this.#functions.addArray(row));
      if (typeof row === 'object' && row !== null) {
        return this.#added(this.#functions.addObject(row as Readonly<Record<string, unknown>>));
      }
    } catch (thrown) {
      for (const stage of this.#stages) stage.undo(this.rows);
      throw thrown;
    }
    throw new BoundaryError(
      'BB_INVALID_VALUE',
      `row ${this.rowCount}: ${describeValue(row)} is neither an array nor an object of values`,
    );
  }

  /**
   * The writer that stages rows here. A further call forgets the row that it has begun. `flush` sends the staged rows, and returns
   * the insert's `mayGoOn`.
   */
  writer(insert: WriterInsert, flush: () => boolean): object {
    const { capacity } = this;
    this.#writer ??= makeWriter(
      this.#columns,
      { stages: this.#stages, capacity, failures: this.#failures, insert, flush, count: this.#functions.count },
      this.#generates,
    );
    this.#writer.forget();
    this.#writer.place(this.rows);
    this.#functions.ask(this.#writer.isBegun);
    return this.#writer.writer;
  }

  /** Throws if the writer has begun a row, and not ended it. */
  assertNoneBegun(): void {
    if (this.#writer?.isBegun() === true) this.#failures.begun();
  }

  /** The staged rows in the form of the raw addon: three parts per column, valid until the next row is staged. */
  parts(): (Uint8Array | null)[] {
    return this.#stages.flatMap((stage): ColumnParts => stage.parts(this.rows));
  }

  /** Removes the staged rows after they were sent. */
  reset(): void {
    this.#base += this.rows;
    this.#functions.reset();
    for (const stage of this.#stages) stage.reset();
    this.#writer?.place(0);
  }

  /** Counts rows that bypassed the stage. */
  skip(rows: number): void {
    this.#base += rows;
  }

  /** Tells the writer of a row that was added. */
  #added(isFull: boolean): boolean {
    this.#writer?.place(this.rows);
    return isFull;
  }

  #failuresOf(columns: readonly Column[]): StagerFailures {
    return {
      value: (column, problem) => {
        throw new BoundaryError(
          'BB_INVALID_VALUE',
          `row ${this.rowCount}, column "${columns[column]!.name}": ${problem}`,
        );
      },
      arity: (length) => {
        throw new BoundaryError(
          'BB_INVALID_VALUE',
          `row ${this.rowCount}: ${length} values were given for the ${columns.length} columns of the table`,
        );
      },
      begun: () => {
        throw invalidArgument(`row ${this.rowCount}: its writer has begun it, and not ended it`, {
          hint: 'End it with next(), or forget it with writer()',
        });
      },
      absent: (row) => {
        const isNulls = isPlainObject(row) && Object.keys(row).length === 0;
        if (isNulls || (!(Symbol.iterator in row) && columns.some(({ name }) => name in row))) return;
        throw new BoundaryError(
          'BB_INVALID_VALUE',
          `row ${this.rowCount}: no column of the table is among the properties of the object`,
          { hint: 'Give an array of values, or an object of values by column name: Object.fromEntries(map) of a Map' },
        );
      },
    };
  }
}

function interpretingStager(
  columns: readonly Column[],
  stages: readonly ColumnStage[],
  capacity: number,
  failures: StagerFailures,
): StagerFunctions {
  let staged = 0;
  let isBegun: (() => boolean) | undefined;
  const hasSize = columns.some(({ name }) => name === 'size');
  const store = (values: readonly unknown[]): boolean => {
    if (isBegun?.() === true) failures.begun();
    const row = staged;
    let isFull = row + 1 === capacity;
    for (let column = 0; column < stages.length; column++) {
      const stage = stages[column]!;
      const problem = stage.put(row, values[column]);
      if (problem !== undefined) failures.value(column, problem);
      if (stage.isLarge(row + 1)) isFull = true;
    }
    staged = row + 1;
    return isFull;
  };
  return {
    // The values are copied first, so that no getter runs between the writes.
    addArray: (row) => {
      if (row.length !== columns.length) failures.arity(row.length);
      return store(columns.map((_, index) => row[index]));
    },
    addObject: (row) => {
      const values = columns.map(({ name }) => row[name]);
      if ((hasSize && Symbol.iterator in row) || values.every((value) => value === undefined)) failures.absent(row);
      return store(values);
    },
    rows: () => staged,
    reset: () => {
      staged = 0;
    },
    count: (rows) => {
      staged = rows;
    },
    ask: (asked) => {
      isBegun = asked;
    },
  };
}
