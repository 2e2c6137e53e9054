import { getHeapStatistics } from 'node:v8';

import { median } from '../stats/quantile.js';

/** The calls of a sample from which on the growth of the heap is looked at. */
export const FEWEST_CALLS_FOR_HEAP = 100;

/** The calls and the turns after which the growth is looked at: so few that the young generation is hardly ever collected among them. */
const MOST_CALLS = 1000;
const TURNS = 5;

/** The part of a sample's calls that is made again for it, at most. */
const PART = 0.01;

/**
 * The bytes by which V8's heap grows in one call of a loop, as the median of several turns: garbage may be collected in
 * one of them. The loop is executed with multiples of `batch` calls.
 */
export async function heapBytesPerCall(
  loop: (calls: number) => number | Promise<number>,
  calls: number,
  batch: number,
): Promise<number> {
  const few = Math.max(1, Math.floor(Math.min(MOST_CALLS, calls * PART) / batch)) * batch;
  const grown: number[] = [];
  // The memory that looking at the heap allocates is not part of the calls' growth.
  const own = heapBytes() - heapBytes();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const before = heapBytes();
    const looped = loop(few);
    if (typeof looped !== 'number') await looped;
    grown.push((heapBytes() - before + own) / few);
  }
  return Math.max(0, median(grown));
}

function heapBytes(): number {
  return getHeapStatistics().used_heap_size;
}
