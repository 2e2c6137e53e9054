import type { Cell, Rates, RunRecord, Sample } from '../records/record.js';

/** The event of a run that begins to measure. */
export type RunStarted = Extract<RunEvent, { readonly type: 'run-started' }>;

/** Events of a run in progress. Nothing below the command line prints. */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly directory: string;
      readonly totalCells: number;
      /** The number of cells whose records an earlier part of this run wrote. */
      readonly resumedCells: number;
      /** The number of processes that measure cells in the rest of the run, and the seconds that they take, roughly. */
      readonly forks: number;
      readonly seconds: number;
      /**
       * The smallest difference that the run tells from none, as a part, by the noise of the machine before its start. Absent: not
       * probed.
       */
      readonly resolution?: number;
      /** Of a quick run: what the same run would be without `quick`. `leftOut` has the parts of which the quick run measures nothing. */
      readonly full?: { readonly cells: number; readonly seconds: number; readonly leftOut: string };
    }
  /**
   * `forks` more processes than announced are to measure cells, since comparisons are inconclusive. Fewer (negative), if a cell has
   * lost.
   */
  | { readonly type: 'processes-changed'; readonly forks: number }
  | { readonly type: 'family-opening'; readonly family: string }
  | {
      readonly type: 'cell-opening';
      readonly cell: Cell;
      /** How often the cell is measured with this, from 1. */ readonly fork: number;
    }
  | { readonly type: 'warm-up'; readonly cell: Cell; /** Counted from 1. */ readonly execution: number }
  | (Rates & {
      readonly type: 'sample';
      readonly cell: Cell;
      /** The number of the sample, from 1. */
      readonly number: number;
      readonly sample: Sample;
    })
  /** A cell is executed once more, under a profiler. */
  | { readonly type: 'cell-profiling'; readonly cell: Cell }
  | { readonly type: 'record'; readonly record: RunRecord; readonly doneCells: number; readonly totalCells: number }
  /** An error that does not change the records. */
  | { readonly type: 'warning'; readonly message: string }
  | { readonly type: 'run-finished'; readonly aborted: boolean; readonly unmeasuredCells: number };

export type RunListener = (event: RunEvent) => void;
