/**
 * `@duckdb/node-bindings`, the public package that `@duckdb/node-api` is built on, on the same libduckdb as the embedded engine. It
 * copies whole vectors from and to typed arrays, so the loops over rows are the caller's own code. The database has the
 * settings of the embedded engine.
 *
 * Its ways, each from the fastest to the slowest. Rows in: typed arrays filled from the rows, with a timestamp's halves written as
 * numbers, with a `bigint` of the caller's, with `BigInt(timestamp)`; `append_int32` and its kind. Columns in: `copy_data_to_vector`
 * into a chunk that is used again, into new chunks. Objects and columns out: a materialized result by `result_get_chunk`, by
 * `fetch_chunk`, a streamed result whose next chunk is fetched while one is read. Streamed chunks of a filter have only the few rows that
 * are left of a chunk of the table. Objects are made by a loop that is kept, then by a new one per query, and pushed to an array, then
 * set in an array of the final length. Texts: long ones that follow one another in memory copied together and cut, then a
 * `get_data_from_pointer` per text with any decoder.
 *
 * `vector_get_data` copies, so nothing that it returns depends on its chunk. `vector_get_validity` is null for a vector without nulls,
 * and asking for it costs nothing that shows.
 */
import { isAscii } from 'node:buffer';

import library from '@duckdb/node-bindings';
import type * as Bindings from '@duckdb/node-bindings';

import { generateFunction } from '../library/engine/code-generation.js';
import {
  CHUNK_ROWS,
  type DuckDbClient,
  type DuckDbColumn,
  type DuckDbNumbers,
  type DuckDbObject,
  type DuckDbWriter,
  DUCKDB_SETTINGS,
  type DuckDbSettings,
} from './duckdb-client.js';
import type { MeasurementColumns, MeasurementRow } from './measurement-table.js';
import { optionalVersion } from './optional-package.js';

const DUCKDB_NODE_BINDINGS = '@duckdb/node-bindings';

const { BIGINT, BOOLEAN, DOUBLE, FLOAT, INTEGER, SMALLINT, VARCHAR } = library.Type;

const TWO_TO_32 = 2 ** 32;

/** The bytes of a text's entry in a vector: its length, and the text itself up to 12 bytes, or 4 bytes of it and a pointer. */
const TEXT_BYTES = 16;
const INLINE_BYTES = 12;

export class DuckDbBindings implements DuckDbClient<MeasurementRow> {
  readonly versions = { [DUCKDB_NODE_BINDINGS]: optionalVersion(DUCKDB_NODE_BINDINGS) };
  readonly #database: Bindings.Database;
  readonly #connection: Bindings.Connection;

  private constructor(database: Bindings.Database, connection: Bindings.Connection) {
    this.#database = database;
    this.#connection = connection;
  }

  static async open(path = ':memory:', settings: DuckDbSettings = {}): Promise<DuckDbBindings> {
    const config = library.create_config();
    for (const [name, value] of Object.entries({ ...DUCKDB_SETTINGS, ...settings })) {
      library.set_config(config, name, value);
    }
    const database = await library.open(path, config);
    return new DuckDbBindings(database, await library.connect(database));
  }

  async run(sql: string): Promise<void> {
    await library.query(this.#connection, sql);
  }

  async writeRows(table: string): Promise<DuckDbWriter<readonly MeasurementRow[]>> {
    const id = new Int32Array(CHUNK_ROWS);
    const sensorId = new Int32Array(CHUNK_ROWS);
    const value = new Float64Array(CHUNK_ROWS);
    const timestamp = new BigInt64Array(CHUNK_ROWS);
    const halves = new Uint32Array(timestamp.buffer);
    const { append, finish } = this.#append(table);
    return {
      add(rows) {
        for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
          const length = Math.min(CHUNK_ROWS, rows.length - start);
          for (let at = 0; at < length; at += 1) {
            const row = rows[start + at] as MeasurementRow;
            id[at] = row[0];
            sensorId[at] = row[1];
            value[at] = row[2];
            halves[2 * at] = row[3];
            halves[2 * at + 1] = Math.floor(row[3] / TWO_TO_32);
          }
          append([id, sensorId, value, timestamp], 0, length);
        }
      },
      finish,
    };
  }

  async writeColumns(table: string): Promise<DuckDbWriter<MeasurementColumns>> {
    const { append, finish } = this.#append(table);
    return {
      add({ id, sensor_id, value, timestamp }) {
        for (let start = 0; start < id.length; start += CHUNK_ROWS) {
          append([id, sensor_id, value, timestamp], start, Math.min(CHUNK_ROWS, id.length - start));
        }
      },
      finish,
    };
  }

  async objects(sql: string): Promise<DuckDbObject[]> {
    const result = await library.query(this.#connection, sql);
    const names = Array.from({ length: library.column_count(result) }, (_, column) =>
      library.column_name(result, column),
    );
    const makeObjects = objectMaker(names);
    const objects: DuckDbObject[] = [];
    for (const columns of chunksOf(result)) makeObjects(columns, columns[0]!.length, objects);
    return objects;
  }

  async *columns(sql: string): AsyncGenerator<readonly DuckDbColumn[]> {
    for (const columns of chunksOf(await library.query(this.#connection, sql))) yield columns;
  }

  close(): void {
    library.disconnect_sync(this.#connection);
    library.close_sync(this.#database);
  }

  /** Appends whole vectors to a table, by one chunk that is used again. */
  #append(table: string) {
    const appender = library.appender_create(this.#connection, null, table);
    const types = [INTEGER, INTEGER, DOUBLE, BIGINT];
    const chunk = library.create_data_chunk(types.map((type) => library.create_logical_type(type)));
    const vectors = types.map((_, column) => library.data_chunk_get_vector(chunk, column));
    return {
      append(columns: readonly DuckDbNumbers[], start: number, rows: number): void {
        library.data_chunk_set_size(chunk, rows);
        for (const [position, { buffer, byteOffset, BYTES_PER_ELEMENT: width }] of columns.entries()) {
          const from = byteOffset + start * width;
          library.copy_data_to_vector(vectors[position]!, 0, buffer as ArrayBuffer, from, rows * width);
        }
        library.append_data_chunk(appender, chunk);
      },
      finish: (): void => library.appender_close_sync(appender),
    };
  }
}

/** The chunk that is read, kept alive: its vectors point to texts in its memory. */
let read: Bindings.DataChunk | undefined;

/** The columns of a materialized result, chunk by chunk. */
function* chunksOf(result: Bindings.Result): Generator<readonly DuckDbColumn[]> {
  const types = typesOf(result);
  const count = library.result_chunk_count(result);
  for (let index = 0; index < count; index += 1) yield columnsOf(library.result_get_chunk(result, index), types);
}

/** The columns of a chunk whose columns have these types. */
export function columnsOf(chunk: Bindings.DataChunk, types: readonly Bindings.Type[]): DuckDbColumn[] {
  read = chunk;
  const rows = library.data_chunk_get_size(read);
  return types.map((type, column) => columnOf(library.data_chunk_get_vector(chunk, column), type, rows));
}

/** The types of the columns of a result. */
export function typesOf(result: Bindings.Result): Bindings.Type[] {
  return Array.from({ length: library.column_count(result) }, (_, column) => library.column_type(result, column));
}

/** The values of a vector: a typed array of numbers without nulls, else an array. Of a type without typed array, only whether they are null. */
function columnOf(vector: Bindings.Vector, type: Bindings.Type, rows: number): DuckDbColumn {
  // Null if the vector has no nulls, although its type does not say so.
  const validity = library.vector_get_validity(vector, 8 * Math.ceil(rows / 64)) as Uint8Array | null;
  const isValid = (row: number): boolean => validity === null || library.validity_row_is_valid(validity, row);
  if (type === VARCHAR) {
    const bytes = library.vector_get_data(vector, rows * TEXT_BYTES) as Buffer;
    return textsOf(bytes, rows, isValid);
  }
  const Values = ARRAYS[type];
  if (Values === undefined) return Array.from({ length: rows }, (_, row) => (isValid(row) ? true : null));
  const { buffer, byteOffset } = library.vector_get_data(vector, rows * Values.BYTES_PER_ELEMENT);
  const values = new Values(buffer as ArrayBuffer, byteOffset, rows);
  return validity === null
    ? values
    : Array.from<unknown, unknown>(values, (value, row) => (isValid(row) ? value : null));
}

interface NumbersOf {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, start: number, length: number): Exclude<DuckDbColumn, readonly unknown[]>;
}

/** The typed arrays of types. */
const ARRAYS: Readonly<Partial<Record<Bindings.Type, NumbersOf>>> = {
  [BOOLEAN]: Uint8Array,
  [SMALLINT]: Int16Array,
  [INTEGER]: Int32Array,
  [BIGINT]: BigInt64Array,
  [FLOAT]: Float32Array,
  [DOUBLE]: Float64Array,
};

/** The texts of a vector, from the bytes of its entries. Texts outside of it that follow one another in memory are copied together. */
function textsOf(bytes: Buffer, rows: number, isValid: (row: number) => boolean): (string | null)[] {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, (rows * TEXT_BYTES) / 4);
  const lengthOf = (row: number): number => words[4 * row] as number;
  const isOutside = (row: number): boolean => row < rows && lengthOf(row) > INLINE_BYTES && isValid(row);
  const inline = decoderOf(bytes);
  const texts: (string | null)[] = [];
  for (let row = 0; row < rows;) {
    const start = row * TEXT_BYTES + 4;
    if (!isOutside(row)) {
      texts.push(isValid(row) ? inline(start, start + lengthOf(row)) : null);
      row += 1;
      continue;
    }
    const low = words[4 * row + 2] as number;
    const high = words[4 * row + 3];
    let [end, length] = [row, 0];
    while (isOutside(end) && words[4 * end + 2] === low + length && words[4 * end + 3] === high) {
      length += lengthOf(end);
      end += 1;
    }
    const pointer = bytes.byteOffset + start + 4;
    const decode = decoderOf(library.get_data_from_pointer(bytes.buffer as ArrayBuffer, pointer, length) as Buffer);
    for (let at = 0; row < end; row += 1) texts.push(decode(at, (at += lengthOf(row))));
  }
  return texts;
}

/** A decoder of parts of some bytes, which decodes bytes of ASCII together, and cuts the text. */
function decoderOf(bytes: Buffer): (start: number, end: number) => string {
  if (!isAscii(bytes)) return (start, end) => bytes.toString('utf8', start, end);
  const text = bytes.toString('latin1');
  return (start, end) => text.slice(start, end);
}

type ObjectMaker = (columns: readonly DuckDbColumn[], rows: number, into: DuckDbObject[]) => void;

/**
 * A loop with the columns' names in its source, as a caller who knows the query writes it, so that all objects have one
 * shape. The same names give the same loop: V8 would compile a new one from the start.
 */
function objectMaker(names: readonly string[]): ObjectMaker {
  const properties = names.map((name, column) => `${JSON.stringify(name)}: v${column}[row]`);
  const columns = names.map((_, column) => `v${column} = columns[${column}]`);
  const source = `const ${columns.join(', ')};
for (let row = 0; row < rows; row += 1) into.push({ ${properties.join(', ')} });`;
  return generateFunction<ObjectMaker>(['columns', 'rows', 'into'], source);
}
