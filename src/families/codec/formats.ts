/**
 * JSON, MessagePack and Arrow IPC. `native/suite/src/codec/formats.rs` has the same in Rust. Of each result, all sides read the
 * same:
 *
 * - `json_parse`, `msgpack_decode`: each field of each of ten records, of a text the last character.
 * - `arrow_decode`: both numbers of each of 1000 rows, and the length and last byte of its text. No side makes strings of the texts.
 *
 * JSON is a string in Node, as `JSON.parse` takes it. Copying it into native memory is a part of the crossing.
 */
import { isDeepStrictEqual } from 'node:util';

import { checksumMismatch } from '../../errors.js';
import type { StreamColumns } from '../../clients/stream-columns.js';
import { type BoundaryRecord, sumOfRecord } from '../boundary/functions.js';
import { eachTurn, inTurn, sumOfTurns } from '../in-process.js';
import { columnsOf, jsonOf, messagePackOf, recordsOf, streamOf } from './documents.js';
import type { CodecCell, Topic } from './topic.js';

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
