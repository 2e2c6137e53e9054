/**
 * The row codec: rows as bytes and out of bytes, `row_encode` and `row_decode`. `native/suite/src/codec/rows.rs` has
 * the same in Rust. A batch is one of four, which come in turn. Of each batch all sides read the same:
 *
 * - Of an encoded batch: its size in bytes, its first byte and its last one.
 * - Of a decoded batch: each number, timestamps included, 1 for each truth value that is true, and 1 for each null. Also the length
 *   of each text and its last character, which takes one byte, and the same of bytes. Whole rows are made of all of a batch before
 *   they are read.
 */
import { checksumMismatch } from '../../errors.js';
import { type Loop, TURNS, eachTurn, sumOfTurns } from '../in-process.js';
import { ColumnCodec } from './column-codec.js';
import { LENGTH, RowReader, RowWriter } from './row-codec.js';
import { RowColumns } from './row-columns.js';
import {
  type DecodeWay,
  type EncodeWay,
  type RowInputs,
  type RowWay,
  columnsOf,
  encodeRows,
  endsOfBytes,
  firstBytes,
  inputsOf,
  rowsOf,
  sumOfRows,
} from './row-inputs.js';
import { type RowShape, SHAPES, kindsOf, rowsOfColumns, sizeOf, valuesOf } from './row-shapes.js';
import type { CodecCell, Topic } from './topic.js';

export const rowTopic: Topic = {
  resultOf({ workload, batch }, operations) {
    const shape = shapeOf(workload);
    const read = workload.startsWith('row_encode') ? endsOfRows : sumOfRows;
    const results = eachTurn((turn) => read(shape, rowsOf(shape, turn, batch)));
    return sumOfTurns(results, operations / batch);
  },
  async open(cell) {
    const inputs = inputsOf(shapeOf(cell.workload), cell.batch);
    const way = isEncoding(cell) ? await encodeWay(cell, inputs) : await decodeWay(cell, inputs);
    return loopOf(way, cell.batch);
  },
  async verify(cell) {
    const inputs = inputsOf(shapeOf(cell.workload), cell.batch);
    if (isEncoding(cell)) verifyEncoding(inputs, await encodeWay(cell, inputs));
    else verifyDecoding(inputs, await decodeWay(cell, inputs));
  },
};

const isEncoding = ({ workload }: CodecCell): boolean => workload.startsWith('row_encode');

function shapeOf(workload: string): RowShape<unknown> {
  return SHAPES[workload.split('.')[1] as keyof typeof SHAPES] as RowShape<unknown>;
}

function loopOf({ use }: RowWay<unknown>, batch: number): Loop {
  return (operations) => {
    let sum = 0;
    let turn = 0;
    for (let done = 0; done < operations; done += batch) {
      sum += use(turn, Math.min(batch, operations - done));
      turn = (turn + 1) & (TURNS - 1);
    }
    return sum;
  };
}

/** Decodes a batch. */
function decodeRows<Row>({ read }: RowShape<Row>, reader: RowReader, batch: Uint8Array): Row[] {
  const rows: Row[] = [];
  reader.open(batch);
  while (reader.next()) rows.push(read(reader));
  return rows;
}

/** The sum of what is read of encoded rows, by closed form. */
function endsOfRows<Row>(shape: RowShape<Row>, rows: readonly Row[]): number {
  const sizes = rows.map((row) => sizeOf(shape, row));
  const size = sizes.reduce((sum, bytes) => sum + bytes, 0);
  // The lowest byte of the first row's length, which does not count itself.
  return size + ((sizes[0]! - LENGTH) & 0xff) + lastByteOf(shape, rows.at(-1)!);
}

/** The last byte of a row that ends with a timestamp or bytes. */
function lastByteOf<Row>(shape: RowShape<Row>, row: Row): number {
  const last = valuesOf(shape, row).findLast((value) => value !== null);
  // Bytes that are empty end with their length, whose highest byte is 0.
  return (last instanceof Uint8Array ? last : new Uint8Array(Float64Array.of(last as number).buffer)).at(-1) ?? 0;
}

const native = async () => import('./native-rows.js');

async function encodeWay<Row>({ lane, client }: CodecCell, inputs: RowInputs<Row>): Promise<EncodeWay> {
  if (client === 'napi-rs') return (await native()).objectEncoder(inputs, lane === 'call');
  if (client === 'frame') return (await native()).columnEncoder(inputs);
  return lane === 'columns' ? columnEncoder(inputs) : rowEncoder(inputs);
}

async function decodeWay<Row>({ lane, client }: CodecCell, inputs: RowInputs<Row>): Promise<DecodeWay<Row>> {
  if (client === 'napi-rs') return (await native()).objectDecoder(inputs, lane === 'call');
  if (client === 'frame') return (await native()).columnDecoder(inputs);
  return lane === 'columns' ? columnDecoder(inputs) : rowDecoder(inputs);
}

function rowEncoder<Row>({ shape, rows, mostBytes }: RowInputs<Row>): EncodeWay {
  const writer = new RowWriter(kindsOf(shape).length, mostBytes);
  const { write } = shape;
  return {
    use(turn, count) {
      const batch = rows[turn]!;
      writer.clear();
      for (let row = 0; row < count; row += 1) write(writer, batch[row]!);
      return endsOfBytes(writer.bytes, writer.length);
    },
    resultOf: (turn) => encodeRows(shape, writer, rows[turn]!, rows[turn]!.length).slice(),
  };
}

function rowDecoder<Row>(inputs: RowInputs<Row>): DecodeWay<Row> {
  const { shape, encoded } = inputs;
  const reader = new RowReader(kindsOf(shape).length);
  return {
    use: (turn, rows) => sumOfRows(shape, decodeRows(shape, reader, firstBytes(inputs, turn, rows))),
    resultOf: (turn) => decodeRows(shape, reader, encoded[turn]!),
  };
}

function columnEncoder<Row>(inputs: RowInputs<Row>): EncodeWay {
  const { shape, batch, mostBytes } = inputs;
  const codec = new ColumnCodec(kindsOf(shape));
  const encoders = columnsOf(inputs).map((columns) => codec.encoder(columns));
  const out = new Uint8Array(mostBytes);
  return {
    use: (turn, rows) => endsOfBytes(out, encoders[turn]!(rows, out)),
    resultOf: (turn) => out.slice(0, encoders[turn]!(batch, out)),
  };
}

function columnDecoder<Row>(inputs: RowInputs<Row>): DecodeWay<Row> {
  const { shape, batch, encoded, mostBytes } = inputs;
  const kinds = kindsOf(shape);
  const columns = new RowColumns(kinds, batch, mostBytes);
  const decode = new ColumnCodec(kinds).decoder(columns);
  const sum = shape.columnSum(columns);
  return {
    use: (turn, rows) => sum(decode(firstBytes(inputs, turn, rows))),
    resultOf: (turn) => rowsOfColumns(shape, columns, decode(encoded[turn]!)),
  };
}

/** Throws unless each batch has the bytes of its rows. */
export function verifyEncoding<Row>({ shape, rows }: RowInputs<Row>, way: EncodeWay): void {
  const reader = new RowReader(kindsOf(shape).length);
  for (const [turn, expected] of rows.entries()) {
    const bytes = way.resultOf(turn);
    const size = expected.reduce((sum, row) => sum + sizeOf(shape, row), 0);
    if (bytes.length !== size) throw checksumMismatch(`the batch ${turn} has ${bytes.length} bytes instead of ${size}`);
    verifyRows(shape, turn, decodeRows(shape, reader, bytes), expected);
  }
}

/** Throws unless each batch has its rows. */
export function verifyDecoding<Row>({ shape, rows }: RowInputs<Row>, way: DecodeWay<Row>): void {
  for (const [turn, expected] of rows.entries()) verifyRows(shape, turn, way.resultOf(turn), expected);
}

function verifyRows<Row>(shape: RowShape<Row>, turn: number, found: readonly Row[], expected: readonly Row[]): void {
  if (found.length !== expected.length) {
    throw checksumMismatch(`the batch ${turn} has ${found.length} rows instead of ${expected.length}`);
  }
  const names = Object.keys(shape.kinds);
  for (const [place, row] of found.entries()) {
    const values = valuesOf(shape, row);
    for (const [column, value] of valuesOf(shape, expected[place]!).entries()) {
      if (isSame(values[column], value)) continue;
      const what = `batch ${turn}, row ${place}, column ${names[column]}`;
      throw checksumMismatch(`${what}: ${String(values[column])} instead of ${String(value)}`);
    }
  }
}

function isSame(found: unknown, expected: unknown): boolean {
  if (!(found instanceof Uint8Array && expected instanceof Uint8Array)) return Object.is(found, expected);
  return Buffer.compare(found, expected) === 0;
}
