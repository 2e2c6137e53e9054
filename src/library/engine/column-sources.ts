/** The columns that `addColumns` takes, cut into batches for the raw addon. */
import { types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import type { ColumnParts } from './column-stage.js';
import { createColumnStage } from './create-column-stage.js';
import { describeValue } from '../crossing/describe-value.js';
import type { ColumnKind } from './sql-type.js';
import type { Column } from './table-definition.js';
import { bytesOf } from '../crossing/typed-memory.js';

/** Values of a fixed width: exactly the type that a `ColumnarChunk` returns for the column. */
export type FixedValues = Uint8Array | Int16Array | Int32Array | BigInt64Array | Float32Array | Float64Array;

/**
 * One column:
 * - a typed array: `Uint8Array` of 0 and 1 for bool, `Int16Array`, `Int32Array` (also days of dates), `BigInt64Array`
 *   (also microseconds of timestamps, and two words a value, the low one first, of decimals), `Float32Array`,
 *   `Float64Array`;
 * - the same with nulls, `{ values, validity }`: one bit per row, set if the row has a value, lowest bit first;
 * - text and bytes as one piece of memory, `{ offsets, values, validity? }`: row i lies between the offsets i and i + 1;
 * - a plain array of the values that `addRow` takes.
 */
export type ColumnInput =
  | FixedValues
  | { readonly values: FixedValues; readonly validity?: Uint8Array | null }
  | { readonly offsets: Int32Array; readonly values: Uint8Array; readonly validity?: Uint8Array | null }
  | readonly unknown[];

/** The columns of a table by name. */
export type ColumnsInput = Readonly<Record<string, ColumnInput>>;

/** The rows of one column, from which batches are cut. */
export interface ColumnSource {
  readonly rows: number;
  /**
   * The parts of the rows from `start`, a multiple of the chunk's rows, to `end`. `firstRow` is the number of row `start` in
   * errors.
   */
  parts(start: number, end: number, firstRow: number): ColumnParts;
}

/** The typed array of each column kind of fixed width: its name, its test, and the elements per row. */
const TYPED_ARRAYS: Readonly<
  Partial<Record<ColumnKind, [name: string, test: (value: unknown) => boolean, perRow: number]>>
> = {
  bool: ['Uint8Array', types.isUint8Array, 1],
  smallint: ['Int16Array', types.isInt16Array, 1],
  int: ['Int32Array', types.isInt32Array, 1],
  date: ['Int32Array', types.isInt32Array, 1],
  bigint: ['BigInt64Array', types.isBigInt64Array, 1],
  timestamp: ['BigInt64Array', types.isBigInt64Array, 1],
  decimal: ['BigInt64Array', types.isBigInt64Array, 2],
  real: ['Float32Array', types.isFloat32Array, 1],
  double: ['Float64Array', types.isFloat64Array, 1],
};

/**
 * The sources of all columns, checked to be complete and of equal length, and the number of rows per chunk. That number is a
 * multiple of 8, so that validity bitmaps are cut between bytes.
 */
export function columnSources(
  columns: readonly Column[],
  input: ColumnsInput,
  batchRows: number,
): { rows: number; chunkRows: number; sources: readonly ColumnSource[] } {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidArgument(`addColumns takes an object of columns by name, not ${describeValue(input)}`);
  }
  const known = new Set(columns.map((column) => column.name));
  const unknown = Object.keys(input).find((name) => !known.has(name));
  if (unknown !== undefined) throw invalidArgument(`the table has no column "${unknown}"`);
  const chunkRows = Math.max(8, batchRows - (batchRows % 8));
  const sources = columns.map((column) => {
    if (!Object.hasOwn(input, column.name)) throw invalidArgument(`column "${column.name}" is missing`);
    return sourceOf(column, input[column.name], chunkRows);
  });
  const rows = sources[0]!.rows;
  const other = sources.findIndex((source) => source.rows !== rows);
  if (other >= 0) {
    throw invalidArgument(
      `the columns differ in length: "${columns[0]!.name}" has ${rows} rows, "${columns[other]!.name}" has ${sources[other]!.rows}`,
    );
  }
  return { rows, chunkRows, sources };
}

/** The names of the parts of a column that is given by its memory. */
const PARTS: ReadonlySet<string> = new Set(['values', 'offsets', 'validity']);

function sourceOf(column: Column, input: unknown, chunkRows: number): ColumnSource {
  if (Array.isArray(input)) return valuesSource(column, input, chunkRows);
  if (types.isTypedArray(input)) return memorySource(column, input, undefined, undefined);
  if (typeof input !== 'object' || input === null) throw wrongInput(column, input);
  // A misspelt `validity` would make values of nulls.
  const unknown = Object.keys(input).find((name) => !PARTS.has(name));
  if (unknown !== undefined) {
    throw invalidArgument(`column "${column.name}": it has no part ${describeValue(unknown)}`, {
      hint: `The parts are ${[...PARTS].join(', ')}`,
    });
  }
  const { values, offsets, validity } = input as Record<string, unknown>;
  if (!types.isTypedArray(values)) throw wrongInput(column, input);
  return memorySource(column, values, offsets, validity ?? undefined);
}

/** The source of a plain array, whose values are staged one by one. */
function valuesSource(column: Column, values: readonly unknown[], chunkRows: number): ColumnSource {
  const rows = values.length;
  const stage = createColumnStage(column, Math.max(1, Math.min(rows, chunkRows)));
  return {
    rows,
    parts(start, end, firstRow) {
      stage.reset();
      for (let row = start; row < end; row++) {
        const problem = stage.put(row - start, values[row]);
        if (problem !== undefined) {
          throw new BoundaryError(
            'BB_INVALID_VALUE',
            `row ${firstRow + row - start}, column "${column.name}": ${problem}`,
          );
        }
      }
      return stage.parts(end - start);
    },
  };
}

function memorySource(column: Column, values: NodeJS.TypedArray, offsets: unknown, validity: unknown): ColumnSource {
  const { kind } = column.type;
  if (kind === 'text' || kind === 'bytes') {
    if (!types.isInt32Array(offsets) || !types.isUint8Array(values)) throw wrongInput(column, values);
    return varyingSource(column, offsets, readable(column, values), validity);
  }
  const [, isRightType, perRow] = TYPED_ARRAYS[kind]!;
  if (!isRightType(values) || offsets !== undefined) throw wrongInput(column, values);
  const bytes = readable(column, values);
  const width = values.BYTES_PER_ELEMENT * perRow;
  if (bytes.length % width !== 0) throw invalidArgument(`column "${column.name}": a value takes ${perRow} words`);
  const rows = bytes.length / width;
  const bitmap = bitmapOf(column, validity, rows);
  return {
    rows,
    parts: (start, end) => [
      cutBitmap(column, bitmap, start, end),
      null,
      cut(column, bytes, start * width, end * width),
    ],
  };
}

function varyingSource(column: Column, offsets: Int32Array, values: Uint8Array, validity: unknown): ColumnSource {
  const bounds = new Int32Array(readable(column, offsets).slice().buffer);
  const rows = bounds.length - 1;
  if (rows < 0) throw invalidArgument(`column "${column.name}": there must be one offset more than rows`);
  const bitmap = bitmapOf(column, validity, rows);
  return {
    rows,
    parts(start, end) {
      // A batch carries only its own values, so its offsets start at them. The native side checks that offsets ascend.
      const first = Math.max(0, bounds[start]!);
      const own = bounds.slice(start, end + 1).map((offset) => offset - first);
      const part = cut(column, values, first, Math.max(first, bounds[end]!));
      return [cutBitmap(column, bitmap, start, end), bytesOf(own), part];
    },
  };
}

function bitmapOf(column: Column, validity: unknown, rows: number): Uint8Array | null {
  if (validity === undefined) return null;
  if (!types.isUint8Array(validity)) {
    throw invalidArgument(`column "${column.name}": validity must be a Uint8Array, not ${describeValue(validity)}`);
  }
  const bytes = readable(column, validity);
  const expected = Math.ceil(rows / 8);
  if (bytes.length !== expected) {
    throw invalidArgument(
      `column "${column.name}": ${rows} rows take ${expected} bytes of validity, ${bytes.length} were given`,
    );
  }
  return bytes;
}

function cutBitmap(column: Column, bitmap: Uint8Array | null, start: number, end: number): Uint8Array | null {
  return bitmap === null ? null : cut(column, bitmap, start / 8, Math.ceil(end / 8));
}

/** A part of a column's memory. A getter that was read after the array may have detached it. */
function cut(column: Column, bytes: Uint8Array, start: number, end: number): Uint8Array {
  try {
    return bytes.subarray(start, end);
  } catch (cause) {
    throw detached(column, cause);
  }
}

function readable(column: Column, array: NodeJS.TypedArray): Uint8Array {
  try {
    return bytesOf(array);
  } catch (cause) {
    throw detached(column, cause);
  }
}

function detached(column: Column, cause: unknown): BoundaryError {
  return invalidArgument(`column "${column.name}": the memory of its array is detached`, { cause });
}

function wrongInput(column: Column, given: unknown): BoundaryError {
  const { kind } = column.type;
  const expected =
    kind === 'text' || kind === 'bytes'
      ? '{ offsets: Int32Array, values: Uint8Array, validity? }'
      : `${TYPED_ARRAYS[kind]![0]}, { values, validity }`;
  const found = ArrayBuffer.isView(given) ? Object.prototype.toString.call(given).slice(8, -1) : describeValue(given);
  return invalidArgument(
    `column "${column.name}" (${column.type}) takes ${expected} or a plain array of values, not ${found}`,
  );
}
