/** The public library: the fastest safe ways in and out of an engine, for applications and their performance tests. */
export { BoundaryError } from './errors.js';
export { ArrowInserter } from './library/arrow-inserter.js';
export { dateFromDays, dateFromMicros } from './library/calendar.js';
export type { Int64Mode, RowValue } from './library/cell-readers.js';
export type { ColumnInput, ColumnsInput, FixedValues } from './library/column-sources.js';
export {
  type DecodedColumns,
  decodeColumns,
  COLUMNS_CONTENT_TYPE,
  ColumnsDecoder,
  ColumnsEncoder,
  encodeColumns,
  type SeriesNames,
} from './library/columns-codec.js';
export type { ColumnarChunk } from './library/columnar-chunk.js';
export type { ColumnarStream } from './library/columnar-stream.js';
export type { WorkOptions } from './library/cancellation.js';
export { attach, connect, type Connection, type CreateMode, type EngineInfo } from './library/connection.js';
export { type ConnectionPool, createPool, type PooledConnection, type PoolOptions } from './library/connection-pool.js';
export type { FrameValues } from './library/frame.js';
export { HttpClient, type HttpClientOptions } from './library/http-client.js';
export type { HttpResponse, HttpResponses } from './library/http-responses.js';
export type { HttpStream } from './library/http-stream.js';
export type { HttpHeaders, HttpMethod, HttpRequest } from './library/http-submission.js';
export { type JsonPath, JsonPaths, JsonRows, type JsonValues } from './library/json-paths.js';
export { KvClient, type KvClientOptions } from './library/kv-client.js';
export type { KvPipeline } from './library/kv-pipeline.js';
export type { KvData } from './library/kv-submission.js';
export type { KvReplies, KvReply, KvValues } from './library/kv-values.js';
export {
  encodeLines,
  type FieldKind,
  LineEncoder,
  LineParser,
  type ParsedLines,
  type ParsedSeries,
  type ParsedTable,
  parseLines,
  type ParseOptions,
  type Precision,
} from './library/line-codec.js';
export { type ParameterInput, typed, type TypedValue } from './library/parameters.js';
export type { CommandOptions, PreparedStatement, StatementOptions } from './library/prepared-statement.js';
export type { QueryOptions } from './library/query-run.js';
export { RowInserter, type RowInserterOptions } from './library/row-inserter.js';
export type { Row } from './library/row-reader.js';
export type { RowInput } from './library/row-stager.js';
export type { RowStream } from './library/row-stream.js';
export { encodeRows, RowsEncoder, ROWS_CONTENT_TYPE } from './library/rows-codec.js';
export {
  type ShardAggregate,
  type ShardAggregation,
  type ShardCallOptions,
  ShardClient,
  type ShardClientOptions,
  type ShardColumn,
  type ShardKeys,
  type ShardPopulateOptions,
  type ShardState,
} from './library/shard-client.js';
export { ShardRow, type ShardValues } from './library/shard-row.js';
export type { ShardFailure, ShardRows } from './library/shard-rows.js';
export type { ShardScan } from './library/shard-scan.js';
export { ShardStore } from './library/shard-store.js';
export { SqlClient, type SqlClientOptions, type SqlRequest, type SqlStatement } from './library/sql-client.js';
export type { SqlRequestError, SqlResult, SqlResults } from './library/sql-results.js';
export { SqlType, type ColumnKind } from './library/sql-type.js';
export { type Column, type ColumnOptions, TableDefinition } from './library/table-definition.js';
export type { ServerOptions, TlsMode } from './library/url-options.js';
export { type RunOptions, run } from './run.js';
export type { RunResult } from './runner/run.js';
export type { RunEvent } from './runner/events.js';
export type { Cell, Checksum, Comparison, CompletedRecord, Run, RunRecord, Sample, Side } from './records/record.js';
export { renderRunMarkdown, renderRunTerminal } from './report/run-report.js';
export {
  type LaneDefinition,
  type LaneOptions,
  type OpenLane,
  type WorkloadDefinition,
  defineWorkload,
} from './workloads/define.js';
export type { Family, OpenCell, OpenFamily, PlannedCell, Stopwatch } from './workloads/workload.js';
