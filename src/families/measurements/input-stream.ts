/** The input of the lanes that take Arrow IPC streams. */
import { flechette, library } from '../../clients/flechette.js';
import type { MeasurementColumns } from '../../clients/measurement-table.js';
import { ColumnBatch, type RowRange, batchesOf, newColumns } from './rows.js';

const { tableFromIPC, tableToIPC } = library;

/**
 * Memory for the Arrow IPC stream of one piece of input. The stream is encoded once per number of rows. After that its
 * columns are filled in place. The bytes that `make` returns are valid until the next `make`.
 */
export class InputStream {
  #rows = 0;
  #bytes: Uint8Array = new Uint8Array();
  #batches: readonly ColumnBatch[] = [];

  make(piece: RowRange): Uint8Array {
    if (piece.rows !== this.#rows) this.#encode(piece);
    [...batchesOf(piece)].forEach((part, index) => this.#batches[index]?.make(part));
    return this.#bytes;
  }

  #encode(piece: RowRange): void {
    this.#bytes = encodeStream(newColumns(piece.rows));
    const batches = flechette.toBatches(tableFromIPC(this.#bytes, { useBigInt: true }));
    if (batches.some(({ timestamp }) => timestamp.buffer !== this.#bytes.buffer)) {
      throw new Error('the decoded columns do not lie in the bytes of the stream');
    }
    this.#rows = piece.rows;
    this.#batches = batches.map((columns) => new ColumnBatch(columns));
  }
}

/** Encodes these columns as an Arrow IPC stream, in batches. */
export function encodeStream({ id, sensor_id, value, timestamp }: MeasurementColumns): Uint8Array {
  const batches = [...batchesOf({ start: 0, rows: id.length })].map(({ start, rows }) => ({
    id: id.subarray(start, start + rows),
    sensor_id: sensor_id.subarray(start, start + rows),
    value: value.subarray(start, start + rows),
    timestamp: timestamp.subarray(start, start + rows),
  }));
  const table = flechette.fromBatches(batches);
  // Flechette has no way of saying so, and some readers refuse a stream whose schema differs from the table's.
  for (const field of table.schema.fields) field.nullable = field.name !== 'id';
  const bytes = tableToIPC(table, { format: 'stream' });
  if (bytes === null) throw new Error('flechette returned no bytes');
  return bytes;
}
