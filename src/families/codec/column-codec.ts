/**
 * Rows written from columns and read into them in JavaScript, as `native/suite/src/codec/row_format/columns.rs` does it in Rust.
 *
 * The types of the columns become the code of a function that goes over the rows, with lines of its own for each column. V8
 * compiles those to a few instructions per value. A loop over the columns of a row would choose a type for each value.
 */
import { isAscii, isUtf8 } from 'node:buffer';

import { LENGTH, type RowKind, bitmapBytes, copyBytes, wrongBatch } from './row-codec.js';
import { type RowColumns, type Texts, WIDTHS } from './row-columns.js';

/** Writes the first rows from the beginning of the view on. Returns the size of the batch. */
type Encode = (view: DataView, rows: number) => number;

/** Reads the batch from `start` to `last`. Returns the number of its rows. */
type Decode = (view: DataView, start: number, last: number) => number;

/** The functions of this module that the code uses. */
const TOOLS = { copyBytes, wrongBatch };

/** Makes the function for some columns. */
type Make<Work> = (tools: typeof TOOLS, columns: RowColumns) => Work;

/** Writes columns as rows, and reads rows into columns, of some types. */
export class ColumnCodec {
  readonly #makeEncode: Make<Encode>;
  readonly #makeDecode: Make<Decode>;

  constructor(kinds: readonly RowKind[]) {
    this.#makeEncode = compiled(encodingCode(kinds)) as Make<Encode>;
    this.#makeDecode = compiled(decodingCode(kinds)) as Make<Decode>;
  }

  /**
   * A function that writes the first rows of these columns as a batch over the beginning of `out`, and returns the size
   * of the batch. The bytes of `out` behind it may change too. It throws a `RangeError` if there is too little room.
   */
  encoder(columns: RowColumns): (rows: number, out: Uint8Array) => number {
    const encode = this.#makeEncode(TOOLS, columns);
    let view: DataView = new DataView(new ArrayBuffer(0));
    let memory: Uint8Array | undefined;
    return (rows, out) => {
      if (out !== memory) {
        view = new DataView(out.buffer, out.byteOffset, out.length);
        memory = out;
      }
      return encode(view, rows);
    };
  }

  /**
   * A function that reads a batch into these columns, and returns the number of rows. For bytes that are no batch of
   * such rows or do not fit, it throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT`, or a `RangeError` at the
   * end of the memory. The rows in the columns are of no use then.
   */
  decoder(columns: RowColumns): (batch: Uint8Array) => number {
    const decode = this.#makeDecode(TOOLS, columns);
    const texts = columns.columns.flatMap(({ kind, values }) => (kind === 'text' ? [values] : []));
    // Of all of the memory that the batch lies in: mostly, the next one lies there too.
    let view: DataView = new DataView(new ArrayBuffer(0));
    return (batch) => {
      if (batch.buffer !== view.buffer) view = new DataView(batch.buffer);
      const rows = decode(view, batch.byteOffset, batch.byteOffset + batch.length);
      for (let column = 0; column < texts.length; column += 1) checkTexts(texts[column]!, rows);
      return rows;
    };
  }
}

function compiled(body: string): unknown {
  // The code is made of the types of columns, of which there are ten, and of numbers.
  return new Function('tools', 'columns', `'use strict'; ${body}`);
}

/** The lines that name the arrays of the columns. */
function arraysCode(kinds: readonly RowKind[]): string {
  const lines = kinds.map((kind, column) => {
    const values = `columns.columns[${column}].values`;
    if (WIDTHS[kind] !== undefined) return `const values${column} = ${values};`;
    return `const offsets${column} = ${values}.offsets, texts${column} = ${values}.view;`;
  });
  return ['const { copyBytes, wrongBatch } = tools, { bitmaps } = columns;', ...lines].join('\n');
}

/** The condition under which a column's value is there. */
function isPresent(column: number): string {
  return `(nulls${column >> 3} & ${1 << (column & 7)}) === 0`;
}

/** The bytes of a row's bitmap, by their number. */
function bitmapOf(kinds: readonly RowKind[]): number[] {
  return Array.from({ length: bitmapBytes(kinds.length) }, (_, byte) => byte);
}

function encodingCode(kinds: readonly RowKind[]): string {
  const bitmap = bitmapOf(kinds);
  return `
    ${arraysCode(kinds)}
    return (view, rows) => {
      let at = 0;
      for (let row = 0; row < rows; row += 1) {
        const start = at + ${LENGTH};
        ${bitmap.map((byte) => `const nulls${byte} = bitmaps[row * ${bitmap.length} + ${byte}];`).join('\n')}
        ${bitmap.map((byte) => `view.setUint8(start + ${byte}, nulls${byte});`).join('\n')}
        at = start + ${bitmap.length};
        ${kinds.map((kind, column) => `if (${isPresent(column)}) { ${writingCode(kind, column)} }`).join('\n')}
        view.setUint32(start - ${LENGTH}, at - start, true);
      }
      return at;
    };`;
}

/** The lines that write a value. */
function writingCode(kind: RowKind, column: number): string {
  const width = WIDTHS[kind];
  if (width === undefined) {
    return `
      const from = offsets${column}[row], length = offsets${column}[row + 1] - from;
      view.setUint32(at, length, true);
      copyBytes(texts${column}, from, view, at + ${LENGTH}, length);
      at += ${LENGTH} + length;`;
  }
  if (kind === 'int64') {
    return `
      view.setInt32(at, values${column}[2 * row], true);
      view.setInt32(at + 4, values${column}[2 * row + 1], true);
      at += 8;`;
  }
  return `view.set${ELEMENTS[kind]}(at, values${column}[row], true); at += ${width};`;
}

/** The names in `DataView` of the types whose values are one element. */
const ELEMENTS: Readonly<Partial<Record<RowKind, string>>> = {
  truth: 'Uint8',
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  float32: 'Float32',
  float64: 'Float64',
  timestamp: 'Float64',
};

function decodingCode(kinds: readonly RowKind[]): string {
  const bitmap = bitmapOf(kinds);
  const texts = kinds.flatMap((kind, column) => (WIDTHS[kind] === undefined ? [column] : []));
  // The bits of the last byte that are of no column.
  const beyond = (0xff << (((kinds.length - 1) & 7) + 1)) & 0xff;
  return `
    ${arraysCode(kinds)}
    const room = columns.rows, textRoom = columns.textBytes;
    return (view, start, last) => {
      let at = start, row = 0;
      ${texts.map((column) => `let end${column} = 0; offsets${column}[0] = 0;`).join('\n')}
      while (at < last) {
        if (row === room) throw wrongBatch(row, 'the columns have no more room');
        const from = at + ${LENGTH};
        if (from > last) throw wrongBatch(row, 'the row ends too early');
        const end = from + view.getUint32(at, true);
        at = from + ${bitmap.length};
        if (end > last || at > end) throw wrongBatch(row, 'the row ends too early');
        ${bitmap.map((byte) => `const nulls${byte} = view.getUint8(from + ${byte});`).join('\n')}
        ${bitmap.map((byte) => `bitmaps[row * ${bitmap.length} + ${byte}] = nulls${byte};`).join('\n')}
        if ((nulls${bitmap.length - 1} & ${beyond}) !== 0) {
          throw wrongBatch(row, 'the bitmap names columns that there are not');
        }
        ${kinds.map(readingCode).join('\n')}
        if (at !== end) {
          throw wrongBatch(row, at < end ? 'the row goes on behind its last value' : 'the row ends too early');
        }
        row += 1;
      }
      return row;
    };`;
}

/** The lines that read a value, or leave a null empty. */
function readingCode(kind: RowKind, column: number): string {
  const width = WIDTHS[kind];
  if (width === undefined) {
    return `
      if (${isPresent(column)}) {
        const text = at + ${LENGTH}, length = view.getUint32(at, true);
        at = text + length;
        if (at > end) throw wrongBatch(row, 'the row ends too early');
        if (end${column} + length > textRoom) throw wrongBatch(row, 'the columns have no more room');
        copyBytes(view, text, texts${column}, end${column}, length);
        end${column} += length;
      }
      offsets${column}[row + 1] = end${column};`;
  }
  if (kind === 'int64') {
    return `
      if (${isPresent(column)}) {
        values${column}[2 * row] = view.getInt32(at, true);
        values${column}[2 * row + 1] = view.getInt32(at + 4, true);
        at += 8;
      } else values${column}[2 * row] = values${column}[2 * row + 1] = 0;`;
  }
  const check =
    kind === 'truth' ? `if (values${column}[row] > 1) throw wrongBatch(row, 'a truth value is neither 0 nor 1');` : '';
  return `
    if (${isPresent(column)}) {
      values${column}[row] = view.get${ELEMENTS[kind]}(at, true);
      at += ${width};
      ${check}
    } else values${column}[row] = 0;`;
}

/** The most bytes of texts that are looked at one by one: a call into Node's own code takes as long. */
const FEW_BYTES = 256;

/** Throws unless the first texts are UTF-8, each by itself. */
function checkTexts({ offsets, bytes }: Texts, rows: number): void {
  const end = offsets[rows]!;
  if (end <= FEW_BYTES) {
    let any = 0;
    for (let at = 0; at < end; at += 1) any |= bytes[at]!;
    if (any < 128) return;
  } else if (isAscii(bytes.subarray(0, end))) return;
  for (let row = 0; row < rows; row += 1) {
    if (!isUtf8(bytes.subarray(offsets[row]!, offsets[row + 1]!))) throw wrongBatch(row, 'a text is not UTF-8');
  }
}
