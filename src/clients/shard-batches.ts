/**
 * Rows of shards as messages of an Arrow stream, read and made by `@uwdata/flechette`, since the side `js` uses nothing native.
 */
import type { Column as Columns, DataType } from '@uwdata/flechette';

import { PAYLOAD_BYTES } from '../library/shards/shard-row.js';
import type { ArrowMessage } from '../library/shards/shard-filling.js';
import { library } from './flechette.js';
import type { GrpcPiece } from './grpc-js.js';

const { Column, batchType, fixedSizeBinary, float64, int32, int64, tableFromColumns, tableFromIPC, tableToIPC } =
  library;

/** Rows as columns. */
export interface RowColumns {
  readonly keys: BigInt64Array;
  readonly quantities: Int32Array;
  readonly prices: Float64Array;
  readonly updatedAt: BigInt64Array;
  readonly payloads: Uint8Array;
}

/** The rows of a message, which are read where they lie: their columns begin at any byte. */
export interface RowBatch {
  readonly rows: number;
  readonly body: DataView;
  /** The offsets in the body of the keys, quantities, prices, times of update, and payloads. */
  readonly columns: readonly [number, number, number, number, number];
}

/** The places of the rows in the bodies of all messages with the same header. */
interface Layout extends Pick<RowBatch, 'rows' | 'columns'> {
  readonly header: Buffer;
  readonly bodyBytes: number;
}

/** Reads the messages of one stream. */
export class BatchReader {
  #schema: Buffer | undefined;
  #layout: Layout | undefined;

  /** The rows of a message; `undefined` if it has none. */
  add({ ipc_header: header, ipc_body: body }: GrpcPiece): RowBatch | undefined {
    if (this.#schema === undefined) {
      this.#schema = header;
      return undefined;
    }
    if (body.byteLength === 0) return undefined;
    let layout = this.#layout;
    // Blocks of as many rows have the same header, so that few headers are parsed.
    if (layout?.bodyBytes !== body.byteLength || !layout.header.equals(header)) {
      layout = this.#layout = layoutOf(this.#schema, header, body.byteLength);
    }
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    return { rows: layout.rows, body: view, columns: layout.columns };
  }
}

/** The layout of a batch, as flechette reads it from the header before a body of zeros. */
function layoutOf(schema: Buffer, header: Buffer, bodyBytes: number): Layout {
  const message = new Uint8Array(header.byteLength + bodyBytes);
  message.set(header);
  const table = tableFromIPC([schema, message], { useBigInt: true });
  const columns = table.children.map(({ data }) => (data[0]!.values as Uint8Array).byteOffset - header.byteLength);
  return { header: Buffer.from(header), bodyBytes, rows: table.numRows, columns: columns as never };
}

/** A batch to be filled, with its message. */
export interface NewBatch {
  readonly columns: RowColumns;
  readonly message: ArrowMessage;
}

/** Makes batches of rows for one stream. */
export class BatchWriter {
  /** The messages of a batch, by its number of rows. */
  readonly #headers = new Map<
    number,
    { readonly schema: Buffer; readonly header: Buffer; readonly bodyBytes: number }
  >();

  /** The first message of the stream. */
  get schema(): Buffer {
    return this.#of(1).schema;
  }

  /** Makes a batch of `rows` rows, all zero. Its columns are views of the piece's body. */
  batch(rows: number): NewBatch {
    const { header, bodyBytes } = this.#of(rows);
    const body = new ArrayBuffer(bodyBytes);
    let offset = 0;
    const place = (bytes: number): number => {
      const start = offset;
      offset = Math.ceil((offset + bytes) / 8) * 8;
      return start;
    };
    const columns = {
      keys: new BigInt64Array(body, place(rows * 8), rows),
      quantities: new Int32Array(body, place(rows * 4), rows),
      prices: new Float64Array(body, place(rows * 8), rows),
      updatedAt: new BigInt64Array(body, place(rows * 8), rows),
      payloads: new Uint8Array(body, place(rows * PAYLOAD_BYTES), rows * PAYLOAD_BYTES),
    };
    return { columns, message: { header, body: new Uint8Array(body) } };
  }

  #of(rows: number): { readonly schema: Buffer; readonly header: Buffer; readonly bodyBytes: number } {
    let known = this.#headers.get(rows);
    if (known === undefined) {
      known = messagesOf(rows);
      this.#headers.set(rows, known);
    }
    return known;
  }
}

/** The last message of a stream. */
export const END_MESSAGE: Buffer = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/** The separate messages of a stream with one batch of `rows` rows. */
function messagesOf(rows: number): { schema: Buffer; header: Buffer; bodyBytes: number } {
  const column = <T>(type: DataType, values: T): Columns<unknown> => {
    const Batch = batchType(type, { useBigInt: true }) as unknown as new (options: object) => never;
    return new Column([new Batch({ length: rows, nullCount: 0, type, values, validity: new Uint8Array(0) })], type);
  };
  const table = tableFromColumns([
    ['key', column(int64(), new BigInt64Array(rows))],
    ['quantity', column(int32(), new Int32Array(rows))],
    ['price', column(float64(), new Float64Array(rows))],
    ['updated_at', column(int64(), new BigInt64Array(rows))],
    ['payload', column(fixedSizeBinary(PAYLOAD_BYTES), new Uint8Array(rows * PAYLOAD_BYTES))],
  ]);
  const stream = Buffer.from(tableToIPC(table, { format: 'stream' })!);
  const headerEnd = (start: number): number => start + 8 + stream.readInt32LE(start + 4);
  const schemaEnd = headerEnd(0);
  const bodyStart = headerEnd(schemaEnd);
  return {
    schema: Buffer.from(stream.subarray(0, schemaEnd)),
    header: Buffer.from(stream.subarray(schemaEnd, bodyStart)),
    bodyBytes: stream.byteLength - END_MESSAGE.byteLength - bodyStart,
  };
}
