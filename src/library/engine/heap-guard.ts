import { claimHeap, type Heap, HeapRoom, nodeHeap } from '../crossing/heap-room.js';
import type { Int64Mode } from './cell-readers.js';
import type { Frame } from './frame.js';
import type { Column } from './table-definition.js';

/** Bytes that values take in V8's heap, without pointer compression. */
const OBJECT_BYTES = 24;
const SLOT_BYTES = 8;
const DOUBLE_BYTES = 16;
const BIGINT_BYTES = 24;
const STRING_BYTES = 24;
const TYPED_ARRAY_BYTES = 200;

/** Stops a query that keeps all its rows before they fill V8's heap, which would end the process. */
export class HeapGuard {
  readonly #room: HeapRoom;
  readonly #columns: readonly Column[];
  readonly #int64: Int64Mode;

  constructor(columns: readonly Column[], int64: Int64Mode, heap: Heap = nodeHeap) {
    this.#room = new HeapRoom(heap);
    this.#columns = columns;
    this.#int64 = int64;
  }

  /** Throws `BB_RESULT_TOO_LARGE` if the rows of this frame do not fit, on top of the `rowCount` rows before it. */
  check(frame: Frame, rowCount: number): void {
    // Joining the chunks at the end takes two more slots per row.
    const joined = (rowCount + frame.rowCount) * 2 * SLOT_BYTES;
    this.#room.claim(
      rowsBytes(frame, this.#columns, this.#int64, frame.rowCount) + joined,
      'the result',
      'Read it with executeQueryStream or executeQueryColumnar',
      `: it was stopped after ${rowCount} rows`,
    );
  }
}

/** Throws `BB_RESULT_TOO_LARGE` if `rows` of a frame's rows do not fit into V8's heap as objects. */
export function claimRows(frame: Frame, columns: readonly Column[], int64: Int64Mode, rows: number): void {
  claimHeap(rowsBytes(frame, columns, int64, rows), 'the result', 'Read it by cursor() or chunk()');
}

/** Throws `BB_RESULT_TOO_LARGE` if the values of a frame's column do not fit into V8's heap as JavaScript values. */
export function claimValues(frame: Frame, index: number, column: Column, int64: Int64Mode): void {
  const bytes = frame.rowCount * (SLOT_BYTES + valueBytes(column, int64)) + textBytes(frame, index, column);
  claimHeap(bytes, `column "${column.name}" of the chunk`, 'Read it by column() or rows()');
}

function rowsBytes(frame: Frame, columns: readonly Column[], int64: Int64Mode, rows: number): number {
  const perRow = columns.reduce((sum, column) => sum + SLOT_BYTES + valueBytes(column, int64), OBJECT_BYTES);
  const text = columns.reduce((sum, column, index) => sum + textBytes(frame, index, column), 0);
  return rows * perRow + text * (rows / Math.max(1, frame.rowCount));
}

function textBytes(frame: Frame, index: number, { type }: Column): number {
  return type.kind === 'text' ? frame.column(index).values.length : 0;
}

/** Bytes of a value beside its slot and its text. */
function valueBytes({ type }: Column, int64: Int64Mode): number {
  switch (type.kind) {
    case 'real':
    case 'double':
      return DOUBLE_BYTES;
    case 'bigint':
    case 'timestamp':
      return int64 === 'bigint' ? BIGINT_BYTES : DOUBLE_BYTES;
    case 'decimal':
      return STRING_BYTES + (type.precision ?? 0);
    case 'text':
      return STRING_BYTES;
    case 'bytes':
      return TYPED_ARRAY_BYTES;
    default:
      return 0;
  }
}
