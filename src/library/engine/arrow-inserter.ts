import { types } from 'node:util';

import { invalidArgument } from '../../errors.js';
import type { Connection } from './connection.js';
import { InsertChannel } from './insert-channel.js';
import type { TableDefinition } from './table-definition.js';
import { bytesOf } from '../crossing/typed-memory.js';

/**
 * Adds Arrow IPC bytes to one table. Nothing is stored before `execute`. The streams and files must have the table's columns, by
 * name and in its order. Values of another type are stored if their column holds them exactly.
 *
 * @example
 * ```js
 * import { ArrowInserter, connect, SqlType, TableDefinition } from 'boundary-bench';
 *
 * const connection = await connect('embedded:');
 * const points = new TableDefinition('points', [{ name: 'id', type: SqlType.bigInt() }]);
 * await connection.createTable(points);
 * const bytes = await connection.executeQueryToArrow('SELECT range AS id FROM range(1000)');
 * const inserter = new ArrowInserter(connection, points);
 * if (!inserter.insert(bytes)) await inserter.drain();
 * console.log(await inserter.execute()); // 1000
 * await connection.close();
 * ```
 */
export class ArrowInserter implements AsyncDisposable {
  readonly #channel: InsertChannel;

  constructor(connection: Connection, definition: TableDefinition) {
    this.#channel = new InsertChannel(connection, definition);
  }

  /** Rows added so far. */
  get rowCount(): number {
    return this.#channel.rows;
  }

  /**
   * Adds bytes of Arrow's streaming or file format: a slice of a stream or file, a whole one, or several one after the other.
   * The bytes are copied. Returns false to ask that `drain` be awaited before more is added.
   *
   * Bytes that can't be read (`BB_INVALID_IPC`, and `BB_UNSUPPORTED` for big-endian values) or do not fit the table
   * (`BB_SCHEMA_MISMATCH`, `BB_INVALID_VALUE`) are not added. Rows added before stay, and the next bytes must begin a stream or
   * file.
   */
  insert(bytes: Uint8Array | ArrayBuffer): boolean {
    this.#channel.assertOpen();
    const view = readable(bytes);
    return this.#channel.send((raw) => raw.writeIpc(view));
  }

  /** Resolves when there is room for more bytes. Rejects with the error that stopped the insert. */
  drain(): Promise<void> {
    return this.#channel.drain();
  }

  /** Publishes all rows at once, or none if it fails. Resolves to the number of rows. */
  execute(): Promise<number> {
    return this.#channel.execute();
  }

  /** Drops all rows. Does nothing after `execute` or another `abort`. */
  abort(): Promise<void> {
    return this.#channel.abort();
  }

  /** Aborts the insert, unless it was executed. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }
}

function readable(bytes: unknown): Uint8Array {
  try {
    if (types.isUint8Array(bytes)) return bytesOf(bytes);
    if (types.isAnyArrayBuffer(bytes)) return bytesOf(new Uint8Array(bytes));
  } catch (cause) {
    throw invalidArgument('the memory of the Arrow IPC bytes is detached', { cause });
  }
  throw invalidArgument('insert takes the bytes of an Arrow IPC stream or file as a Uint8Array');
}
