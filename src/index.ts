/// <reference lib="esnext.disposable" preserve="true" />
/** The public library: the fastest safe ways in and out of an engine, for applications and their performance tests. */
export { BoundaryError } from './errors.js';
export { ArrowInserter } from './library/engine/arrow-inserter.js';
export { dateFromDays, dateFromMicros } from './library/engine/calendar.js';
export type { Int64Mode, RowValue } from './library/engine/cell-readers.js';
export type { ColumnInput, ColumnsInput, FixedValues } from './library/engine/column-sources.js';
export {
  type DecodedColumns,
  decodeColumns,
  COLUMNS_CONTENT_TYPE,
  ColumnsDecoder,
  ColumnsEncoder,
  encodeColumns,
  type SeriesNames,
} from './library/codecs/columns-codec.js';
export type { ColumnarChunk } from './library/engine/columnar-chunk.js';
export type { ColumnarStream } from './library/engine/columnar-stream.js';
export type { WorkOptions } from './library/crossing/cancellation.js';
export { attach, connect, type Connection, type CreateMode, type EngineInfo } from './library/engine/connection.js';
export {
  type ConnectionPool,
  createPool,
  type PooledConnection,
  type PoolOptions,
} from './library/engine/connection-pool.js';
export type { FrameValues } from './library/engine/frame.js';
export { HttpClient, type HttpClientOptions } from './library/http/http-client.js';
export type { HttpResponse, HttpResponses } from './library/http/http-responses.js';
export type { HttpStream } from './library/http/http-stream.js';
export type { HttpHeaders, HttpMethod, HttpRequest } from './library/http/http-submission.js';
export { type JsonPath, JsonPaths, JsonRows, type JsonValues } from './library/codecs/json-paths.js';
export { KvClient, type KvClientOptions } from './library/kv/kv-client.js';
export type { KvCursor, KvEntry, KvEntryObject } from './library/kv/kv-cursor.js';
export type { KvPipeline } from './library/kv/kv-pipeline.js';
export type { KvData } from './library/kv/kv-submission.js';
export type { KvForm, KvReplies, KvReply, KvValues } from './library/kv/kv-values.js';
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
} from './library/codecs/line-codec.js';
export { type ParameterInput, typed, type TypedValue } from './library/engine/parameters.js';
export type { CommandOptions, PreparedStatement, StatementOptions } from './library/engine/prepared-statement.js';
export type { QueryOptions } from './library/engine/query-run.js';
export type { CursorRow, RowCursor } from './library/engine/row-cursor.js';
export { RowInserter, type RowInserterOptions } from './library/engine/row-inserter.js';
export type { Row } from './library/engine/row-reader.js';
export type { RowInput } from './library/engine/row-stager.js';
export type { RowStream } from './library/engine/row-stream.js';
export type { RowWriter } from './library/engine/row-writer.js';
export { encodeRows, RowsEncoder, ROWS_CONTENT_TYPE } from './library/codecs/rows-codec.js';
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
} from './library/shards/shard-client.js';
export type { ArrowMessage, ShardBatches } from './library/shards/shard-filling.js';
export { shardOf } from './library/shards/shard-placing.js';
export { ShardRow, type ShardValues } from './library/shards/shard-row.js';
export type { ShardFailure, ShardRows } from './library/shards/shard-rows.js';
export type { ShardScan } from './library/shards/shard-scan.js';
export { ShardStore } from './library/shards/shard-store.js';
export { SqlClient, type SqlRequest, type SqlStatement } from './library/sql/sql-client.js';
export type { SqlClientOptions, SqlCollation } from './library/sql/sql-options.js';
export type { SqlRequestError, SqlResult, SqlResults } from './library/sql/sql-results.js';
export { SqlType, type ColumnKind } from './library/engine/sql-type.js';
export { type Column, type ColumnOptions, TableDefinition } from './library/engine/table-definition.js';
export type { ServerOptions, TlsMode } from './library/crossing/url-options.js';
export {
  type CallOptions,
  createWorkers,
  type WorkerContext,
  type WorkerFunction,
  type WorkerPool,
  type WorkersOptions,
} from './library/workers/worker-pool.js';
