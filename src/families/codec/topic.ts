/** Types and a loop that the parts of the family `codec` share. */
import type { Loop, CallMatrix } from '../in-process.js';
import { familyMatrix } from '../matrix.js';

/** The cell of a topic: a workload by a way in which the values cross. */
export interface CodecCell {
  readonly workload: string;
  readonly lane: string;
  /** The client that does the work; absent: JavaScript of ours, or Rust's first choice. */
  readonly client: string | undefined;
  /** The operations of one call. */
  readonly batch: number;
}

/** The work of some workloads. */
export interface Topic {
  /** The sum of the results of `operations` operations, by closed form: the same for each side that does the work. */
  resultOf(cell: CodecCell, operations: number): number;
  /** The loop of a cell of Node, over a multiple of the cell's batch of operations. */
  open(cell: CodecCell): Loop | Promise<Loop>;
  /** Executes a cell of Node once more, and compares each result with what it must be. Throws a `BoundaryError` for the first wrong one. */
  verify(cell: CodecCell): void | Promise<void>;
}

/**
 * The loop of work on the items at `size` places, `batch` of them per execution. It starts over at the end. `execute`
 * gets the place of the first item and their number.
 */
export function overPlaces(size: number, batch: number, execute: (start: number, count: number) => number): Loop {
  return (operations) => {
    let sum = 0;
    let start = 0;
    for (let done = 0; done < operations; done += batch) {
      sum += execute(start, Math.min(batch, operations - done));
      start = start + batch < size ? start + batch : 0;
    }
    return sum;
  };
}

/** A statement that is parsed, with what is read of its tree. */
export interface ParsedStatement {
  readonly sql: string;
  readonly kind: 'select' | 'create' | 'insert' | 'update' | 'delete';
  /** The first table that it names. */
  readonly table: string;
  /** The number of its items, columns or assignments. */
  readonly parts: number;
}

/** The family `codec` of `bench/matrix.json`. */
export interface CodecMatrix extends CallMatrix {
  /** The rows that are filtered, over and over. */
  readonly filterRows: number;
  readonly statements: Readonly<Record<string, ParsedStatement>>;
}

export const CODEC_MATRIX = familyMatrix<CodecMatrix>('codec');
