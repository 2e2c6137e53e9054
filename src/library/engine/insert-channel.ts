import type { RawInserter } from '../../addon.js';
import { BoundaryError, explained, toBoundaryError } from '../../errors.js';
import { type Connection, engineOf, handlesOf } from './connection.js';
import type { OpenHandle } from '../crossing/open-handles.js';
import { type TableDefinition, toTableSpec } from './table-definition.js';

/** The reason why an insert takes no more rows. */
type Ending = 'executed' | 'aborted' | 'connection closed' | BoundaryError;

/** The path of an insert's batches into the engine, shared by all inserters: state, backpressure and end. */
export class InsertChannel implements OpenHandle {
  readonly #raw: RawInserter;
  readonly #connection: Connection;
  #ending: Ending | undefined;
  #mayGoOn = true;

  constructor(connection: Connection, definition: TableDefinition) {
    this.#connection = connection;
    this.#raw = explained(() => engineOf(connection).inserter(toTableSpec(definition)));
    handlesOf(connection).add(this);
  }

  /** False if `drain` is to be awaited before more rows are added. */
  get mayGoOn(): boolean {
    return this.#mayGoOn;
  }

  /** The number of rows that have crossed. */
  get rows(): number {
    return this.#raw.rows;
  }

  /** Whether the insert was executed or aborted, or has failed. */
  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Throws if the insert has ended, with the reason. */
  assertOpen(): void {
    if (this.#ending === undefined) return;
    if (this.#ending instanceof BoundaryError) throw this.#ending;
    const how = this.#ending === 'connection closed' ? 'its connection was closed' : `it was ${this.#ending}`;
    throw new BoundaryError('BB_CLOSED', `the inserter is closed: ${how}`);
  }

  /** Writes to the raw inserter by `write`. Values that do not fit leave the insert unchanged. */
  send(write: (raw: RawInserter) => boolean): boolean {
    this.assertOpen();
    try {
      if (!write(this.#raw)) this.#mayGoOn = false;
      return this.#mayGoOn;
    } catch (thrown) {
      const error = toBoundaryError(thrown);
      if (!REFUSALS.has(error.code)) this.#end(error);
      throw error;
    }
  }

  /** Ends the insert after an error that cost it some of its rows. */
  fail(error: BoundaryError): void {
    if (this.#ending !== undefined) return;
    this.#end(error);
    void this.#raw.abort();
  }

  /** Resolves when there is room for more rows. Rejects with the error that stopped the insert. */
  async drain(): Promise<void> {
    this.assertOpen();
    try {
      await this.#raw.drained();
      this.#mayGoOn = true;
    } catch (thrown) {
      if (this.#ending === undefined) this.#end(toBoundaryError(thrown));
      this.assertOpen();
    }
  }

  /** Publishes all rows, or none if it fails. Resolves to the number of rows. */
  async execute(): Promise<number> {
    this.assertOpen();
    this.#ending = 'executed';
    try {
      return await this.#raw.execute();
    } catch (thrown) {
      // An abort or a close in the meantime explains the error better.
      if (this.#ending !== 'executed') this.assertOpen();
      this.#ending = toBoundaryError(thrown);
      throw this.#ending;
    } finally {
      handlesOf(this.#connection).delete(this);
    }
  }

  /** Drops all rows. Does nothing after the end of the insert. */
  abort(): Promise<void> {
    return this.#drop('aborted');
  }

  /** Aborts the insert, because the connection closes. */
  close(): Promise<void> {
    return this.#drop('connection closed');
  }

  async #drop(ending: Ending): Promise<void> {
    if (this.#ending !== undefined) return;
    this.#end(ending);
    await this.#raw.abort();
  }

  #end(ending: Ending): void {
    this.#ending = ending;
    handlesOf(this.#connection).delete(this);
  }
}

/** Errors that reject the input, and leave the insert unchanged. */
const REFUSALS: ReadonlySet<string> = new Set([
  'BB_INVALID_VALUE',
  'BB_INVALID_ARGUMENT',
  'BB_SCHEMA_MISMATCH',
  'BB_INVALID_IPC',
  'BB_UNSUPPORTED',
]);
