/** Formats by the addon: by napi-rs as everyone uses it, and in memory of the caller that is made once. */
import { crossing } from '../../crossing-addon.js';
import type { StreamColumns } from '../../clients/stream-columns.js';
import type { BoundaryRecord } from '../boundary/functions.js';
import type { FormatWay } from './formats.js';
import { RecordColumns } from './record-columns.js';

const { codec } = crossing;

export const { jsonRecords, messagePackRecords } = codec;

/** The records and the bytes of their texts for which there is memory. */
const MOST_RECORDS = 64;
const MOST_TEXT_BYTES = 4096;

/** The rows and the bytes of their texts for which there is memory. */
const MOST_ROWS = 1024;
const MOST_ROW_TEXT_BYTES = 16 * 1024;

type RecordWay<Input> = FormatWay<Input, readonly BoundaryRecord[]>;

export function jsonColumns(): RecordWay<string> {
  return recordWay(codec.jsonReader());
}

export function messagePackColumns(): RecordWay<Uint8Array> {
  return recordWay(codec.messagePackReader());
}

function recordWay<Input>(read: (input: Input, numbers: Float64Array, texts: Uint8Array) => number): RecordWay<Input> {
  const columns = new RecordColumns(MOST_RECORDS, MOST_TEXT_BYTES);
  const { numbers, texts } = columns;
  return {
    use: (input) => columns.sum(read(input, numbers, texts)),
    valueOf: (input) => columns.records(read(input, numbers, texts)),
  };
}

export function arrowColumns(
  sumOf: (columns: StreamColumns, rows: number) => number,
): FormatWay<Uint8Array, StreamColumns> {
  const read = codec.arrowReader();
  const ids = new Int32Array(MOST_ROWS);
  const scores = new Float64Array(MOST_ROWS);
  const offsets = new Int32Array(MOST_ROWS + 1);
  const texts = new Uint8Array(MOST_ROW_TEXT_BYTES);
  const columns = { ids, scores, offsets, texts };
  return {
    use: (stream) => sumOf(columns, read(stream, ids, scores, offsets, texts)),
    valueOf(stream) {
      const rows = read(stream, ids, scores, offsets, texts);
      return {
        ids: ids.slice(0, rows),
        scores: scores.slice(0, rows),
        offsets: offsets.slice(0, rows + 1),
        texts: texts.slice(0, offsets[rows]),
      };
    },
  };
}
