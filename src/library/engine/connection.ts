import { addon, type Engine, type RawCreateMode } from '../../addon.js';
import { BoundaryError, explained, explainedAsync, invalidArgument } from '../../errors.js';
import { cancellable, readWorkOptions, WORK_OPTIONS, type WorkOptions } from '../crossing/cancellation.js';
import { describeValue } from '../crossing/describe-value.js';
import { collectRows } from './collect-rows.js';
import { ColumnarStream } from './columnar-stream.js';
import { OpenHandles } from '../crossing/open-handles.js';
import { checkLater, type OptionChecks, oneOf, readOptions } from '../crossing/options.js';
import { checkText } from '../crossing/well-formed.js';
import { openEngine } from './open-engine.js';
import { toRawParameters } from './parameters.js';
import { type CommandOptions, PreparedStatement } from './prepared-statement.js';
import { checkSql, type QueryOptions, type QuerySource, readQueryOptions } from './query-run.js';
import type { Row } from './row-reader.js';
import { RowStream } from './row-stream.js';
import { fromColumnSpecs, TableDefinition, toTableSpec } from './table-definition.js';

/** The behaviour of `createTable` if the table exists: `create` fails, `replace` drops it first, `ifNotExists` leaves it alone. */
export type CreateMode = 'create' | 'replace' | 'ifNotExists';

const CREATE_OPTIONS = { mode: oneOf('create', 'replace', 'ifNotExists') };
const COMMAND_OPTIONS: OptionChecks<CommandOptions> = { ...WORK_OPTIONS, parameters: checkLater };

/** The engine that holds the rows. */
export interface EngineInfo {
  readonly name: string;
  readonly version: string;
  /** Whether the engine runs SQL. Otherwise only `SELECT <columns> FROM <table>` works. */
  readonly sql: boolean;
}

/**
 * The raw engine of a connection, for the inserters. Throws `BB_CLOSED` if the connection is closed, and `BB_INVALID_ARGUMENT` for what
 * is no connection.
 */
export let engineOf: (connection: Connection) => Engine;

/** The handles that a connection must end when it closes. */
export let handlesOf: (connection: Connection) => OpenHandles;

/**
 * A connection to an engine. Every call is a transaction of its own, and several calls may be under way at once. On `embedded:` a
 * connection is a session: settings, variables, `USE` and temporary tables of one call are there for the next. All errors are
 * `BoundaryError`s with a stable `code`. After `close` it is `BB_CLOSED`.
 */
export class Connection implements AsyncDisposable {
  readonly engine: EngineInfo;
  readonly #raw: Engine;
  readonly #letGo: (raw: Engine) => Promise<void>;
  readonly #handles = new OpenHandles('the connection');
  #closing: Promise<void> | undefined;

  static {
    engineOf = (connection: unknown) => {
      if (typeof connection === 'object' && connection !== null && #raw in connection) return connection.#open();
      throw invalidArgument(`a connection is needed, not ${describeValue(connection)}`, {
        hint: 'Await the promise of connect()',
      });
    };
    handlesOf = (connection) => connection.#handles;
  }

  /** @internal Use `connect` or `attach`. */
  constructor(raw: Engine, letGo: (raw: Engine) => Promise<void> = (engine) => engine.close()) {
    this.#raw = raw;
    this.#letGo = letGo;
    this.engine = Object.freeze({ name: raw.name, version: raw.version, sql: raw.sql });
  }

  /** Creates a table. `mode` says what happens if it exists. Default: an error. */
  async createTable(
    definition: TableDefinition,
    options: { readonly mode?: CreateMode | undefined } = {},
  ): Promise<void> {
    const { mode = 'create' } = readOptions(options, CREATE_OPTIONS);
    await this.#call((engine) => engine.createTable(toTableSpec(definition), mode as RawCreateMode));
  }

  /**
   * The definition of a table. Rejects with `BB_TABLE_NOT_FOUND` if there is none. The table may be in a schema or, on `embedded:`,
   * in an attached database: `'s.t'`, `'db.s.t'`.
   */
  async describeTable(name: string): Promise<TableDefinition> {
    checkText('the name of a table', name);
    const spec = await this.#call((engine) => engine.describeTable(name));
    return new TableDefinition(spec.name, fromColumnSpecs(spec.columns));
  }

  /** The names of all tables, sorted. */
  listTables(): Promise<string[]> {
    return this.#call((engine) => engine.listTables());
  }

  /** Drops a table. Resolves to false if there was none. */
  async dropTable(name: string): Promise<boolean> {
    checkText('the name of a table', name);
    return this.#call((engine) => engine.dropTable(name));
  }

  /**
   * Runs commands in one transaction. Resolves to the number of rows changed. Rows that they return are dropped: `executeQuery`
   * reads the rows of `RETURNING`. With parameters it takes one command only.
   */
  async execute(sql: string, options: CommandOptions = {}): Promise<number> {
    checkSql(sql);
    const limits = readOptions(options, COMMAND_OPTIONS);
    const parameters = toRawParameters(limits.parameters);
    const engine = this.#open();
    return cancellable(this.#handles, limits, (token) => engine.execute(sql, token, parameters));
  }

  /**
   * Runs a query, or a command that returns the rows it changes (`RETURNING`, if the engine has it). Resolves to all its rows.
   * Rejects with `BB_RESULT_TOO_LARGE` if the result does not fit into V8's heap: stream it instead. The rows are plain objects of
   * one hidden class.
   */
  async executeQuery<T extends object = Row>(sql: string, options: QueryOptions = {}): Promise<T[]> {
    return (await collectRows(this.#query(sql, options))) as object[] as T[];
  }

  /** Runs a query whose rows are read one by one (`for await`), or in arrays by its `chunks()`. */
  executeQueryStream<T extends object = Row>(sql: string, options: QueryOptions = {}): RowStream<T> {
    return new RowStream<T>(this.#query(sql, options));
  }

  /** Runs a query whose rows are read as columns, chunk by chunk: the fastest lane out. */
  executeQueryColumnar(sql: string, options: QueryOptions = {}): ColumnarStream {
    return new ColumnarStream(this.#query(sql, options));
  }

  /** Runs a query. Resolves to its whole result as one Arrow IPC stream. */
  async executeQueryToArrow(sql: string, options: Omit<QueryOptions, 'int64' | 'readAhead'> = {}): Promise<Uint8Array> {
    checkSql(sql);
    const read = readQueryOptions(options);
    const parameters = toRawParameters(read.parameters);
    const engine = this.#open();
    const buffer = await cancellable(this.#handles, read, (token) =>
      engine.queryToArrow(sql, read.batchRows, token, parameters),
    );
    return new Uint8Array(buffer);
  }

  /** Prepares one statement, whose parameters are `$1`, `$2`, ... It can run any number of times, also concurrently. */
  async prepare(sql: string, options: WorkOptions = {}): Promise<PreparedStatement> {
    checkSql(sql);
    const limits = readWorkOptions(options);
    const engine = this.#open();
    const raw = await cancellable(this.#handles, limits, (token) => engine.prepare(sql, token));
    const statement = new PreparedStatement(raw, this.#handles);
    if (this.#closing !== undefined) {
      await statement.close();
      this.#open();
    }
    return statement;
  }

  /** A handle by which worker threads of this process use the same engine, each in a session of its own: `attach(handle)`. */
  share(): string {
    return explained(() => this.#open().share());
  }

  /** Cancels running work, aborts open inserters, and releases the engine. Does nothing the second time. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    await this.#handles.closeAll();
    await this.#letGo(this.#raw);
  }

  #open(): Engine {
    if (this.#closing !== undefined) throw new BoundaryError('BB_CLOSED', 'the connection is closed');
    return this.#raw;
  }

  #query(sql: string, options: QueryOptions): QuerySource {
    checkSql(sql);
    const read = readQueryOptions(options);
    const parameters = toRawParameters(read.parameters);
    return {
      options: read,
      handles: this.#handles,
      assertOpen: () => void this.#open(),
      start: ({ batchRows, readAhead }, token) => {
        if (readAhead) return this.#open().query(sql, batchRows, token, parameters);
        if (parameters.length === 0) return this.#open().queryOnDemand(sql, batchRows, token);
        throw invalidArgument('readAhead: false is for queries without parameters');
      },
    };
  }

  #call<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
    return explainedAsync(() => work(this.#open()));
  }
}

/**
 * Connects to an engine or to a server. Engines are `embedded:` (in memory), `embedded::memory:name` (shared by that name in this
 * process) and `embedded:/path/to/file.duckdb`, each with DuckDB's settings as `?name=value`. The engine `memory:` only ingests and
 * scans whole tables. Servers are `hyper:...`, `mysql:...`, or any Arrow Flight SQL server, `flight://host:port` and
 * `flight+tls://user:password@host:port`. `flight:` alone starts a private server.
 *
 * @example
 * ```js
 * import { connect } from 'boundary-bench';
 *
 * const connection = await connect('embedded:');
 * await connection.execute("CREATE TABLE people AS SELECT 1 AS id, 'Ada' AS name");
 * console.log(await connection.executeQuery('SELECT * FROM people')); // [{ id: 1, name: 'Ada' }]
 * await connection.close();
 * ```
 */
export function connect(uri = 'embedded:'): Promise<Connection> {
  return explainedAsync(async () => {
    checkText('the URI of an engine', uri);
    return new Connection(await openEngine(uri));
  });
}

/**
 * Connects to the engine that another thread of this process shared: `handle` is the value that `share()` returned there.
 *
 * @example
 * ```js
 * import { attach, connect } from 'boundary-bench';
 *
 * const connection = await connect('embedded:');
 * const handle = connection.share(); // a text, for another thread of this process
 * const other = attach(handle); // in that thread
 * console.log(await other.executeQuery('SELECT 1 AS id')); // [{ id: 1 }]
 * await other.close();
 * await connection.close();
 * ```
 */
export function attach(handle: string): Connection {
  checkText('the handle of an engine', handle);
  return explained(() => new Connection(addon.Engine.attach(handle)));
}
