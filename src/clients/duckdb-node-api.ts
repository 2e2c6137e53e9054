/**
 * `@duckdb/node-api`, on the same libduckdb as the embedded engine, in a database of its own. It is used in two ways:
 *
 * - `duckDbValues`: the functions its documentation shows, value by value or whole results at a time;
 * - `duckDbVectors`: its data chunks' vectors item by item, which is its fastest public interface and takes the loops
 *   over rows into the caller's own code.
 *
 * Its ways, each from the fastest to the slowest. Rows in: vectors, `chunk.setRows`, `appendInteger` and its kind with `endRow`.
 * Columns in: vectors, `chunk.setColumns`. Objects out: vectors, `run(sql).getRowObjects()`, `yieldRowObjects` of a stream,
 * `runAndReadAll(sql)`. Columns out: vectors of a materialized result, vectors of a streamed result, each chunk's `getColumns`,
 * `run(sql).getColumns()`. Its `README.md` shows both interfaces. The database has the settings of the embedded engine.
 */
import type * as Api from '@duckdb/node-api';

import { DUCKDB_SETTINGS } from './duckdb-settings.js';
import type { MeasurementColumns } from './measurement-table.js';
import { importPackage, optionalVersion } from './optional-package.js';

const DUCKDB_NODE_API = '@duckdb/node-api';

/** The library. */
export const library = await importPackage(DUCKDB_NODE_API, () => import('@duckdb/node-api'));

const { BIGINT, DOUBLE, DuckDBDataChunk, DuckDBInstance, INTEGER } = library;

/** The rows of a data chunk: libduckdb's vector size. */
const CHUNK_ROWS = 2048;

export const DUCKDB_NODE_API_VERSION = optionalVersion(DUCKDB_NODE_API);

/** A row in the client's form: a BIGINT is a `bigint`. */
export type DuckDbRow = readonly [id: number, sensorId: number, value: number, timestamp: bigint];

/** A row object of a result. */
export type DuckDbObject = Record<string, unknown>;

/** A column of a result: the client's vector, or the values that it made from it. */
export type DuckDbColumn =
  | Api.DuckDBIntegerVector
  | Api.DuckDBDoubleVector
  | Api.DuckDBBigIntVector
  | readonly unknown[];

/** Appends to a table. Appended rows are visible after `finish`. */
export interface DuckDbWriter<Batch> {
  add(batch: Batch): void;
  finish(): void;
}

/** One way to use the client. */
export interface DuckDbInterface {
  readonly name: string;
  writeRows(appender: Api.DuckDBAppender): DuckDbWriter<readonly DuckDbRow[]>;
  writeColumns(appender: Api.DuckDBAppender): DuckDbWriter<MeasurementColumns>;
  /** All rows of a query, as objects. */
  objects(connection: Api.DuckDBConnection, sql: string): Promise<DuckDbObject[]>;
  /** The columns of a query, chunk by chunk or in one piece. */
  columns(connection: Api.DuckDBConnection, sql: string): AsyncGenerator<readonly DuckDbColumn[]>;
}

/** An in-memory database of its own. */
export class DuckDbPeer {
  readonly #instance: Api.DuckDBInstance;
  readonly connection: Api.DuckDBConnection;

  private constructor(instance: Api.DuckDBInstance, connection: Api.DuckDBConnection) {
    this.#instance = instance;
    this.connection = connection;
  }

  static async open(): Promise<DuckDbPeer> {
    const instance = await DuckDBInstance.create(':memory:', DUCKDB_SETTINGS);
    return new DuckDbPeer(instance, await instance.connect());
  }

  /** Creates the table, dropping a table with its name. */
  async createTable(table: string): Promise<void> {
    await this.connection.run(
      `CREATE OR REPLACE TABLE ${table} (id INT NOT NULL, sensor_id INT, value DOUBLE, timestamp BIGINT)`,
    );
  }

  async dropTable(table: string): Promise<void> {
    await this.connection.run(`DROP TABLE IF EXISTS ${table}`);
  }

  close(): void {
    this.connection.closeSync();
    this.#instance.closeSync();
  }
}

export const duckDbValues: DuckDbInterface = {
  name: 'duckdb-node-api',

  writeRows(appender) {
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
  },

  writeColumns(appender) {
    const chunk = newChunk();
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
  },

  async objects(connection, sql) {
    return await (await connection.run(sql)).getRowObjects();
  },

  async *columns(connection, sql) {
    yield await (await connection.run(sql)).getColumns();
  },
};

export const duckDbVectors: DuckDbInterface = {
  name: 'duckdb-node-vectors',

  writeRows(appender) {
    const chunk = newChunk();
    return {
      add(rows) {
        for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
          const length = Math.min(CHUNK_ROWS, rows.length - start);
          const [id, sensorId, value, timestamp] = vectorsOf(chunk, length);
          for (let at = 0; at < length; at += 1) {
            const row = rows[start + at] as DuckDbRow;
            id.setItem(at, row[0]);
            sensorId.setItem(at, row[1]);
            value.setItem(at, row[2]);
            timestamp.setItem(at, row[3]);
          }
          append(appender, chunk, [id, sensorId, value, timestamp]);
        }
      },
      finish: () => appender.closeSync(),
    };
  },

  writeColumns(appender) {
    const chunk = newChunk();
    return {
      add(columns) {
        for (let start = 0; start < columns.id.length; start += CHUNK_ROWS) {
          const length = Math.min(CHUNK_ROWS, columns.id.length - start);
          const [id, sensorId, value, timestamp] = vectorsOf(chunk, length);
          for (let at = 0; at < length; at += 1) {
            id.setItem(at, columns.id[start + at] as number);
            sensorId.setItem(at, columns.sensor_id[start + at] as number);
            value.setItem(at, columns.value[start + at] as number);
            timestamp.setItem(at, columns.timestamp[start + at] as bigint);
          }
          append(appender, chunk, [id, sensorId, value, timestamp]);
        }
      },
      finish: () => appender.closeSync(),
    };
  },

  async objects(connection, sql) {
    const result = await connection.run(sql);
    const makeObject = objectMaker(result.columnNames());
    const objects: DuckDbObject[] = [];
    for (let position = 0; position < result.chunkCount; position += 1) {
      const chunk = result.getChunk(position);
      makeObject(chunkColumns(chunk), chunk.rowCount, objects);
    }
    return objects;
  },

  async *columns(connection, sql) {
    const result = await connection.run(sql);
    for (let position = 0; position < result.chunkCount; position += 1) yield chunkColumns(result.getChunk(position));
  },
};

type MeasurementVectors = [
  Api.DuckDBIntegerVector,
  Api.DuckDBIntegerVector,
  Api.DuckDBDoubleVector,
  Api.DuckDBBigIntVector,
];

function newChunk(): Api.DuckDBDataChunk {
  return DuckDBDataChunk.create([INTEGER, INTEGER, DOUBLE, BIGINT]);
}

function vectorsOf(chunk: Api.DuckDBDataChunk, rows: number): MeasurementVectors {
  chunk.rowCount = rows;
  return chunkColumns(chunk) as MeasurementVectors;
}

function append(appender: Api.DuckDBAppender, chunk: Api.DuckDBDataChunk, vectors: MeasurementVectors): void {
  for (const vector of vectors) vector.flush();
  appender.appendDataChunk(chunk);
}

function chunkColumns(chunk: Api.DuckDBDataChunk): DuckDbColumn[] {
  return Array.from(
    { length: chunk.columnCount },
    (_, column) => chunk.getColumnVector(column) as Api.DuckDBIntegerVector,
  );
}

type ObjectMaker = (columns: readonly DuckDbColumn[], rows: number, into: DuckDbObject[]) => void;

/**
 * A loop with the columns' names in its source, as a caller who knows the query writes it, so that all objects have one shape.
 */
function objectMaker(names: readonly string[]): ObjectMaker {
  const properties = names.map((name, column) => `${JSON.stringify(name)}: v${column}.getItem(row)`);
  const vectors = names.map((_, column) => `v${column} = columns[${column}]`);
  const source = `const ${vectors.join(', ')};
for (let row = 0; row < rows; row += 1) into.push({ ${properties.join(', ')} });`;
  return new Function('columns', 'rows', 'into', source) as ObjectMaker;
}
