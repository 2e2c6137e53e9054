/**
 * `@duckdb/node-api`, on the same libduckdb as the embedded engine, used as its documentation shows: value by value, or whole results
 * at a time. `duckdb-node-bindings.ts` has its fastest ways, by the package that it is built on.
 *
 * Its own ways, each from the fastest to the slowest. Rows in: vectors item by item, `chunk.setRows`, `appendInteger` and its kind with
 * `endRow`. Columns in: vectors, `chunk.setColumns`. Objects out: vectors, `run(sql).getRowObjects()`, `yieldRowObjects` of a stream,
 * `runAndReadAll(sql)`. Columns out: vectors of a materialized result, vectors of a streamed result, each chunk's `getColumns`,
 * `run(sql).getColumns()`. Texts take the same time in all of these ways, since each long text is a call to the addon of its own. The
 * database has the settings of the embedded engine.
 */
import type * as Api from '@duckdb/node-api';

import {
  CHUNK_ROWS,
  type DuckDbClient,
  type DuckDbColumn,
  type DuckDbObject,
  type DuckDbWriter,
  DUCKDB_SETTINGS,
  type DuckDbSettings,
} from './duckdb-client.js';
import type { MeasurementColumns } from './measurement-table.js';
import { importPackage, optionalVersion } from './optional-package.js';

const DUCKDB_NODE_API = '@duckdb/node-api';

const { BIGINT, DOUBLE, DuckDBDataChunk, DuckDBInstance, INTEGER } = await importPackage(
  DUCKDB_NODE_API,
  () => import('@duckdb/node-api'),
);

/** A row in the client's form: a BIGINT is a `bigint`. */
export type DuckDbRow = readonly [id: number, sensorId: number, value: number, timestamp: bigint];

export class DuckDbNodeApi implements DuckDbClient<DuckDbRow> {
  readonly versions = { [DUCKDB_NODE_API]: optionalVersion(DUCKDB_NODE_API) };
  readonly #instance: Api.DuckDBInstance;
  readonly #connection: Api.DuckDBConnection;

  private constructor(instance: Api.DuckDBInstance, connection: Api.DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(path = ':memory:', settings: DuckDbSettings = {}): Promise<DuckDbNodeApi> {
    const instance = await DuckDBInstance.create(path, { ...DUCKDB_SETTINGS, ...settings });
    return new DuckDbNodeApi(instance, await instance.connect());
  }

  async run(sql: string): Promise<void> {
    await this.#connection.run(sql);
  }

  async writeRows(table: string): Promise<DuckDbWriter<readonly DuckDbRow[]>> {
    const appender = await this.#connection.createAppender(table);
    return {
      add(rows) {
        for (const row of rows) {
          appender.appendInteger(row[0]);
          appender.appendInteger(row[1]);
          appender.appendDouble(row[2]);
          appender.appendBigInt(row[3]);
          appender.endRow();
        }
      },
      finish: () => appender.closeSync(),
    };
  }

  async writeColumns(table: string): Promise<DuckDbWriter<MeasurementColumns>> {
    const appender = await this.#connection.createAppender(table);
    const chunk = DuckDBDataChunk.create([INTEGER, INTEGER, DOUBLE, BIGINT]);
    return {
      add({ id, sensor_id, value, timestamp }) {
        for (let start = 0; start < id.length; start += CHUNK_ROWS) {
          const end = Math.min(start + CHUNK_ROWS, id.length);
          const columns = [id, sensor_id, value, timestamp].map((column) => column.subarray(start, end));
          // The client's types require arrays, but it only reads the length and the elements.
          chunk.setColumns(columns as unknown as (number | bigint)[][]);
          appender.appendDataChunk(chunk);
        }
      },
      finish: () => appender.closeSync(),
    };
  }

  async objects(sql: string): Promise<DuckDbObject[]> {
    return await (await this.#connection.run(sql)).getRowObjects();
  }

  async *columns(sql: string): AsyncGenerator<readonly DuckDbColumn[]> {
    yield await (await this.#connection.run(sql)).getColumns();
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}
