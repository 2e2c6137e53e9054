/**
 * JSON, MessagePack and Arrow IPC. `native/suite/src/codec/formats.rs` has the same in Rust. Of each result, all sides
 * read the same:
 *
 * - `json_parse`, `msgpack_decode`: each field of each of ten records, of a text the last character.
 * - `arrow_decode`: both numbers of each of 1000 rows, and the length and last byte of its text. No side makes strings of the texts.
 *
 * JSON is a string in Node, as `JSON.parse` takes it. Copying it into native memory is a part of the crossing.
 */
import { isDeepStrictEqual } from 'node:util';
import { checksumMismatch } from '../../errors.js';
import type { StreamColumns } from '../../clients/stream-columns.js';
import { type BoundaryRecord, sumOfRecord, RECORDS } from '../boundary/functions.js';
import { eachTurn, inTurn, sumOfTurns } from '../in-process.js';
import type { CodecCell, Topic } from './topic.js';
import { crossing } from '../../crossing-addon.js';
import { RecordColumns } from './record-columns.js';

/** A way to do the work of a workload. */
export interface FormatWay<Input, Value> {
  /** Does the work once, and returns what is read of its result. */
  use(input: Input): number;
  /** Does the work once, and returns its whole result. */
  valueOf(input: Input): Value;
}

/** A workload: what it works on, what that becomes, and the ways to do it, by lane and client. */
export interface FormatWork<Input, Value> {
  /** The inputs, in turn. They are made at each call. */
  inputs(): readonly Input[];
  /** The results of those inputs. They are made at each call. */
  values(): readonly Value[];
  /** Reads a result, and returns the sum of the parts that are read. */
  read(value: Value): number;
  readonly ways: Readonly<Record<string, () => Promise<FormatWay<Input, Value>> | FormatWay<Input, Value>>>;
}

/** A way whose result is read as it is. */
function reading<Input, Value>(
  read: (value: Value) => number,
  valueOf: (input: Input) => Value,
): FormatWay<Input, Value> {
  return { use: (input) => read(valueOf(input)), valueOf };
}

/** The sum of the fields of records. */
export function sumOfRecords(records: readonly BoundaryRecord[]): number {
  let sum = 0;
  for (let place = 0; place < records.length; place += 1) sum += sumOfRecord(records[place]!);
  return sum;
}

/** The sum of the numbers of rows, and of the length and last byte of their texts. */
export function sumOfColumns(columns: StreamColumns): number {
  return sumOfRows(columns, columns.ids.length);
}

/** The same of the first `rows` rows. */
function sumOfRows({ ids, scores, offsets, texts }: StreamColumns, rows: number): number {
  let sum = 0;
  let from = offsets[0]!;
  for (let row = 0; row < rows; row += 1) {
    const to = offsets[row + 1]!;
    sum += ids[row]! + scores[row]! + (to - from) + (to > from ? texts[to - 1]! : 0);
    from = to;
  }
  return sum;
}

const native = async () => import('./native-formats.js');

const jsonWork: FormatWork<string, readonly BoundaryRecord[]> = {
  inputs: () => eachTurn(jsonOf),
  values: () => eachTurn(recordsOf),
  read: sumOfRecords,
  ways: {
    'objects/napi-rs': async () => reading(sumOfRecords, (await native()).jsonRecords),
    'frame/frame': async () => (await native()).jsonColumns(),
    call: () => reading(sumOfRecords, (json) => JSON.parse(json) as BoundaryRecord[]),
  },
};

const messagePackWork: FormatWork<Uint8Array, readonly BoundaryRecord[]> = {
  inputs: () => eachTurn(messagePackOf),
  values: () => eachTurn(recordsOf),
  read: sumOfRecords,
  ways: {
    'objects/napi-rs': async () => reading(sumOfRecords, (await native()).messagePackRecords),
    'frame/frame': async () => (await native()).messagePackColumns(),
    'call/msgpackr': async () => {
      const { unpacker } = await import('../../clients/msgpackr.js');
      return reading(sumOfRecords, unpacker() as (bytes: Uint8Array) => BoundaryRecord[]);
    },
  },
};

const arrowWork: FormatWork<Uint8Array, StreamColumns> = {
  inputs: () => eachTurn(streamOf),
  values: () => eachTurn(columnsOf),
  read: sumOfColumns,
  ways: {
    'columns/frame': async () => (await native()).arrowColumns(sumOfRows),
    'columns/apache-arrow': async () =>
      reading(sumOfColumns, (await import('../../clients/apache-arrow.js')).columnsOfStream),
    'columns/flechette': async () =>
      reading(sumOfColumns, (await import('../../clients/flechette.js')).columnsOfStream),
  },
};

/** Any of the workloads: what its inputs are matters to itself alone. */
type AnyWork = FormatWork<never, never>;

const WORKS: Readonly<Record<string, AnyWork>> = {
  json_parse: jsonWork as AnyWork,
  msgpack_decode: messagePackWork as AnyWork,
  arrow_decode: arrowWork as AnyWork,
};

export const formatTopic: Topic = {
  resultOf({ workload }, operations) {
    const { values, read } = workOf(workload);
    return sumOfTurns(values().map(read), operations);
  },

  async open(cell) {
    const inputs = workOf(cell.workload).inputs();
    const { use } = await wayOf(cell);
    return inTurn(inputs, use);
  },

  async verify(cell) {
    verifyWay(cell, workOf(cell.workload), await wayOf(cell));
  },
};

function workOf(workload: string): AnyWork {
  const work = WORKS[workload];
  if (work === undefined) throw new Error(`the family codec has no format ${workload}`);
  return work;
}

async function wayOf({ workload, lane, client }: CodecCell): Promise<FormatWay<never, never>> {
  const way = workOf(workload).ways[client === undefined ? lane : `${lane}/${client}`];
  if (way === undefined) throw new Error(`${workload} has no lane ${lane} by ${client ?? 'JavaScript'}`);
  return way();
}

/** Does the work of each input by a way, and compares each result as a whole. Throws a `BoundaryError` for the first wrong one. */
export function verifyWay<Input, Value>(
  { workload, lane }: Pick<CodecCell, 'workload' | 'lane'>,
  { inputs, values, read }: Pick<FormatWork<Input, Value>, 'inputs' | 'values' | 'read'>,
  { use, valueOf }: FormatWay<Input, Value>,
): void {
  const results = values();
  for (const [place, input] of inputs().entries()) {
    const value = results[place]!;
    const found = valueOf(input);
    const problem = differenceOf(found, value);
    if (problem !== undefined) throw checksumMismatch(`${workload}, ${lane}: result ${place}${problem}`);
    if (use(input) !== read(value))
      throw checksumMismatch(`${workload}, ${lane}: what is read of result ${place} is wrong`);
  }
}

/** The place where two values differ; `undefined` if they are equal. Views of different classes over equal bytes are equal. */
function differenceOf(found: unknown, expected: unknown): string | undefined {
  if (ArrayBuffer.isView(expected)) {
    const isEqual = ArrayBuffer.isView(found) && bytesOfView(found).equals(bytesOfView(expected));
    return isEqual ? undefined : ' has other bytes';
  }
  if (typeof expected !== 'object' || expected === null) {
    return Object.is(found, expected) ? undefined : ` is ${String(found)}`;
  }
  if (isDeepStrictEqual(found, expected)) return undefined;
  if (Array.isArray(expected)) {
    const items = Array.isArray(found) ? (found as unknown[]) : [];
    const place = expected.findIndex((item, index) => !isDeepStrictEqual(items[index], item));
    return place === -1 ? ` has ${items.length} items` : `, item ${place}: ${JSON.stringify(items[place])}`;
  }
  const fields = (found ?? {}) as Record<string, unknown>;
  for (const [name, value] of Object.entries(expected)) {
    const problem = differenceOf(fields[name], value);
    if (problem !== undefined) return `, ${name}${problem}`;
  }
  return undefined;
}

function bytesOfView({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

const RECORDS_OF_DOCUMENT = 10;
const ROWS = 1000;

/** The records of a document. The records of each turn have ids of their own. */
export function recordsOf(turn: number): BoundaryRecord[] {
  const first = 1 + turn * RECORDS_OF_DOCUMENT;
  return Array.from({ length: RECORDS_OF_DOCUMENT }, (_, place) => ({ ...RECORDS[0]!, id: first + place }));
}

export function jsonOf(turn: number): string {
  return crossing.codec.jsonDocument(turn);
}

export function messagePackOf(turn: number): Uint8Array {
  return crossing.codec.messagePackDocument(turn);
}

export function streamOf(turn: number): Uint8Array {
  return crossing.codec.arrowDocument(turn);
}

/** The columns of the stream of a turn. */
export function columnsOf(turn: number): StreamColumns {
  const ids = Int32Array.from({ length: ROWS }, (_, row) => row + turn);
  const names = Array.from(ids, (id) => `reading_${id}`);
  const offsets = new Int32Array(ROWS + 1);
  for (const [row, name] of names.entries()) offsets[row + 1] = offsets[row]! + name.length;
  return { ids, scores: Float64Array.from(ids, (id) => id / 2), offsets, texts: bytesOfText(names.join('')) };
}

/** The bytes of a text, in memory of their own. */
function bytesOfText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

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
