/// <reference lib="esnext.disposable" preserve="true" />
/** The benchmark: workloads of your own, runs, and their records and reports. The library is the package's other entry. */
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
export {
  type OwnWorkload,
  type SidedWay,
  type TimedWay,
  type Way,
  type WayFunction,
  workload,
} from './families/own/workload.js';
export { type Program, type ProgramOptions, program } from './families/own/program.js';
export * from './testing/compare-ways.js';
export { BoundaryError } from './errors.js';
export type {
  JsHttpClient as HttpDriver,
  JsHttpConnection as HttpDriverConnection,
  JsHttpOptions as HttpDriverOptions,
} from './clients/js-http-client.js';
export type { JsKvClient as KvDriver, JsKvConnection as KvDriverConnection } from './clients/js-kv-client.js';
export type { ColumnsOfBatch, TableDriver, TableDriverConnection, TableInserter } from './clients/measurement-table.js';
export type { MeasurementColumns, MeasurementRow } from './clients/measurement-table.js';
export type { JsSqlClient as SqlDriver, JsSqlConnection as SqlDriverConnection } from './clients/js-sql-client.js';
export { type RunComparison, compareRuns } from './compare/compare-runs.js';
export { parseRun, readRun } from './records/run-file.js';
