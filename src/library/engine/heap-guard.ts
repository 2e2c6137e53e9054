import { getHeapStatistics } from 'node:v8';

import { BoundaryError } from '../../errors.js';
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

/**
 * Shares of the heap's limit: above the first, garbage is collected to measure the memory in use. The second is the most allowed.
 */
const SUSPICIOUS_SHARE = 0.75;
const LARGEST_SHARE = 0.88;

/** Share of the limit by which the heap must grow after a collection before the next one pays off. */
const RECHECK_SHARE = 0.08;

/**
 * Bytes to subtract from V8's limit, which includes the young generation, since rows that are kept must fit into the old
 * generation.
 */
const YOUNG_GENERATION_BYTES = 48 * 2 ** 20;

/** The statistics of V8's heap, with a fake in tests. */
export interface Heap {
  /** The bytes in use, including garbage not yet collected, and the limit above which Node dies. */
  measure(): { readonly used: number; readonly limit: number };
  collectGarbage(): Promise<void>;
}

export const nodeHeap: Heap = {
  measure() {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    return { used, limit: Math.max(limit / 2, limit - YOUNG_GENERATION_BYTES) };
  },
  async collectGarbage() {
    // Loaded when it is needed, since few programs do.
    const { Session } = await import('node:inspector/promises');
    const session = new Session();
    try {
      session.connect();
      await session.post('HeapProfiler.collectGarbage');
    } catch {
      // Without an inspector in this Node, garbage counts as in use.
    } finally {
      session.disconnect();
    }
  },
};

/** Stops a query that keeps all its rows before they fill V8's heap, which would end the process. */
export class HeapGuard {
  readonly #heap: Heap;
  readonly #columns: readonly Column[];
  readonly #bytesPerRow: number;
  #recheckAbove = 0;

  constructor(columns: readonly Column[], int64: Int64Mode, heap: Heap = nodeHeap) {
    this.#heap = heap;
    this.#columns = columns;
    this.#bytesPerRow = columns.reduce((sum, column) => sum + fieldBytes(column, int64), OBJECT_BYTES);
  }

  /** Rejects with `BB_RESULT_TOO_LARGE` if the rows of this frame do not fit, on top of the `rowCount` rows before it. */
  async check(frame: Frame, rowCount: number): Promise<void> {
    // Joining the chunks at the end takes two more slots per row.
    const needed =
      frame.rowCount * this.#bytesPerRow + this.#textBytes(frame) + (rowCount + frame.rowCount) * 2 * SLOT_BYTES;
    let { used, limit } = this.#heap.measure();
    if (used + needed <= Math.max(limit * SUSPICIOUS_SHARE, this.#recheckAbove)) return;
    await this.#heap.collectGarbage();
    ({ used, limit } = this.#heap.measure());
    if (used + needed > limit * LARGEST_SHARE) throw tooLarge(rowCount, limit);
    this.#recheckAbove = Math.min(limit * LARGEST_SHARE, used + needed + limit * RECHECK_SHARE);
  }

  #textBytes(frame: Frame): number {
    let bytes = 0;
    for (const [index, { type }] of this.#columns.entries()) {
      if (type.kind === 'text') bytes += frame.column(index).values.length;
    }
    return bytes;
  }
}

function fieldBytes({ type }: Column, int64: Int64Mode): number {
  switch (type.kind) {
    case 'real':
    case 'double':
      return SLOT_BYTES + DOUBLE_BYTES;
    case 'bigint':
    case 'timestamp':
      return SLOT_BYTES + (int64 === 'bigint' ? BIGINT_BYTES : DOUBLE_BYTES);
    case 'decimal':
      return SLOT_BYTES + STRING_BYTES + (type.precision ?? 0);
    case 'text':
      return SLOT_BYTES + STRING_BYTES;
    case 'bytes':
      return SLOT_BYTES + TYPED_ARRAY_BYTES;
    default:
      return SLOT_BYTES;
  }
}

function tooLarge(rowCount: number, limit: number): BoundaryError {
  const mebibytes = Math.round(limit / 2 ** 20);
  return new BoundaryError(
    'BB_RESULT_TOO_LARGE',
    `the result does not fit into the heap of ${mebibytes} MiB: it was stopped after ${rowCount} rows`,
    {
      hint: 'Read it with executeQueryStream or executeQueryColumnar, or give Node more memory with --max-old-space-size',
    },
  );
}
