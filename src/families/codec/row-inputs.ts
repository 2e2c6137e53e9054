/** The inputs of the row codec, the same for each way to do the work, and the values that are read of its results. */
import { eachTurn } from '../in-process.js';
import { ColumnCodec } from './column-codec.js';
import { LENGTH, RowWriter } from './row-codec.js';
import { RowColumns } from './row-columns.js';
import { type RowShape, kindsOf } from './row-shapes.js';

/** The inputs of a cell's work, by turn. */
export interface RowInputs<Row> {
  readonly shape: RowShape<Row>;
  /** The most rows of a batch. */
  readonly batch: number;
  readonly rows: readonly (readonly Row[])[];
  /** The same rows as bytes. */
  readonly encoded: readonly Buffer[];
  /** The size of the longest of them. */
  readonly mostBytes: number;
}

/** A way to do the work of a cell, on the first rows of a turn's batch. */
export interface RowWay<Result> {
  /** Does the work once, and returns the sum of what is read of its result. */
  use(turn: number, rows: number): number;
  /** Does the work once, and returns its whole result. */
  resultOf(turn: number): Result;
}

/** A way to encode. */
export type EncodeWay = RowWay<Uint8Array>;

/** A way to decode. */
export type DecodeWay<Row> = RowWay<readonly Row[]>;

/** The rows of a turn's batch. */
export function rowsOf<Row>(shape: RowShape<Row>, turn: number, batch: number): Row[] {
  return Array.from({ length: batch }, (_, row) => shape.rowOf(turn * batch + row + 1));
}

export function inputsOf<Row>(shape: RowShape<Row>, batch: number): RowInputs<Row> {
  const rows = eachTurn((turn) => rowsOf(shape, turn, batch));
  const writer = new RowWriter(kindsOf(shape).length);
  const batches = rows.map((each) => Buffer.from(encodeRows(shape, writer, each, each.length)));
  // In one piece of memory, as batches that are received in the same memory.
  const all = Buffer.concat(batches);
  let end = 0;
  const encoded = batches.map(({ length }) => {
    end += length;
    return all.subarray(end - length, end);
  });
  return { shape, batch, rows, encoded, mostBytes: Math.max(...batches.map(({ length }) => length)) };
}

/** The first rows of an array, or the array itself if it has no more. */
export function firstOf<Value>(values: readonly Value[], count: number): readonly Value[] {
  return count === values.length ? values : values.slice(0, count);
}

/** The first rows of a batch as bytes. */
export function firstBytes({ encoded, batch }: RowInputs<unknown>, turn: number, rows: number): Buffer {
  const bytes = encoded[turn]!;
  if (rows === batch) return bytes;
  let end = 0;
  for (let row = 0; row < rows; row += 1) end += LENGTH + bytes.readUInt32LE(end);
  return bytes.subarray(0, end);
}

/** Columns with the rows of each turn. */
export function columnsOf<Row>({ shape, batch, encoded, mostBytes }: RowInputs<Row>): readonly RowColumns[] {
  const kinds = kindsOf(shape);
  const codec = new ColumnCodec(kinds);
  return encoded.map((bytes) => {
    const columns = new RowColumns(kinds, batch, mostBytes);
    codec.decoder(columns)(bytes);
    return columns;
  });
}

/** Encodes the first rows. The bytes are the writer's memory, valid until it is used again. */
export function encodeRows<Row>(
  { write }: RowShape<Row>,
  writer: RowWriter,
  rows: readonly Row[],
  count: number,
): Uint8Array {
  writer.clear();
  for (let row = 0; row < count; row += 1) write(writer, rows[row]!);
  return writer.bytes.subarray(0, writer.length);
}

/** The sum of what is read of encoded rows: the first `size` bytes. */
export function endsOfBytes(bytes: Uint8Array, size: number): number {
  return size === 0 ? 0 : size + bytes[0]! + bytes[size - 1]!;
}

/** The sum of what is read of rows. */
export function sumOfRows<Row>({ sum: sumOf }: RowShape<Row>, rows: readonly Row[]): number {
  let sum = 0;
  for (let row = 0; row < rows.length; row += 1) sum += sumOf(rows[row]!);
  return sum;
}
