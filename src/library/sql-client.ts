import { addon, type Cancel, type RawSqlClient } from '../addon.js';
import { BoundaryError, toBoundaryError } from '../errors.js';
import { cancellable, checkTimeout, checkWorkOptions, type WorkOptions } from './cancellation.js';
import type { Int64Mode } from './cell-readers.js';
import { CellWriter } from './cell-writer.js';
import { OpenHandles } from './open-handles.js';
import type { ParameterInput } from './parameters.js';
import { ResultShape, type SqlResult, SqlResults } from './sql-results.js';
import { fromColumnSpecs } from './table-definition.js';

/** The most connections of a client. */
const MOST_CONNECTIONS = 10_000;

const DEFAULT_CONNECTIONS = 10;

/** Flags of a statement in a submission. */
const PREPARED = 0;
const AS_TEXT = 1;

const NO_PARAMETERS: readonly ParameterInput[] = [];

export interface SqlClientOptions {
  /** Connections that may be open at a time, 10 where it is left out; they are opened as they are needed. */
  readonly connections?: number | undefined;
  /** The most milliseconds of each call that does not say itself; without it a call takes as long as it likes. */
  readonly timeoutMs?: number | undefined;
  /** As for queries: 64-bit integers as bigints where it is left out. */
  readonly int64?: Int64Mode | undefined;
}

/** One request of many. */
export interface SqlRequest {
  /** A statement, whose parameters are written `?`. */
  readonly sql: string;
  /** Its parameters; absent: none, and the statement is sent as text. */
  readonly parameters?: readonly ParameterInput[] | undefined;
}

/**
 * A client of servers that speak the MySQL wire: `mysql://user:password@host:port/database`, with `?socket=/path` or
 * `?tls=required`, `?tls=verify&tls-ca=/path.pem`.
 *
 * Each call takes a connection of its own, so calls under way at once don't wait for each other; with `connections: 1` all
 * share one session, its transactions and settings. When a connection is lost, what was under way is rejected: it may have
 * been executed or not, and is never sent again. A call that is aborted or takes too long is given up with its connection,
 * and the server asked to end it.
 */
export class SqlClient implements AsyncDisposable {
  readonly #raw: RawSqlClient;
  readonly #int64: Int64Mode;
  readonly #timeoutMs: number | undefined;
  readonly #handles = new OpenHandles('the client');
  readonly #shapes = new Map<number, ResultShape>();
  readonly #writer = new CellWriter();
  #isClosed = false;

  private constructor(raw: RawSqlClient, options: SqlClientOptions) {
    this.#raw = raw;
    this.#int64 = options.int64 ?? 'bigint';
    this.#timeoutMs = options.timeoutMs;
  }

  /** Connects and logs in. */
  static async connect(url: string, options: SqlClientOptions = {}): Promise<SqlClient> {
    if (typeof url !== 'string') throw invalid('the URL must be a string');
    const { connections = DEFAULT_CONNECTIONS, timeoutMs, int64 } = options;
    if (!(Number.isInteger(connections) && connections >= 1 && connections <= MOST_CONNECTIONS)) {
      throw invalid(`connections must be an integer of 1 to ${MOST_CONNECTIONS}, not ${String(connections)}`);
    }
    if (timeoutMs !== undefined) checkTimeout('timeoutMs', timeoutMs);
    if (int64 !== undefined && int64 !== 'bigint' && int64 !== 'number') {
      throw invalid(`int64 must be 'bigint' or 'number', not ${JSON.stringify(int64)}`);
    }
    const handles = new OpenHandles('the client');
    const raw = await cancellable(handles, { timeoutMs }, (token) =>
      addon.RawSqlClient.open(url, connections, undefined, token),
    );
    return new SqlClient(raw, options);
  }

  /** The server's name and version. */
  get version(): string {
    return this.#raw.version;
  }

  /** Asks whether the server is there. */
  ping(options?: WorkOptions): Promise<void> {
    return this.#call(options, (token) => this.#raw.ping(token));
  }

  /** Runs one statement, sent as text. */
  async query(sql: string, options?: WorkOptions): Promise<SqlResult> {
    checkText(sql);
    const results = await this.#submit(options, () => this.#writeOne(AS_TEXT, sql, [NO_PARAMETERS]));
    return results.at(0);
  }

  /** Runs one prepared statement; it is prepared once a connection. */
  async execute(sql: string, parameters = NO_PARAMETERS, options?: WorkOptions): Promise<SqlResult> {
    checkText(sql);
    const results = await this.#submit(options, () => this.#writeOne(PREPARED, sql, [parameters]));
    return results.at(0);
  }

  /** Makes sure that the server can prepare a statement. */
  async prepare(sql: string, options?: WorkOptions): Promise<SqlStatement> {
    checkText(sql);
    const parameterCount = await this.#call(options, (token) => this.#raw.prepare(sql, token));
    return new SqlStatement(this, sql, parameterCount);
  }

  /**
   * Runs one prepared statement with each of the lists, over one connection, all sent ahead of their answers. What fails
   * does not keep the others from running: ask the results for their `errors`.
   */
  async queryMany(
    sql: string,
    parameterLists: readonly (readonly ParameterInput[])[],
    options?: WorkOptions,
  ): Promise<SqlResults> {
    checkText(sql);
    checkList('the lists of parameters', parameterLists);
    return this.#submit(options, () => this.#writeOne(PREPARED, sql, parameterLists));
  }

  /** As `queryMany`, for statements that change something: each is a transaction of its own, unless one is open. */
  executeBatch(sql: string, rows: readonly (readonly ParameterInput[])[], options?: WorkOptions): Promise<SqlResults> {
    return this.queryMany(sql, rows, options);
  }

  /** Runs requests in their order over one connection, all sent ahead of their answers; see `queryMany`. */
  async run(requests: readonly SqlRequest[], options?: WorkOptions): Promise<SqlResults> {
    checkList('the requests', requests);
    const statements = new Map<string, number>();
    const order = requests.map(({ sql, parameters }) => {
      checkText(sql);
      const key = `${parameters === undefined ? AS_TEXT : PREPARED}${sql}`;
      const known = statements.get(key);
      if (known !== undefined) return known;
      statements.set(key, statements.size);
      return statements.size - 1;
    });
    return this.#submit(
      options,
      () => this.#writeAll([...statements.keys()], requests, order),
      (index) => order[index]!,
    );
  }

  /**
   * Inserts rows into columns of a table (`table` or `database.table`) in the fastest way that the server has, all of them
   * or none; within a transaction of the session they become part of it. Resolves to their number.
   */
  async insertRows(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly ParameterInput[])[],
    options?: WorkOptions,
  ): Promise<number> {
    checkText(table);
    checkList('the columns', columns);
    checkList('the rows', rows);
    const writer = this.#writer;
    return this.#call(options, (token) => {
      writer.clear();
      try {
        writeLists(writer, rows, columns.length, 'row');
        return this.#raw.insertRows(table, [...columns], writer.bytes, writer.length, rows.length, token);
      } finally {
        writer.clear();
      }
    });
  }

  /** Closes the connections; calls under way are rejected with `BB_CLOSED`. Does nothing the second time. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#handles.closeAll();
    await this.#raw.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #submit(
    options: WorkOptions | undefined,
    write: () => void,
    statementOf: (index: number) => number = first,
  ): Promise<SqlResults> {
    const writer = this.#writer;
    const buffer = await this.#call(options, (token) => {
      writer.clear();
      try {
        write();
        return this.#raw.run(writer.bytes, writer.length, token);
      } finally {
        writer.clear();
      }
    });
    return new SqlResults(buffer, this.#int64, this.#shapeOf, statementOf);
  }

  async #call<T>(options: WorkOptions | undefined, work: (token: Cancel | undefined) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new BoundaryError('BB_CLOSED', 'the client is closed');
    if (options === undefined && this.#timeoutMs === undefined) {
      try {
        return await work(undefined);
      } catch (thrown) {
        throw this.#isClosed ? new BoundaryError('BB_CLOSED', 'the client was closed') : toBoundaryError(thrown);
      }
    }
    const { signal, timeoutMs = this.#timeoutMs } = options ?? {};
    checkWorkOptions({ signal, timeoutMs });
    return cancellable(this.#handles, { signal, timeoutMs }, work);
  }

  /** One statement, with each of the lists. */
  #writeOne(flags: number, sql: string, lists: readonly (readonly ParameterInput[])[]): void {
    const writer = this.#writer;
    const width = widthOf(lists);
    writer.word(1);
    writer.word(lists.length);
    writer.word(flags);
    writer.word(width);
    writer.word(lists.length);
    const sizes = writer.length;
    writer.word(0);
    writer.word(0);
    writer.setWord(sizes, sqlBytes(writer, sql));
    const start = writer.length;
    writeLists(writer, lists, width, 'list');
    writer.setWord(sizes + 4, writer.length - start);
  }

  #writeAll(keys: readonly string[], requests: readonly SqlRequest[], order: readonly number[]): void {
    const writer = this.#writer;
    const lists: (readonly ParameterInput[])[][] = keys.map(() => []);
    for (const [index, { parameters }] of requests.entries()) lists[order[index]!]!.push(parameters ?? NO_PARAMETERS);
    writer.word(keys.length);
    writer.word(requests.length);
    const heads = writer.length;
    for (const [index, key] of keys.entries()) {
      writer.word(Number(key[0]));
      writer.word(widthOf(lists[index]!));
      writer.word(lists[index]!.length);
      writer.word(0);
      writer.word(0);
    }
    if (keys.length > 1) for (const statement of order) writer.word(statement);
    for (const [index, key] of keys.entries()) {
      const sizes = heads + 20 * index + 12;
      writer.setWord(sizes, sqlBytes(writer, key.slice(1)));
      const start = writer.length;
      writeLists(writer, lists[index]!, widthOf(lists[index]!), 'request');
      writer.setWord(sizes + 4, writer.length - start);
    }
  }

  readonly #shapeOf = (number: number): ResultShape => {
    const known = this.#shapes.get(number);
    if (known !== undefined) return known;
    const shape = new ResultShape(fromColumnSpecs(this.#raw.shape(number)), this.#int64);
    this.#shapes.set(number, shape);
    return shape;
  };
}

/** A statement that the server has prepared. */
export class SqlStatement {
  readonly sql: string;
  /** How many parameters it takes. */
  readonly parameterCount: number;
  readonly #client: SqlClient;

  /** @internal Use `SqlClient.prepare`. */
  constructor(client: SqlClient, sql: string, parameterCount: number) {
    this.#client = client;
    this.sql = sql;
    this.parameterCount = parameterCount;
  }

  /** Runs it once. */
  execute(parameters?: readonly ParameterInput[], options?: WorkOptions): Promise<SqlResult> {
    return this.#client.execute(this.sql, parameters, options);
  }

  /** Runs it with each of the lists; see `SqlClient.queryMany`. */
  queryMany(parameterLists: readonly (readonly ParameterInput[])[], options?: WorkOptions): Promise<SqlResults> {
    return this.#client.queryMany(this.sql, parameterLists, options);
  }
}

function first(): number {
  return 0;
}

function sqlBytes(writer: CellWriter, sql: string): number {
  const bytes = writer.text(sql);
  if (bytes < 0) throw invalid('the statement has a lone surrogate, which UTF-8 cannot hold');
  return bytes;
}

function widthOf(lists: readonly (readonly ParameterInput[])[]): number {
  const [list] = lists;
  if (list === undefined) return 0;
  if (!Array.isArray(list)) throw invalid('parameters must be arrays of values, for each ?');
  return list.length;
}

function writeLists(
  writer: CellWriter,
  lists: readonly (readonly ParameterInput[])[],
  width: number,
  what: string,
): void {
  for (let index = 0; index < lists.length; index += 1) {
    const list = lists[index]!;
    if (!Array.isArray(list) || list.length !== width) {
      throw invalid(`${what} ${index} is not an array of ${width} values, as the others are`);
    }
    try {
      writer.list(list);
    } catch (error) {
      if (lists.length === 1 || !(error instanceof BoundaryError)) throw error;
      throw new BoundaryError(error.code, `${what} ${index}, ${error.message}`);
    }
  }
}

function checkText(text: unknown): void {
  if (typeof text !== 'string') throw invalid('a statement, or the name of a table, must be a string');
}

function checkList(what: string, list: unknown): void {
  if (!Array.isArray(list)) throw invalid(`${what} must be in an array`);
}

function invalid(message: string): BoundaryError {
  return new BoundaryError('BB_INVALID_ARGUMENT', message);
}
