/** The row codec by the addon: objects by napi-rs, as everyone uses it, and columns in memory that is made once. */
import { crossing } from '../../crossing-addon.js';
import { RowColumns } from './row-columns.js';
import {
  type DecodeWay,
  type EncodeWay,
  type RowInputs,
  columnsOf,
  endsOfBytes,
  firstBytes,
  firstOf,
  sumOfRows,
} from './row-inputs.js';
import { type UserRow, kindsOf, rowsOfColumns } from './row-shapes.js';

const { codec } = crossing;

/** Encodes objects: one a call, or an array. */
export function objectEncoder<Row>({ shape, rows }: RowInputs<Row>, single: boolean): EncodeWay {
  const { encodeUser } = codec;
  const encode = ('id' in shape.kinds ? codec.encodeUsers : codec.encodeTenTypes) as (rows: readonly Row[]) => Buffer;
  const read = (bytes: Uint8Array): number => endsOfBytes(bytes, bytes.length);
  return {
    use: single
      ? (turn) => read(encodeUser(rows[turn]![0] as UserRow))
      : (turn, count) => read(encode(firstOf(rows[turn]!, count))),
    resultOf: (turn) => (single ? encodeUser(rows[turn]![0] as UserRow) : encode(rows[turn]!)),
  };
}

/** Decodes into objects: one a call, or an array. */
export function objectDecoder<Row>(inputs: RowInputs<Row>, single: boolean): DecodeWay<Row> {
  const { shape, encoded } = inputs;
  const { decodeUser } = codec;
  const { sum } = shape;
  const decode = ('id' in shape.kinds ? codec.decodeUsers : codec.decodeTenTypes) as (bytes: Uint8Array) => unknown as (
    bytes: Uint8Array,
  ) => Row[];
  return {
    use: single
      ? (turn) => sum(decodeUser(encoded[turn]!) as Row)
      : (turn, rows) => sumOfRows(shape, decode(firstBytes(inputs, turn, rows))),
    resultOf: (turn) => (single ? [decodeUser(encoded[turn]!) as Row] : decode(encoded[turn]!)),
  };
}

/** Encodes columns. */
export function columnEncoder<Row>(inputs: RowInputs<Row>): EncodeWay {
  const { shape, batch, mostBytes } = inputs;
  const encode = codec.rowEncoder(kindsOf(shape), batch, mostBytes);
  const blocks = columnsOf(inputs).map(({ block }) => block);
  const out = new Uint8Array(mostBytes);
  return {
    use: (turn, rows) => endsOfBytes(out, encode(blocks[turn]!, rows, out)),
    resultOf: (turn) => out.slice(0, encode(blocks[turn]!, batch, out)),
  };
}

/** Decodes into columns. */
export function columnDecoder<Row>(inputs: RowInputs<Row>): DecodeWay<Row> {
  const { shape, batch, encoded, mostBytes } = inputs;
  const kinds = kindsOf(shape);
  const decode = codec.rowDecoder(kinds, batch, mostBytes);
  const columns = new RowColumns(kinds, batch, mostBytes);
  const sum = shape.columnSum(columns);
  const { block } = columns;
  const decodeAll = (bytes: Uint8Array): number => decode(bytes, bytes.length, block);
  return {
    use: (turn, rows) => sum(decodeAll(firstBytes(inputs, turn, rows))),
    resultOf: (turn) => rowsOfColumns(shape, columns, decodeAll(encoded[turn]!)),
  };
}
