/** The ways from Node to read the result of a query of the user's own. Each client connects once in a process. */
import type { DuckDbClient } from '../../clients/duckdb-client.js';
import type { JsSqlConnection } from '../../clients/js-sql-client.js';
import { type Connection, connect } from '../../library/engine/connection.js';
import type { ColumnarChunk } from '../../library/engine/columnar-chunk.js';
import type { Column } from '../../library/engine/table-definition.js';
import { sumFloat64, sumInt32, sumInt64 } from '../measurements/checksum.js';
import { SQL_CLIENTS } from '../sql/clients.js';
import { generateFunction, literalKey } from '../../library/engine/code-generation.js';
import type { ColumnKind } from '../../library/engine/sql-type.js';

/** The query, as the program of Rust takes it, too. */
export interface Query {
  readonly kind: 'query';
  readonly uri: string;
  readonly sql: string;
}

/** Reads all of the result. */
export type ReadBy = (query: Query) => Promise<QuerySums>;

/** The open clients by their names. `closing` has the ways to close them. */
const opened = new Map<string, Promise<unknown>>();
const closing: (() => unknown)[] = [];

/** The result of `open`, which is called once for each name. */
function once<T>(name: string, open: () => Promise<T>, close: (value: T) => unknown = () => {}): Promise<T> {
  let promise = opened.get(name) as Promise<T> | undefined;
  if (promise === undefined) {
    promise = open().then((value) => {
      closing.push(() => close(value));
      return value;
    });
    opened.set(name, promise);
  }
  return promise;
}

/** Closes what this process has opened. */
export async function closeAll(): Promise<void> {
  opened.clear();
  for (const close of closing.splice(0)) await close();
}

const addon = ({ uri }: Query): Promise<Connection> =>
  once(
    'addon',
    () => connect(uri),
    (open) => open.close(),
  );

/**
 * The columns of the result as the addon knows them, by which all ways sum. The query is executed once, untimed. Throws
 * `BB_UNSUPPORTED` for a statement that changes something, before another client runs it.
 */
const columnsOf = (query: Query): Promise<readonly Column[]> =>
  once('columns', async () => {
    const stream = (await addon(query)).executeQueryColumnar(query.sql);
    const columns = await stream.columns();
    for await (const chunk of stream) chunk.release();
    return columns;
  });

/** Sums the rows that a client reads, as objects or as arrays. */
async function sumRows(query: Query, read: () => Promise<Iterable<unknown>>, areArrays = false): Promise<QuerySums> {
  const columns = await columnsOf(query);
  const sums = new Float64Array(columns.length);
  return sumsOf(rowSummer(columns, areArrays)(await read(), sums), sums);
}

export const addonObjects: ReadBy = (query) => sumRows(query, async () => (await addon(query)).executeQuery(query.sql));

export async function addonCursor(query: Query): Promise<QuerySums> {
  const columns = await columnsOf(query);
  const sums = new Float64Array(columns.length);
  const add = rowSummer(columns);
  let rows = 0;
  for await (const chunk of (await addon(query)).executeQueryColumnar(query.sql)) {
    rows += add(chunk.rows(), sums);
    chunk.release();
  }
  return sumsOf(rows, sums);
}

export async function addonColumns(query: Query): Promise<QuerySums> {
  const columns = await columnsOf(query);
  const sums = columns.map(() => 0);
  let rows = 0;
  for await (const chunk of (await addon(query)).executeQueryColumnar(query.sql)) {
    rows += chunk.rowCount;
    for (const [position, column] of columns.entries()) sums[position]! += sumInChunk(chunk, position, column);
    chunk.release();
  }
  return sumsOf(rows, sums);
}

function sumInChunk(chunk: ColumnarChunk, position: number, column: Column): number {
  const as = summedAs(column);
  const nulls = chunk.nullCount(position);
  if (as === 'count') return chunk.rowCount - nulls;
  if (as === 'text' || nulls > 0) return sumColumn(chunk.values(position), as);
  return sumNumbers(chunk.column(position));
}

/** The sum of numbers without nulls. */
function sumNumbers(values: ArrayLike<unknown>): number {
  if (values instanceof Float64Array) return sumFloat64(values);
  if (values instanceof Int32Array) return sumInt32(values);
  if (values instanceof BigInt64Array) return Number(sumInt64(values));
  return sumColumn(values, 'number');
}

/** The path of a file of DuckDB, and its settings. */
function duckDbPlace({ uri }: Query): readonly [path: string, settings: Readonly<Record<string, string>>] {
  const [path = '', settings = ''] = uri.slice('embedded:'.length).split('?');
  return [path === '' ? ':memory:' : decodeURIComponent(path), Object.fromEntries(new URLSearchParams(settings))];
}

const duckDb = (name: string, open: () => Promise<DuckDbClient<never>>): Promise<DuckDbClient<never>> =>
  once(name, open, (client) => client.close());

export const duckDbObjects: ReadBy = (query) =>
  sumRows(query, async () => {
    const client = await duckDb('node-api', async () => {
      const { DuckDbNodeApi } = await import('../../clients/duckdb-node-api.js');
      return (await DuckDbNodeApi.open(...duckDbPlace(query))) as DuckDbClient<never>;
    });
    return client.objects(query.sql);
  });

export async function duckDbColumns(query: Query): Promise<QuerySums> {
  const columns = await columnsOf(query);
  const client = await duckDb('node-bindings', async () => {
    const { DuckDbBindings } = await import('../../clients/duckdb-node-bindings.js');
    return (await DuckDbBindings.open(...duckDbPlace(query))) as DuckDbClient<never>;
  });
  const sums = columns.map(() => 0);
  let rows = 0;
  for await (const values of client.columns(query.sql)) {
    rows += values[0]?.length ?? 0;
    for (const [position, column] of columns.entries()) {
      const [part, as] = [values[position]!, summedAs(column)];
      sums[position]! += ArrayBuffer.isView(part) && as === 'number' ? sumNumbers(part) : sumColumn(part, as);
    }
  }
  return sumsOf(rows, sums);
}

/** The way of another client of the MySQL protocol, with a setting of it. */
export const mysqlRows =
  (client: string, setting?: string): ReadBy =>
  (query) =>
    sumRows(
      query,
      async () => {
        const connection = await once<JsSqlConnection>(
          `${client} ${setting}`,
          async () => (await SQL_CLIENTS.of({ client })).connect(query.uri, setting),
          (open) => open.close(),
        );
        return (await connection.request({ sql: query.sql, parameters: undefined })).rows ?? [];
      },
      setting === 'arrays',
    );

/**
 * The rows, and by the position of each column: the sum of numbers, the number of true values, the lengths of texts in
 * UTF-16 units, and of other types the number of values. Nulls add nothing.
 */
export interface QuerySums {
  readonly rows: number;
  readonly sums: Readonly<Record<string, number>>;
}

/** How the values of a column are summed. */
export type Summed = 'number' | 'text' | 'count';

const SUMMED: Readonly<Record<ColumnKind, Summed>> = {
  bool: 'number',
  smallint: 'number',
  int: 'number',
  bigint: 'number',
  real: 'number',
  double: 'number',
  text: 'text',
  decimal: 'count',
  bytes: 'count',
  date: 'count',
  timestamp: 'count',
};

export function summedAs({ type }: Pick<Column, 'type'>): Summed {
  return SUMMED[type.kind];
}

export function sumsOf(rows: number, sums: Iterable<number>): QuerySums {
  return { rows, sums: Object.fromEntries([...sums].map((sum, position) => [position, sum])) };
}

const ADDED: Readonly<Record<Summed, string>> = { number: 'Number(value)', text: 'value.length', count: '1' };

type RowSummer = (rows: Iterable<unknown>, sums: Float64Array) => number;

/**
 * A loop that adds rows to sums, and returns their number. It has the columns in its source, as one who knows the query
 * writes it. Rows are arrays, or have the columns as properties.
 */
export function rowSummer(columns: readonly Column[], areArrays = false): RowSummer {
  const lines = columns.map((column, position) => {
    const value = areArrays ? `row[${position}]` : `row[${literalKey(column.name)}]`;
    return `{ const value = ${value}; if (value !== null) s${position} += ${ADDED[summedAs(column)]}; }`;
  });
  const source = `let rows = 0;
${columns.map((_, position) => `let s${position} = 0;`).join(' ')}
for (const row of all) { rows += 1; ${lines.join('\n')} }
${columns.map((_, position) => `sums[${position}] += s${position};`).join(' ')}
return rows;`;
  return generateFunction<RowSummer>(['all', 'sums'], source);
}

/** The sum of the values of one column, in whatever form a client hands them out. */
export function sumColumn(values: ArrayLike<unknown>, as: Summed): number {
  let sum = 0;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (value !== null) sum += as === 'number' ? Number(value) : as === 'text' ? (value as string).length : 1;
  }
  return sum;
}
