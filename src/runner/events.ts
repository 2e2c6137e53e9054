import type { Cell, RunRecord, Sample } from '../records/record.js';

/** What a run tells while it goes. Nothing below the command line prints. */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly directory: string;
      readonly totalCells: number;
      /** Cells whose records an earlier part of this run wrote. */
      readonly resumedCells: number;
    }
  | { readonly type: 'family-opening'; readonly family: string }
  | { readonly type: 'cell-opening'; readonly cell: Cell }
  | { readonly type: 'warm-up'; readonly cell: Cell; /** From 1. */ readonly execution: number }
  | {
      readonly type: 'sample';
      readonly cell: Cell;
      /** From 1. */
      readonly number: number;
      readonly sample: Sample;
      readonly rowsPerSecond: number;
    }
  | { readonly type: 'record'; readonly record: RunRecord; readonly doneCells: number; readonly totalCells: number }
  /** Something that went wrong and left the records as they are. */
  | { readonly type: 'warning'; readonly message: string }
  | { readonly type: 'run-finished'; readonly aborted: boolean; readonly unmeasuredCells: number };

export type RunListener = (event: RunEvent) => void;
