/**
 * The tables of RonDB's benchmarks as `bench/matrix.json` describes them, the requests that read them, and the sums of
 * their values, as `native/suite/src/rest/data.rs` has them.
 */
import type { JsonValues } from '../../library/codecs/json-paths.js';
import type { Checksum } from '../../records/record.js';
import { familyMatrix } from '../matrix.js';
import type { RequestMatrix, RequestWorkload } from '../requests/grid.js';

interface RestWorkload extends RequestWorkload {
  /** The table of a workload that reads by primary key. */
  readonly table?: string;
}

interface RestMatrix extends RequestMatrix<RestWorkload> {
  readonly database: string;
  readonly rows: number;
  /** Spreads the operations over the rows. It has no common divisor with their number. */
  readonly stride: number;
  /** The bytes of a binary key: zeros, then the row's number, little-endian. */
  readonly binaryKeyBytes: number;
  /** The most connections of one requester that sends a batch as single reads. */
  readonly mostConnections: number;
  /** The most operations of a batch on older servers. Newer servers take any number. */
  readonly oldBatch: number;
  readonly aggregation: {
    readonly scaleFactor: number;
    readonly database: string;
    readonly lastShipdate: string;
    readonly columns: readonly string[];
    readonly query: string;
  };
  /** The number of digits with which each text begins: the number of its column, counted through the columns of all rows before it. */
  readonly digits: number;
  /** The base of the digits. */
  readonly radix: number;
  /** The character that fills a text up behind the digits. */
  readonly filler: string;
  /** Each column outside the key holds a text of its own, of `bytes` bytes. */
  readonly tables: Readonly<
    Record<string, { readonly key: 'int' | 'binary'; readonly columns: number; readonly bytes: number }>
  >;
}

const MATRIX = familyMatrix<RestMatrix>('rest');

/** A client of the user's posts reads. Workloads that only a setting of ours does need more of a client. */
const clientWorkloads = MATRIX.lanes
  .filter(({ side, setting }) => side === 'js' && setting === undefined)
  .flatMap(({ workloads }) => workloads.filter((workload) => MATRIX.workloads[workload]!.table !== undefined));

export const REST_MATRIX: RestMatrix = { ...MATRIX, clientWorkloads };

export const BATCH_PATH = '/0.1.0/batch';

const { binaryKeyBytes: BINARY_KEY, stride: STRIDE } = REST_MATRIX;
const NUMBER_BYTES = 8;

/** The parts that the requests of a workload share. Making them is not measured. Writing the requests is. */
export class RestInput {
  /** The path of single reads. */
  readonly path: string;
  /** The names of the columns outside the key. */
  readonly names: readonly string[];
  /** The values of each row's columns, as JSON text. */
  readonly #values: readonly (readonly string[])[];
  readonly #keys: readonly string[];
  readonly #middle: string;
  readonly #operation: string;

  constructor(workload: string) {
    const { database, rows, digits, radix, filler, tables, workloads } = REST_MATRIX;
    const name = workloads[workload]!.table!;
    const { key, columns, bytes } = tables[name]!;
    const url = `${database}/${name}/pk-read`;
    this.names = Array.from({ length: columns }, (_, column) => `col${column}`);
    const read = this.names.map((column) => ({ column, dataReturnType: 'default' }));
    this.path = `/0.1.0/${url}`;
    const valueOf = (number: number): string =>
      // Made from bytes, since a concatenated string would be taken apart at its first comparison.
      Buffer.from(number.toString(radix).padStart(digits, '0').padEnd(bytes, filler)).toString(
        key === 'binary' ? 'base64' : 'latin1',
      );
    this.#values = Array.from({ length: rows }, (_, row) =>
      this.names.map((_name, column) => valueOf(row * columns + column)),
    );
    this.#keys = Array.from({ length: rows }, (_, row) =>
      key === 'binary' ? JSON.stringify(binaryKey(row)) : `${row}`,
    );
    this.#middle = `}],"readColumns":${JSON.stringify(read)},"operationId":"`;
    this.#operation = `{"method":"POST","relative-url":"${url}","body":`;
  }

  /** The body of the request of one operation. */
  read(operation: number): string {
    const key = this.#keys[this.#rowOf(operation)]!;
    return `{"filters":[{"column":"id0","value":${key}${this.#middle}${operation}"}`;
  }

  /** The values that the columns of an operation's row must have, as JSON text. */
  valuesOf(operation: number): readonly string[] {
    return this.#values[this.#rowOf(operation)]!;
  }

  #rowOf(operation: number): number {
    return (operation * STRIDE) % this.#keys.length;
  }

  /** The body of a batch. */
  batch(from: number, to: number): string {
    let operations = '';
    for (let operation = from; operation < to; operation += 1) {
      operations += `${operation === from ? '' : ','}${this.#operation}${this.read(operation)}}`;
    }
    return `{"operations":[${operations}]}`;
  }

  /** The checksum of all operations below `operations`. */
  expected(operations: number): Checksum {
    const count = BigInt(operations);
    const values = count * BigInt(this.names.length);
    return {
      rows: operations,
      sums: {
        operation: String((count * (count - 1n)) / 2n),
        value: String(values),
        bytes: String(values * BigInt(this.#values[0]![0]!.length)),
      },
    };
  }
}

function binaryKey(row: number): string {
  const key = Buffer.alloc(BINARY_KEY);
  key.writeBigUInt64LE(BigInt(row), BINARY_KEY - NUMBER_BYTES);
  return key.toString('base64');
}

/** The response to a single read. Older servers leave the code out. */
export interface RestRow {
  readonly operationId: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The response to a batch. */
export interface RestBatch {
  readonly result: readonly { readonly code: number; readonly body: RestRow }[];
}

/** The sums of the values read so far. */
export class RestSums {
  #rows = 0;
  #operations = 0;
  #values = 0;
  #bytes = 0;

  /**
   * Adds the answer to an operation, whose columns are in the order in which they were asked for. Neither the id of
   * another one nor a value of another row or column is added.
   */
  addRow({ operationId, data }: RestRow, input: RestInput, operation: number): void {
    const expected = input.valuesOf(operation);
    const { names } = input;
    let column = 0;
    this.#rows += 1;
    if (Number(operationId) === operation) this.#operations += operation;
    for (const name in data) {
      const value = data[name];
      if (value === expected[column] && name === names[column]) this.#values += 1;
      column += 1;
      this.#bytes += String(value).length;
    }
  }

  /** Adds values picked out of the response to a batch that begins with `from`: the operations' ids, and each column's by its name. */
  addPicked([ids, ...columns]: readonly JsonValues[], input: RestInput, from: number): void {
    this.#rows += ids!.length;
    for (let index = 0; index < ids!.length; index += 1) {
      if (Number(ids!.text(index)) === from + index) this.#operations += from + index;
    }
    for (const [column, values] of columns.entries()) {
      for (let index = 0; index < values.length; index += 1) {
        const value = values.text(index);
        if (value === input.valuesOf(from + index)[column]) this.#values += 1;
        this.#bytes += String(value).length;
      }
    }
  }

  /** Adds the response to a batch that begins with `from`. Its answers are in the order of the operations. */
  addBatch({ result }: RestBatch, input: RestInput, from: number): void {
    let operation = from;
    for (const { body } of result) this.addRow(body, input, operation++);
  }

  checksum(): Checksum {
    return {
      rows: this.#rows,
      sums: { operation: String(this.#operations), value: String(this.#values), bytes: String(this.#bytes) },
    };
  }
}
