/** What the parts of the family `codec` have in common. */

/** The cell of a topic: a workload by a way in which the values cross. */
export interface CodecCell {
  readonly workload: string;
  readonly lane: string;
  /** What does the work; absent: JavaScript of ours, or Rust's first choice. */
  readonly client: string | undefined;
  /** The operations of one call. */
  readonly batch: number;
}

/** Executes so many operations, and returns the sum of their results. The number is a multiple of the cell's batch. */
export type Loop = (operations: number) => number;

/** The work of some workloads. */
export interface Topic {
  /** The sum of the results of so many operations, by closed form: the same for each side that does the work. */
  resultOf(cell: CodecCell, operations: number): number;
  /** The loop of a cell of Node. */
  open(cell: CodecCell): Loop | Promise<Loop>;
  /** Executes a cell of Node once more, and compares each result with what it must be. Throws a `BoundaryError` for the first wrong one. */
  verify(cell: CodecCell): void | Promise<void>;
}
