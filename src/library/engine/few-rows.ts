/**
 * Reads a few rows of a frame as objects, straight from the memory that frames share. Making views of each column, as for many
 * rows, takes longer than reading a few.
 */
import { canGenerateCode, generateFunction, literalKey, MOST_GENERATED_COLUMNS } from './code-generation.js';
import { decimalAt, type Int64Mode, safeIntegerAt } from './cell-readers.js';
import { decodeText } from '../crossing/well-formed.js';
import { COLUMN_WORDS, type FrameMemory, HEADER_WORDS } from './frame.js';
import type { Row } from './row-reader.js';
import type { Column } from './table-definition.js';

/** Reads rows `start` to `end` of the frame that begins at the byte `frame`. */
export type ReadFewRows = (memory: FrameMemory, frame: number, start: number, end: number) => Row[];

type Generated = (
  memory: FrameMemory,
  frame: number,
  start: number,
  end: number,
  helpers: typeof HELPERS,
  columns: readonly Column[],
) => Row[];

const HELPERS = { decimalAt, decodeText, safeIntegerAt };

/** The reader of frames with these columns; undefined if functions can't be made from text. */
export function fewRowsReader(columns: readonly Column[], int64: Int64Mode): ReadFewRows | undefined {
  if (!canGenerateCode || columns.length > MOST_GENERATED_COLUMNS) return undefined;
  const parameters = ['memory', 'frame', 'start', 'end', 'helpers', 'columns'];
  const read = generateFunction<Generated>(parameters, source(columns, int64));
  return (memory, frame, start, end) => read(memory, frame, start, end, HELPERS, columns);
}

function source(columns: readonly Column[], int64: Int64Mode): string {
  const places = columns.map((column, index) => {
    const word = HEADER_WORDS + COLUMN_WORDS * index;
    const offsets = isVarying(column) ? `, o${index} = (frame + words[head + ${word + 2}]) >> 2` : '';
    return `const n${index} = words[head + ${word + 1}], v${index} = frame + words[head + ${word + 3}]${offsets};`;
  });
  const fields = columns.map((column, index) => {
    const isNull = `n${index} !== 0 && (bytes[frame + n${index} + (i >> 3)] & (1 << (i & 7))) === 0`;
    return `${literalKey(column.name)}: ${isNull} ? null : ${value(column, index, int64)},`;
  });
  return `const { words, bytes } = memory;
const { int16, int32, int64, float32, float64 } = memory.views;
const head = frame >> 2;
${places.join('\n')}
const rows = [];
for (let i = start; i < end; i++) {
  rows.push({
${fields.join('\n')}
  });
}
return rows;`;
}

function isVarying({ type: { kind } }: Column): boolean {
  return kind === 'text' || kind === 'bytes';
}

/** The expression for the value of column `index` in row `i`, which is not null. */
function value({ type }: Column, index: number, mode: Int64Mode): string {
  const place = `v${index}`;
  switch (type.kind) {
    case 'bool':
      return `bytes[${place} + i] !== 0`;
    case 'smallint':
      return `int16[(${place} >> 1) + i]`;
    case 'int':
    case 'date':
      return `int32[(${place} >> 2) + i]`;
    case 'real':
      return `float32[(${place} >> 2) + i]`;
    case 'double':
      return `float64[(${place} >> 3) + i]`;
    case 'bigint':
    case 'timestamp':
      return mode === 'bigint'
        ? `int64[(${place} >> 3) + i]`
        : `helpers.safeIntegerAt(int32, (${place} >> 2) + 2 * i, columns[${index}], i)`;
    case 'decimal':
      return `helpers.decimalAt(int32, int64, (${place} >> 3) + 2 * i, ${type.scale ?? 0})`;
    case 'text':
      return `helpers.decodeText(bytes, 'utf8', ${place} + int32[o${index} + i], ${place} + int32[o${index} + i + 1])`;
    case 'bytes':
      return `new Uint8Array(memory.buffer.slice(${place} + int32[o${index} + i], ${place} + int32[o${index} + i + 1]))`;
  }
}
