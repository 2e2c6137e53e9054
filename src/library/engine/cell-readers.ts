/** Readers of single values of a frame as JavaScript values, for rows and `values()`. */
import { Buffer, isAscii } from 'node:buffer';

import { BoundaryError } from '../../errors.js';
import { decodeText } from '../crossing/well-formed.js';
import { formatDecimal } from './decimal-text.js';
import type { FrameColumn } from './frame.js';
import type { Column } from './table-definition.js';

/** A value of a row. */
export type RowValue = boolean | number | bigint | string | Uint8Array | null;

/** The JavaScript type of 64-bit integers. */
export type Int64Mode = 'bigint' | 'number';

/** Reads the value of a row in one column. The value must not be null. */
export type CellReader = (row: number) => RowValue;

const TWO_TO_32 = 2 ** 32;

/** The highest and lowest upper halves of safe integers. The lowest has one value, -2^53, that is not safe. */
const HIGHEST_HALF = 2 ** 21 - 1;
const LOWEST_HALF = -(2 ** 21);

/** The number of text rows decoded at once, as a power of two. */
const BLOCK_SHIFT = 5;
const BLOCK_ROWS = 1 << BLOCK_SHIFT;

/** Blocks with more bytes than this are decoded value by value. */
const LONGEST_BLOCK = 1 << 16;

/** Makes the reader of one column of a frame. `firstRow` is the number of the frame's first row, for errors. */
export function createCellReader(column: Column, frame: FrameColumn, int64: Int64Mode, firstRow: number): CellReader {
  const { values } = frame;
  switch (column.type.kind) {
    case 'bool':
      return (row) => values[row] !== 0;
    case 'bigint':
    case 'timestamp':
      return int64 === 'number' ? safeIntegerReader(column, values, firstRow) : (row) => values[row]!;
    case 'decimal':
      return decimalReader(values as BigInt64Array, column.type.scale ?? 0);
    case 'text':
      return textReader(values as Uint8Array, frame.offsets!);
    case 'bytes':
      return (row) => (values as Uint8Array).slice(frame.offsets![row], frame.offsets![row + 1]);
    default:
      return (row) => values[row]!;
  }
}

/** All values of a column, with null for each row without a value. */
export function readValues(
  column: Column,
  frame: FrameColumn,
  rows: number,
  int64: Int64Mode,
  firstRow: number,
): RowValue[] {
  const read = createCellReader(column, frame, int64, firstRow);
  const { validity } = frame;
  const values: RowValue[] = [];
  for (let row = 0; row < rows; row++) values.push(isNull(validity, row) ? null : read(row));
  return values;
}

export function isNull(validity: Uint8Array | null, row: number): boolean {
  return validity !== null && (validity[row >> 3]! & (1 << (row & 7))) === 0;
}

function safeIntegerReader(column: Column, values: FrameColumn['values'], firstRow: number): (row: number) => number {
  const halves = new Int32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2);
  return (row) => safeIntegerAt(halves, 2 * row, column, firstRow + row);
}

/** The 64-bit integer whose halves are at `at` and `at + 1`. Throws `BB_UNSAFE_INTEGER` if it is not a safe integer. */
export function safeIntegerAt(halves: Int32Array, at: number, column: Column, row: number): number {
  const low = halves[at]! >>> 0;
  const high = halves[at + 1]!;
  if (high > HIGHEST_HALF || high < LOWEST_HALF || (high === LOWEST_HALF && low === 0)) {
    const value = (BigInt(high) << 32n) | BigInt(low);
    throw new BoundaryError(
      'BB_UNSAFE_INTEGER',
      `row ${row}, column "${column.name}": ${value} can't be a number without losing digits`,
      { hint: "Leave out int64: 'number' to get bigints" },
    );
  }
  return high * TWO_TO_32 + low;
}

function decimalReader(words: BigInt64Array, scale: number): (row: number) => string {
  const quarters = new Int32Array(words.buffer as ArrayBuffer, words.byteOffset, words.length * 2);
  return (row) => decimalAt(quarters, words, 2 * row, scale);
}

/** The decimal whose words are at `at` and `at + 1`. `quarters` is the same memory in 32-bit units. */
export function decimalAt(quarters: Int32Array, words: BigInt64Array, at: number, scale: number): string {
  const first = 2 * at;
  const second = quarters[first + 1]!;
  const sign = second >> 31;
  const fitsNumber =
    quarters[first + 2] === sign && quarters[first + 3] === sign && second <= HIGHEST_HALF && second >= LOWEST_HALF;
  const units = fitsNumber
    ? second * TWO_TO_32 + (quarters[first]! >>> 0)
    : (words[at + 1]! << 64n) | BigInt.asUintN(64, words[at]!);
  return formatDecimal(units, scale);
}

/**
 * Text is decoded in blocks of rows, and cut if a block is all ASCII, since decoding value by value calls the decoder for each.
 * Blocks are small because a substring keeps the whole text alive.
 */
function textReader(values: Uint8Array, offsets: Int32Array): (row: number) => string {
  const bytes = Buffer.from(values.buffer as ArrayBuffer, values.byteOffset, values.length);
  const rows = offsets.length - 1;
  let block = -1;
  let blockStart = 0;
  let blockText: string | null = null;
  const decode = (next: number): void => {
    block = next;
    blockStart = offsets[next * BLOCK_ROWS]!;
    const end = offsets[Math.min(rows, (next + 1) * BLOCK_ROWS)]!;
    const isCuttable = end - blockStart <= LONGEST_BLOCK && isAscii(bytes.subarray(blockStart, end));
    blockText = isCuttable ? bytes.toString('latin1', blockStart, end) : null;
  };
  return (row) => {
    const next = row >> BLOCK_SHIFT;
    if (next !== block) decode(next);
    return blockText === null
      ? decodeText(bytes, 'utf8', offsets[row]!, offsets[row + 1]!)
      : blockText.slice(offsets[row]! - blockStart, offsets[row + 1]! - blockStart);
  };
}
