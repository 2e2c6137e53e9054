/**
 * The rows that are encoded and decoded: each depends on its number alone. `native/suite/src/codec/rows.rs` has the same in Rust, and
 * `__test__/fixtures/codec-rows.json` the bytes of some of them.
 *
 * A BIGINT is a bigint, which alone holds each integer of 64 bits. A timestamp is a number of milliseconds, as in a `Date`.
 */
import { LENGTH, type RowKind, type RowReader, type RowWriter, bitmapBytes } from './row-codec.js';
import { type Column, type RowColumns, type Texts, WIDTHS } from './row-columns.js';

/** A value of a row. */
export type RowValue = boolean | number | bigint | string | Uint8Array | null;

/** A row of the table `users`. */
export interface UserRow {
  readonly id: bigint;
  readonly name: string;
  readonly email: string;
  readonly age: number;
  readonly score: number;
  readonly active: boolean;
  readonly created: number;
}

/** A row of ten types. */
export interface TenTypesRow {
  readonly truth: boolean | null;
  readonly int8: number | null;
  readonly int16: number | null;
  readonly int32: number | null;
  readonly int64: bigint | null;
  readonly float32: number | null;
  readonly float64: number | null;
  readonly text: string | null;
  readonly bytes: Uint8Array | null;
  readonly timestamp: number | null;
}

/** The shape of a table's rows. */
export interface RowShape<Row> {
  /** The names of the columns with their types, in their order. */
  readonly kinds: Readonly<Record<keyof Row & string, RowKind>>;
  rowOf(number: number): Row;
  write(writer: RowWriter, row: Row): void;
  read(reader: RowReader): Row;
  /** The sum of what is read of a row. */
  sum(row: Row): number;
  /** A function that returns the sum of what is read of the first rows of these columns: the same as of rows. */
  columnSum(columns: RowColumns): (rows: number) => number;
}

/** The most bytes of UTF-8 that a character of a string takes. */
const CHARACTER = 3;

/** The sum of the length of a text and its last character, which takes one byte; 0 of an empty text. */
function textSum(text: string): number {
  return text.length === 0 ? 0 : text.length + text.charCodeAt(text.length - 1);
}

function bytesSum(bytes: Uint8Array): number {
  return bytes.length === 0 ? 0 : bytes.length + bytes[bytes.length - 1]!;
}

/** The room for the values of a user but the characters of the texts. */
const USER_ROOM = 8 + 4 + 4 + 4 + 8 + 1 + 8;

const USER: RowShape<UserRow> = {
  kinds: {
    id: 'int64',
    name: 'text',
    email: 'text',
    age: 'int32',
    score: 'float64',
    active: 'truth',
    created: 'timestamp',
  },
  rowOf: (number) => ({
    id: BigInt(number),
    name: `user_${String(number).padStart(6, '0')}`,
    email: `u${number}@b.local`,
    age: 18 + (number % 62),
    score: 100 + (number % 1000) * 0.1,
    active: number % 2 === 0,
    created: number * 1000 + 0.5,
  }),
  write(writer, row) {
    writer.begin(USER_ROOM + CHARACTER * (row.name.length + row.email.length));
    writer.int64(row.id);
    writer.text(row.name);
    writer.text(row.email);
    writer.int32(row.age);
    writer.float64(row.score);
    writer.truth(row.active);
    writer.timestamp(row.created);
    writer.end(0);
  },
  read(reader) {
    reader.noNulls();
    return {
      id: reader.int64(),
      name: reader.text(),
      email: reader.text(),
      age: reader.int32(),
      score: reader.float64(),
      active: reader.truth(),
      created: reader.timestamp(),
    };
  },
  sum: ({ id, name, email, age, score, active, created }) =>
    Number(id) + age + score + created + textSum(name) + textSum(email) + (active ? 1 : 0),
  columnSum(columns) {
    const arrays = arraysOf<[Int32Array, Texts, Texts, Int32Array, Float64Array, Uint8Array, Float64Array]>(columns);
    const [ids, names, emails, ages, scores, actives, times] = arrays;
    return (rows) => {
      let sum = textsSum(names, rows) + textsSum(emails, rows);
      for (let row = 0; row < rows; row += 1) {
        const numbers = wholeAt(ids, row) + ages[row]! + scores[row]! + times[row]!;
        sum += numbers + actives[row]!;
      }
      return sum;
    };
  },
};

/** The arrays of the columns, in their order. */
function arraysOf<Arrays extends readonly unknown[]>({ columns }: RowColumns): Arrays {
  return columns.map(({ values }) => values) as unknown as Arrays;
}

/** The integer of 64 bits in two halves, as a number: the integers of the rows are exact. */
function wholeAt(halves: Int32Array, row: number): number {
  return halves[2 * row + 1]! * 2 ** 32 + (halves[2 * row]! >>> 0);
}

/** The sum of `textSum` of the first texts. */
function textsSum({ offsets, bytes }: Texts, rows: number): number {
  let sum = 0;
  let start = offsets[0]!;
  for (let row = 1; row <= rows; row += 1) {
    const end = offsets[row]!;
    if (end > start) sum += end - start + bytes[end - 1]!;
    start = end;
  }
  return sum;
}

/** The bits of each byte that are set. */
const SET_BITS = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

/** The room for the values of a row of ten types but the characters of the text and the bytes. */
const TEN_TYPES_ROOM = 1 + 1 + 2 + 4 + 8 + 4 + 8 + 4 + 4 + 8;

function tenTypes(nulls: boolean): RowShape<TenTypesRow> {
  return {
    kinds: {
      truth: 'truth',
      int8: 'int8',
      int16: 'int16',
      int32: 'int32',
      int64: 'int64',
      float32: 'float32',
      float64: 'float64',
      text: 'text',
      bytes: 'bytes',
      timestamp: 'timestamp',
    },
    rowOf(number) {
      const has = (column: number): boolean => !(nulls && (column + number) % 2 === 1);
      const int64 = 2 ** 40 + number;
      return {
        truth: has(0) ? number % 3 === 0 : null,
        int8: has(1) ? (number << 24) >> 24 : null,
        int16: has(2) ? ((number * 7) << 16) >> 16 : null,
        int32: has(3) ? number * 31 - 1_000_000 : null,
        int64: has(4) ? BigInt(number % 2 === 0 ? int64 : -int64) : null,
        float32: has(5) ? (number % 4096) * 0.5 : null,
        float64: has(6) ? number * 0.25 : null,
        text: has(7) ? `text ${String(number).padStart(4, '0')} of a row` : null,
        bytes: has(8) ? Uint8Array.from({ length: number % 16 }, (_, place) => number + place * 31) : null,
        timestamp: has(9) ? number * 1000 + 0.25 : null,
      };
    },
    write: writeTenTypes,
    read: readTenTypes,
    sum: sumOfTenTypes,
    columnSum: columnSumOfTenTypes,
  };
}

function writeTenTypes(writer: RowWriter, row: TenTypesRow): void {
  const { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp } = row;
  writer.begin(TEN_TYPES_ROOM + (text === null ? 0 : CHARACTER * text.length) + (bytes === null ? 0 : bytes.length));
  let nulls = 0;
  if (truth === null) nulls |= 1;
  else writer.truth(truth);
  if (int8 === null) nulls |= 1 << 1;
  else writer.int8(int8);
  if (int16 === null) nulls |= 1 << 2;
  else writer.int16(int16);
  if (int32 === null) nulls |= 1 << 3;
  else writer.int32(int32);
  if (int64 === null) nulls |= 1 << 4;
  else writer.int64(int64);
  if (float32 === null) nulls |= 1 << 5;
  else writer.float32(float32);
  if (float64 === null) nulls |= 1 << 6;
  else writer.float64(float64);
  if (text === null) nulls |= 1 << 7;
  else writer.text(text);
  if (bytes === null) nulls |= 1 << 8;
  else writer.bytesOf(bytes);
  if (timestamp === null) nulls |= 1 << 9;
  else writer.timestamp(timestamp);
  writer.end(nulls);
}

function readTenTypes(reader: RowReader): TenTypesRow {
  const { nulls } = reader;
  return {
    truth: (nulls & 1) === 0 ? reader.truth() : null,
    int8: (nulls & (1 << 1)) === 0 ? reader.int8() : null,
    int16: (nulls & (1 << 2)) === 0 ? reader.int16() : null,
    int32: (nulls & (1 << 3)) === 0 ? reader.int32() : null,
    int64: (nulls & (1 << 4)) === 0 ? reader.int64() : null,
    float32: (nulls & (1 << 5)) === 0 ? reader.float32() : null,
    float64: (nulls & (1 << 6)) === 0 ? reader.float64() : null,
    text: (nulls & (1 << 7)) === 0 ? reader.text() : null,
    bytes: (nulls & (1 << 8)) === 0 ? reader.bytes() : null,
    timestamp: (nulls & (1 << 9)) === 0 ? reader.timestamp() : null,
  };
}

function sumOfTenTypes(row: TenTypesRow): number {
  const { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp } = row;
  // Of a null, `??` takes the 1 that it counts.
  const integers = (int8 ?? 1) + (int16 ?? 1) + (int32 ?? 1) + (int64 === null ? 1 : Number(int64));
  const floats = (float32 ?? 1) + (float64 ?? 1) + (timestamp ?? 1);
  const texts = (text === null ? 1 : textSum(text)) + (bytes === null ? 1 : bytesSum(bytes));
  return integers + floats + texts + (truth === false ? 0 : 1);
}

/** The arrays of the columns of ten types. */
type TenArrays = [
  truths: Uint8Array,
  int8s: Int8Array,
  int16s: Int16Array,
  int32s: Int32Array,
  int64s: Int32Array,
  float32s: Float32Array,
  float64s: Float64Array,
  texts: Texts,
  bytes: Texts,
  times: Float64Array,
];

function columnSumOfTenTypes(columns: RowColumns): (rows: number) => number {
  const { bitmaps } = columns;
  const arrays = arraysOf<TenArrays>(columns);
  const [truths, int8s, int16s, int32s, int64s, float32s, float64s, texts, bytes, times] = arrays;
  return (rows) => {
    let sum = textsSum(texts, rows) + textsSum(bytes, rows);
    for (let row = 0; row < rows; row += 1) {
      const nulls = SET_BITS[bitmaps[2 * row]!]! + SET_BITS[bitmaps[2 * row + 1]!]!;
      const integers = truths[row]! + int8s[row]! + int16s[row]! + int32s[row]!;
      const floats = float32s[row]! + float64s[row]! + times[row]!;
      sum += nulls + integers + wholeAt(int64s, row) + floats;
    }
    return sum;
  };
}

/** The shapes, by the word behind the dot of a workload. */
export const SHAPES = { user: USER, ten_types: tenTypes(false), half_nulls: tenTypes(true) } as const;

/** The types of a shape's columns. */
export function kindsOf<Row>(shape: RowShape<Row>): readonly RowKind[] {
  return Object.values<RowKind>(shape.kinds);
}

/** The values of a row, in the order of the columns. */
export function valuesOf<Row>(shape: RowShape<Row>, row: Row): readonly RowValue[] {
  return Object.keys(shape.kinds).map((name) => row[name as keyof Row] as RowValue);
}

/** The bytes that a row takes in a batch, its length included. */
export function sizeOf<Row>(shape: RowShape<Row>, row: Row): number {
  const kinds = kindsOf(shape);
  const sizes = valuesOf(shape, row).map((value, column) => {
    if (value === null) return 0;
    const length = typeof value === 'string' ? Buffer.byteLength(value) : (value as Uint8Array).length;
    return WIDTHS[kinds[column]!] ?? LENGTH + length;
  });
  return sizes.reduce((sum, size) => sum + size, LENGTH + bitmapBytes(kinds.length));
}

/** The rows that columns have, at these places. */
export function rowsOfColumns<Row>(shape: RowShape<Row>, { bitmaps, columns }: RowColumns, rows: number): Row[] {
  const names = Object.keys(shape.kinds);
  const bitmap = bitmapBytes(names.length);
  return Array.from({ length: rows }, (_, row) => {
    const values = columns.map((each, column): RowValue => {
      const isNull = (bitmaps[row * bitmap + (column >> 3)]! & (1 << (column & 7))) !== 0;
      return isNull ? null : valueAt(each, row);
    });
    return Object.fromEntries(names.map((name, column) => [name, values[column]])) as Row;
  });
}

function valueAt({ kind, values }: Column, row: number): RowValue {
  switch (kind) {
    case 'truth':
      return values[row] === 1;
    case 'int64':
      return (BigInt(values[2 * row + 1]!) << 32n) | BigInt(values[2 * row]! >>> 0);
    case 'text':
    case 'bytes': {
      const bytes = values.bytes.slice(values.offsets[row], values.offsets[row + 1]);
      return kind === 'text' ? Buffer.from(bytes).toString() : bytes;
    }
    default:
      return values[row]!;
  }
}
