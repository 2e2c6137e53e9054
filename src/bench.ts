/// <reference lib="esnext.disposable" preserve="true" />
/** The benchmark for your own code: workloads, runs, and what they result in. */
export * from './runs.js';
export { type OwnWorkload, type SidedWay, type Way, type WayFunction, workload } from './families/own/workload.js';
export { type Program, program } from './families/own/program.js';
export * from './testing/compare-ways.js';
export { BoundaryError } from './errors.js';
export type { JsKvClient as KvDriver, JsKvConnection as KvDriverConnection } from './clients/js-kv-client.js';
export type { JsSqlClient as SqlDriver, JsSqlConnection as SqlDriverConnection } from './clients/js-sql-client.js';
export { type RunComparison, compareRuns } from './compare/compare-runs.js';
export { parseRun, readRun } from './records/run-file.js';
