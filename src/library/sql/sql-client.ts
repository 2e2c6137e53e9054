import { addon } from '../../addon.js';
import { BoundaryError, invalidArgument } from '../../errors.js';
import { readWorkOptions, type WorkOptions } from '../crossing/cancellation.js';
import { connectTimeoutOf } from '../crossing/connecting.js';
import type { Int64Mode } from '../engine/cell-readers.js';
import { CellWriter } from '../engine/cell-writer.js';
import { describeValue } from '../crossing/describe-value.js';
import { ownList } from '../crossing/own-list.js';
import type { ParameterInput } from '../engine/parameters.js';
import { Spare } from '../crossing/spare.js';
import { PlainRead, SqlConnections } from './sql-connections.js';
import { type ResultBytes, ResultShape, type SqlResult, SqlResults } from './sql-results.js';
import { fromColumnSpecs } from '../engine/table-definition.js';
import { readOptions } from '../crossing/options.js';
import { checkText } from '../crossing/well-formed.js';
import { CLIENT_OPTIONS, serverOf, type SqlClientOptions } from './sql-options.js';

/** The most result shapes that a client keeps, as many as the addon. Statements that differ each time make many shapes. */
const MOST_SHAPES = 4096;

/** The most statements of which a client remembers whether they are plain reads. */
const MOST_STATEMENTS = 1024;

/** Kinds of submissions, in the first word. `native/clients/mysql/src/submission.rs` describes them. */
export const RUN = 0;
export const PING = 1;
export const PREPARE = 2;
export const INSERT = 3;

/** Flags of a statement in a submission. */
const PREPARED = 0;
export const AS_TEXT = 1;

/** Bytes of the header words of a statement. */
const HEAD_BYTES = 20;

/** The values of a statement's parameters, or of a row. */
type ParameterList = readonly ParameterInput[];

const NO_PARAMETERS: ParameterList = [];
const ONE_OF_NONE = [NO_PARAMETERS];

/** A statement of a batch, with the parameters of each of its requests. */
interface StatementLists {
  readonly sql: string;
  readonly flags: number;
  readonly lists: ParameterList[];
}

/** One request of a `run` call. */
export interface SqlRequest {
  /** The statement, with `?` for each parameter. */
  readonly sql: string;
  /** The parameters. If absent, the statement has none, and is sent as text. */
  readonly parameters?: readonly ParameterInput[] | undefined;
}

/**
 * A client of servers that speak the MySQL protocol: `mysql://user:password@host:port/database`, with `?socket=/path` or
 * `?tls=required`, `?tls=verify&tls-ca=/path.pem`. The rows of one call take 1 GiB at most, unless `maxResponseBytes` says
 * otherwise.
 *
 * Each call takes a connection of its own, so concurrent calls do not wait for each other. But single plain reads that were fast the last
 * time share connections, and are sent ahead of each other's answers: `SELECT` without locks, variables and functions that may do more
 * than read, by a call without a signal and a time-out, in a session that nothing has changed. With `connections: 1` all calls share
 * one session, its transactions and settings. When a connection is lost, its calls under way are rejected: they may have been
 * executed or not, and are never retried. If its session was changed, the calls that wait for it are rejected too, or else the next
 * call: with `BB_CONNECTION`, once, and a message that says what was lost. Later calls get a new session. A call that is aborted
 * or times out is rejected, its connection is closed, and the server is asked to end the statement.
 *
 * @example
 * ```js
 * import { SqlClient } from 'boundary-bench';
 *
 * const sql = await SqlClient.connect('mysql://user:password@127.0.0.1:3306/test');
 * const result = await sql.execute('SELECT ? AS name', ['Ada']);
 * console.log(result.rows()); // [{ name: 'Ada' }]
 * const results = await sql.queryMany('SELECT ? AS id', [[1], [2]]);
 * console.log(results.rows().length); // 2
 * await sql.close();
 * ```
 */
export class SqlClient implements AsyncDisposable {
  readonly #connections: SqlConnections;
  readonly #int64: Int64Mode;
  readonly #timeoutMs: number | undefined;
  readonly #shapes = new Map<number, ResultShape>();
  readonly #writers = new Spare(() => new CellWriter());
  readonly #statements = new Map<string, PlainRead | undefined>();

  private constructor(connections: SqlConnections, int64: Int64Mode = 'bigint', timeoutMs: number | undefined) {
    this.#connections = connections;
    this.#int64 = int64;
    this.#timeoutMs = timeoutMs;
  }

  /** Connects and logs in. */
  static async connect(url: string, options: SqlClientOptions = {}): Promise<SqlClient> {
    const read = readOptions(options, CLIENT_OPTIONS);
    const { connections = 10, timeoutMs, connectTimeoutMs, int64 } = read;
    const server = serverOf(url, read);
    const connectMs = connectTimeoutOf(connectTimeoutMs, timeoutMs);
    return new SqlClient(await SqlConnections.open(server, connections, connectMs), int64, timeoutMs);
  }

  /** The name and version of the server. */
  get version(): string {
    return this.#connections.version;
  }

  /** Checks that the server responds. */
  async ping(options?: WorkOptions): Promise<void> {
    await this.#perform(options, (writer) => writer.word(PING));
  }

  /** Runs one statement, sent as text. The result of a `CALL` is its first one. `further` has the others. */
  async query(sql: string, options?: WorkOptions): Promise<SqlResult> {
    checkText('a statement', sql);
    return this.#results(
      await this.#perform(options, (writer) => writeOne(writer, AS_TEXT, sql, ONE_OF_NONE), this.#readOf(sql)),
      first,
    ).at(0);
  }

  /**
   * Runs one prepared statement, which is prepared once per connection. It is prepared again if the server has forgotten it, and after a
   * statement that may have changed what it means, such as `USE` or `SET`.
   */
  async execute(sql: string, parameters = NO_PARAMETERS, options?: WorkOptions): Promise<SqlResult> {
    checkText('a statement', sql);
    return this.#results(
      await this.#perform(options, (writer) => writeOne(writer, PREPARED, sql, [parameters]), this.#readOf(sql)),
      first,
    ).at(0);
  }

  /** Prepares a statement on the server, to check that this is possible and to count its parameters. */
  async prepare(sql: string, options?: WorkOptions): Promise<SqlStatement> {
    checkText('a statement', sql);
    const bytes = await this.#perform(options, (writer) => {
      writer.word(PREPARE);
      writer.text(sql);
    });
    return new SqlStatement(this, sql, numberOf(bytes));
  }

  /**
   * Runs one prepared statement once per list of parameters, over one connection, all requests sent ahead of their responses. A
   * request that fails does not stop the others: the results have the `errors`, and `SqlResults.rows` throws. In a transaction, only
   * reads are sent ahead. If an error ends the transaction, as a deadlock does, the requests behind it fail and have no effect.
   */
  async queryMany(
    sql: string,
    parameterLists: readonly (readonly ParameterInput[])[],
    options?: WorkOptions,
  ): Promise<SqlResults> {
    checkText('a statement', sql);
    const lists = ownList('the lists of parameters', parameterLists);
    return this.#results(await this.#perform(options, (writer) => writeOne(writer, PREPARED, sql, lists)), first);
  }

  /** Like `queryMany`, for statements that change rows: each is a transaction of its own, unless one is open. */
  executeBatch(sql: string, rows: readonly (readonly ParameterInput[])[], options?: WorkOptions): Promise<SqlResults> {
    return this.queryMany(sql, rows, options);
  }

  /**
   * Runs requests in order over one connection, sent ahead of their responses as in `queryMany`. What follows a statement that may change
   * its meaning, such as `USE`, waits for its response. After an error that ended a transaction, requests run again from the next `BEGIN`
   * on.
   */
  async run(requests: readonly SqlRequest[], options?: WorkOptions): Promise<SqlResults> {
    // The same SQL sent as text and prepared is two statements.
    const prepared = new Map<string, number>();
    const texts = new Map<string, number>();
    const statements: StatementLists[] = [];
    const order = ownList('the requests', requests).map((request, place) => {
      if (typeof request !== 'object' || request === null) {
        throw invalidArgument(`request ${place} must be an object with a statement, not ${describeValue(request)}`);
      }
      const { sql, parameters } = request;
      checkText('a statement', sql);
      const known = parameters === undefined ? texts : prepared;
      let index = known.get(sql);
      if (index === undefined) {
        index = statements.length;
        known.set(sql, index);
        statements.push({ sql, flags: parameters === undefined ? AS_TEXT : PREPARED, lists: [] });
      }
      statements[index]!.lists.push(parameters === undefined ? NO_PARAMETERS : parameters);
      return index;
    });
    const bytes = await this.#perform(options, (writer) => writeAll(writer, statements, order));
    return this.#results(bytes, (index) => order[index]!);
  }

  /**
   * Inserts rows into columns of a table (`table` or `database.table`) in the fastest way that the server supports, all or none.
   * Within a transaction of the session they become part of it. Resolves to the number of rows.
   */
  async insertRows(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly ParameterInput[])[],
    options?: WorkOptions,
  ): Promise<number> {
    checkText('the name of a table', table);
    const names = ownList('the columns', columns);
    for (const name of names) checkText('the name of a column', name);
    const lists = ownList('the rows', rows);
    return numberOf(await this.#perform(options, (writer) => writeRows(writer, table, names, lists)));
  }

  /** Closes the connections. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Writes a submission and hands it over, before another call can write to the same memory. */
  #perform(
    options: WorkOptions | undefined,
    write: (writer: CellWriter) => void,
    read?: PlainRead,
  ): Promise<ResultBytes> {
    const limits = options === undefined ? undefined : readWorkOptions(options);
    return this.#writers.use((writer) => {
      writer.clear();
      write(writer);
      if (limits === undefined && this.#timeoutMs === undefined)
        return this.#connections.perform(writer, undefined, read);
      const { signal, timeoutMs = this.#timeoutMs } = limits ?? {};
      return this.#connections.perform(writer, { signal, timeoutMs });
    });
  }

  /** The statement of a plain read. `undefined` for any other. */
  #readOf(sql: string): PlainRead | undefined {
    if (this.#statements.has(sql)) return this.#statements.get(sql);
    if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear();
    const read = addon.isPlainRead(sql) ? new PlainRead() : undefined;
    this.#statements.set(sql, read);
    return read;
  }

  #results(bytes: ResultBytes, statementOf: (index: number) => number): SqlResults {
    return new SqlResults(bytes, this.#int64, this.#shapeOf, statementOf);
  }

  readonly #shapeOf = (number: number): ResultShape => {
    const known = this.#shapes.get(number);
    if (known !== undefined) return known;
    const shape = new ResultShape(fromColumnSpecs(this.#connections.shapes.columns(number)), this.#int64);
    if (this.#shapes.size >= MOST_SHAPES) this.#shapes.delete(this.#shapes.keys().next().value!);
    this.#shapes.set(number, shape);
    return shape;
  };
}

/** A statement that the server has prepared. */
export class SqlStatement {
  readonly sql: string;
  /** The number of parameters of the statement. */
  readonly parameterCount: number;
  readonly #client: SqlClient;

  /** @internal Use `SqlClient.prepare`. */
  constructor(client: SqlClient, sql: string, parameterCount: number) {
    this.#client = client;
    this.sql = sql;
    this.parameterCount = parameterCount;
  }

  /** Runs the statement once. */
  execute(parameters?: readonly ParameterInput[], options?: WorkOptions): Promise<SqlResult> {
    return this.#client.execute(this.sql, parameters, options);
  }

  /** Runs the statement once per list of parameters. See `SqlClient.queryMany`. */
  queryMany(parameterLists: readonly (readonly ParameterInput[])[], options?: WorkOptions): Promise<SqlResults> {
    return this.#client.queryMany(this.sql, parameterLists, options);
  }
}

function first(): number {
  return 0;
}

/** The number in a result that consists of one word. */
function numberOf({ memory, start }: ResultBytes): number {
  return memory.words[start >> 2]!;
}

/** Writes one statement with its lists of parameters. */
function writeOne(writer: CellWriter, flags: number, sql: string, lists: readonly ParameterList[]): void {
  writer.word(RUN);
  writer.word(1);
  writer.word(lists.length);
  const head = writer.length;
  const width = widthOf(lists);
  writeHead(writer, flags, width, lists.length);
  writeStatement(writer, head, sql, width, lists);
}

function writeAll(writer: CellWriter, statements: readonly StatementLists[], order: readonly number[]): void {
  writer.word(RUN);
  writer.word(statements.length);
  writer.word(order.length);
  const heads = writer.length;
  const widths = statements.map(({ lists }) => widthOf(lists));
  for (const [index, { flags, lists }] of statements.entries()) writeHead(writer, flags, widths[index]!, lists.length);
  if (statements.length !== 1) for (const statement of order) writer.word(statement);
  for (const [index, { sql, lists }] of statements.entries()) {
    writeStatement(writer, heads + HEAD_BYTES * index, sql, widths[index]!, lists);
  }
}

function writeRows(
  writer: CellWriter,
  table: string,
  columns: readonly string[],
  rows: readonly ParameterList[],
): void {
  writer.word(INSERT);
  writer.word(columns.length);
  writer.word(rows.length);
  const sizes = writer.length;
  for (let index = 0; index < columns.length + 2; index += 1) writer.word(0);
  writer.setWord(sizes, writer.text(table));
  for (const [index, column] of columns.entries()) writer.setWord(sizes + 4 * (index + 1), writer.text(column));
  const start = writer.length;
  writeLists(writer, rows, columns.length, 'row');
  writer.setWord(sizes + 4 * (columns.length + 1), writer.length - start);
}

/** Writes the header words of a statement. `writeStatement` fills in its sizes. */
function writeHead(writer: CellWriter, flags: number, width: number, lists: number): void {
  writer.word(flags);
  writer.word(width);
  writer.word(lists);
  writer.word(0);
  writer.word(0);
}

function writeStatement(
  writer: CellWriter,
  head: number,
  sql: string,
  width: number,
  lists: readonly ParameterList[],
): void {
  writer.setWord(head + 12, writer.text(sql));
  const start = writer.length;
  writeLists(writer, lists, width, 'list');
  writer.setWord(head + 16, writer.length - start);
}

/** The number of values in each list, taken from the first one. */
function widthOf(lists: readonly ParameterList[]): number {
  const [list] = lists;
  if (list === undefined) return 0;
  if (!Array.isArray(list)) throw invalidArgument('parameters must be arrays of values, for each ?');
  return list.length;
}

/** Writes exactly `width` values per list, even if a list reports another length the next time. */
function writeLists(writer: CellWriter, lists: readonly ParameterList[], width: number, what: string): void {
  for (let index = 0; index < lists.length; index += 1) {
    const list = lists[index]!;
    if (!Array.isArray(list) || list.length !== width) {
      throw invalidArgument(`${what} ${index} is not an array of ${width} values, as the others are`);
    }
    try {
      writer.list(list, width);
    } catch (error) {
      if (lists.length === 1 || !(error instanceof BoundaryError)) throw error;
      throw new BoundaryError(error.code, `${what} ${index}, ${error.message}`);
    }
  }
}
