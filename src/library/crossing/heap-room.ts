/** Room in V8's heap: values that do not fit are refused before they are made, since a full heap ends the process. */
import { getHeapStatistics } from 'node:v8';

import { type CollectGarbage, exposeCollector } from '../../collect-garbage.js';
import { BoundaryError } from '../../errors.js';

/**
 * Shares of the heap's limit: above the first, garbage is collected to measure the memory in use. The second is the most allowed.
 */
const SUSPICIOUS_SHARE = 0.75;
const LARGEST_SHARE = 0.88;

/**
 * The share for values that are made within one turn, where V8 finds little to collect: it ends a process that collects several times in
 * a row above 80% of the limit.
 */
const LARGEST_SHARE_AT_ONCE = 0.78;

/** Share of the limit by which the heap must grow after a collection before the next one pays off. */
const RECHECK_SHARE = 0.08;

/**
 * Bytes to subtract from V8's limit, which includes the young generation, since values that are kept must fit into the old
 * generation.
 */
const YOUNG_GENERATION_BYTES = 48 * 2 ** 20;

/** Bytes for which the heap is not measured. They are little in the smallest heap. */
const UNMEASURED_BYTES = 1 << 20;

/** The statistics of V8's heap, with a fake in tests. */
export interface Heap {
  /** The bytes in use, including garbage not yet collected, and the limit above which Node dies. */
  measure(): { readonly used: number; readonly limit: number };
  collectGarbage(): void;
}

export const nodeHeap: Heap = {
  measure() {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    return { used, limit: Math.max(limit / 2, limit - YOUNG_GENERATION_BYTES) };
  },
  collectGarbage() {
    // Without a collector, garbage counts as in use.
    collector ??= exposeCollector() ?? (() => {});
    collector('all');
  },
};

/** The collector of this thread, made when it is first needed, since few programs need it. */
let collector: CollectGarbage | undefined;

/** A heap, and what its last collection left. */
export class HeapRoom {
  readonly #heap: Heap;
  readonly #largest: number;
  #recheckAbove = 0;

  constructor(heap: Heap, largest = LARGEST_SHARE) {
    this.#heap = heap;
    this.#largest = largest;
  }

  /** Throws `BB_RESULT_TOO_LARGE` if `needed` more bytes do not fit. `what` begins the message: `the value does not fit ...`. */
  claim(needed: number, what: string, hint: string, done = ''): void {
    let { used, limit } = this.#heap.measure();
    if (used + needed <= Math.max(limit * SUSPICIOUS_SHARE, this.#recheckAbove)) return;
    this.#heap.collectGarbage();
    ({ used, limit } = this.#heap.measure());
    if (used + needed > limit * this.#largest) {
      const mebibytes = Math.round(limit / 2 ** 20);
      const message = `${what} does not fit into the heap of ${mebibytes} MiB${done}`;
      throw new BoundaryError('BB_RESULT_TOO_LARGE', message, {
        hint: `${hint}, or give Node more memory with --max-old-space-size`,
      });
    }
    this.#recheckAbove = Math.min(limit * this.#largest, used + needed + limit * RECHECK_SHARE);
  }
}

const room = new HeapRoom(nodeHeap, LARGEST_SHARE_AT_ONCE);

/** Throws `BB_RESULT_TOO_LARGE` if `bytes` do not fit into V8's heap. A call for few bytes costs a comparison. */
export function claimHeap(bytes: number, what: string, hint: string): void {
  if (bytes > UNMEASURED_BYTES) room.claim(bytes, what, hint);
}

/** The heap for values that are made one after the other, few of which are large enough to be worth a measurement. */
export class HeapTally {
  readonly #what: string;
  readonly #hint: string;
  #unmeasured = UNMEASURED_BYTES;

  constructor(what: string, hint: string) {
    this.#what = what;
    this.#hint = hint;
  }

  /** Claims the bytes of the next value, as `claimHeap` does. */
  claim(bytes: number): void {
    this.#unmeasured -= bytes;
    if (this.#unmeasured >= 0) return;
    room.claim(bytes + UNMEASURED_BYTES, this.#what, this.#hint);
    this.#unmeasured = UNMEASURED_BYTES;
  }
}
