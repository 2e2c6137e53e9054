/** Runs, their records and reports, and workloads with lanes: a part of both entries of the package. */
export { type RunOptions, run } from './run.js';
export type { RunResult } from './runner/run.js';
export type { RunEvent } from './runner/events.js';
export type {
  Cell,
  Checksum,
  Comparison,
  CompletedRecord,
  CostModel,
  Crossing,
  Run,
  RunRecord,
  Sample,
  Side,
} from './records/record.js';
export { renderRunMarkdown, renderRunTerminal } from './report/run-report.js';
export {
  type LaneDefinition,
  type LaneOptions,
  type OpenLane,
  type WorkloadDefinition,
  defineWorkload,
} from './families/define.js';
export type { Family, OpenCell, OpenFamily, PlannedCell, Stopwatch } from './families/workload.js';
