import type { Statement } from '../../addon.js';
import { BoundaryError } from '../../errors.js';
import { cancellable, readWorkOptions, type WorkOptions } from '../crossing/cancellation.js';
import { collectRows } from './collect-rows.js';
import { ColumnarStream } from './columnar-stream.js';
import { type OpenHandle, OpenHandles } from '../crossing/open-handles.js';
import { type ParameterInput, toRawParameters } from './parameters.js';
import { type QueryOptions, type QuerySource, readQueryOptions, RUN_OPTIONS } from './query-run.js';
import type { Row } from './row-reader.js';
import { RowStream } from './row-stream.js';
import { SqlType } from './sql-type.js';

/** Options of a command. */
export type CommandOptions = WorkOptions & Pick<QueryOptions, 'parameters'>;

/** Options of a prepared statement that runs as a query. */
export type StatementOptions = Omit<QueryOptions, 'parameters' | 'readAhead'>;

/**
 * A statement that was prepared once. Each run is given its parameters, as in `QueryOptions.parameters`. Several runs may be
 * under way at once, also beside a stream of rows that is not read to its end.
 */
export class PreparedStatement implements OpenHandle, AsyncDisposable {
  /** The types of the parameters; undefined if a type is open until there is a value. */
  readonly parameterTypes: readonly (SqlType | undefined)[];
  readonly #raw: Statement;
  readonly #owner: OpenHandles;
  readonly #handles = new OpenHandles('the prepared statement');
  #closing: Promise<void> | undefined;

  /** @internal Use `Connection.prepare`. */
  constructor(raw: Statement, owner: OpenHandles) {
    this.#raw = raw;
    this.#owner = owner;
    this.parameterTypes = Object.freeze(
      raw.parameters.map((spec) => (spec === null ? undefined : SqlType.fromSpec(spec!))),
    );
    owner.add(this);
  }

  /** Like `Connection.execute`: resolves to the number of rows changed. */
  async execute(parameters: readonly ParameterInput[] = [], options: WorkOptions = {}): Promise<number> {
    const limits = readWorkOptions(options);
    const values = toRawParameters(parameters);
    this.#assertOpen();
    // Awaited, since the connection holds the statement weakly and must find it while it runs.
    return await cancellable(this.#handles, limits, (token) => this.#raw.execute(values, token));
  }

  /** Like `Connection.executeQuery`. */
  async executeQuery<T extends object = Row>(
    parameters: readonly ParameterInput[] = [],
    options: StatementOptions = {},
  ): Promise<T[]> {
    return (await collectRows(this.#query(parameters, options))) as object[] as T[];
  }

  /** Like `Connection.executeQueryStream`. */
  executeQueryStream<T extends object = Row>(
    parameters: readonly ParameterInput[] = [],
    options: StatementOptions = {},
  ): RowStream<T> {
    return new RowStream<T>(this.#query(parameters, options));
  }

  /** Like `Connection.executeQueryColumnar`. */
  executeQueryColumnar(parameters: readonly ParameterInput[] = [], options: StatementOptions = {}): ColumnarStream {
    return new ColumnarStream(this.#query(parameters, options));
  }

  /** Like `Connection.executeQueryToArrow`. */
  async executeQueryToArrow(
    parameters: readonly ParameterInput[] = [],
    options: Omit<StatementOptions, 'int64'> = {},
  ): Promise<Uint8Array> {
    const read = readQueryOptions(options, RUN_OPTIONS);
    const values = toRawParameters(parameters);
    this.#assertOpen();
    const buffer = await cancellable(this.#handles, read, (token) =>
      this.#raw.queryToArrow(values, read.batchRows, token),
    );
    return new Uint8Array(buffer);
  }

  /** Cancels running work, and releases the statement. Does nothing the second time. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    this.#owner.delete(this);
    await this.#handles.closeAll();
    await this.#raw.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new BoundaryError('BB_CLOSED', 'the prepared statement is closed');
  }

  #query(parameters: readonly ParameterInput[], options: StatementOptions): QuerySource {
    const read = readQueryOptions(options, RUN_OPTIONS);
    const values = toRawParameters(parameters);
    return {
      options: read,
      handles: this.#handles,
      assertOpen: () => this.#assertOpen(),
      start: ({ batchRows }, token) => this.#raw.query(values, batchRows, token),
    };
  }
}
