/**
 * Column stages: the typed arrays in which the values of one column wait to cross, and the checks that a value must pass first.
 * Generated code writes common values itself (see `row-stager-source.ts`) and leaves other values, nulls and mistakes to `put`.
 */
/** The parts of one column as the raw addon takes them: validity bitmap, offsets, values. */
export type ColumnParts = readonly [Uint8Array | null, Uint8Array | null, Uint8Array];

/** The description of a value that does not fit; undefined for a value that does. */
export type Problem = string | undefined;

/** The reason why a value can't be converted, instead of the converted value. */
export class Misfit {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

/** The stage of one column. */
export abstract class ColumnStage {
  readonly capacity: number;
  readonly #nullable: boolean;
  readonly #validity: Uint8Array;
  #hasNulls = false;

  constructor(capacity: number, nullable: boolean) {
    this.capacity = capacity;
    this.#nullable = nullable;
    this.#validity = new Uint8Array(nullable ? Math.ceil(capacity / 8) : 0).fill(0xff);
  }

  /** Writes a value, or returns its problem, and then the row's content is undefined. Calls no code of the value. */
  put(row: number, value: unknown): Problem {
    if (value !== null && value !== undefined) return this.putValue(row, value);
    if (!this.#nullable) return 'null in a NOT NULL column';
    this.#hasNulls = true;
    this.#validity[row >> 3]! &= ~(1 << (row & 7));
    this.putBlank(row);
    return undefined;
  }

  /** Clears the null of a row that was not added in the end. */
  undo(row: number): void {
    if (this.#hasNulls) this.#validity[row >> 3]! |= 1 << (row & 7);
  }

  /** Views of the first `rows` rows, valid until the next `put` or `reset`. */
  parts(rows: number): ColumnParts {
    const validity = this.#hasNulls ? this.#validity.subarray(0, Math.ceil(rows / 8)) : null;
    return [validity, this.offsetBytes(rows), this.valueBytes(rows)];
  }

  /** Whether the first `rows` rows take enough memory to cross before the stage is full. */
  isLarge(_rows: number): boolean {
    return false;
  }

  /** Empties the stage for the next batch. */
  reset(): void {
    if (this.#hasNulls) this.#validity.fill(0xff);
    this.#hasNulls = false;
  }

  /** Like `put`, for a value that is not null. */
  abstract putValue(row: number, value: {}): Problem;
  /** Writes the placeholder of a null. */
  protected abstract putBlank(row: number): void;
  protected abstract valueBytes(rows: number): Uint8Array;

  protected offsetBytes(_rows: number): Uint8Array | null {
    return null;
  }
}
