import { expect, test } from 'vitest';

import { Frame } from '../../../src/library/engine/frame.js';
import { type Heap, nodeHeap } from '../../../src/library/crossing/heap-room.js';
import { HeapGuard } from '../../../src/library/engine/heap-guard.js';
import { SqlType } from '../../../src/library/engine/sql-type.js';
import { TableDefinition } from '../../../src/library/engine/table-definition.js';
import { encodeFrame } from '../frame-encoder.js';

const { columns } = new TableDefinition('t', [{ name: 'id', type: SqlType.int() }]);
const frame = new Frame(encodeFrame(1000, [null, null, new Uint8Array(4000)]), columns);

/** A heap of 1 MiB with given amounts of live memory and garbage. */
class SmallHeap implements Heap {
  live: number;
  garbage: number;
  collections = 0;

  constructor(live: number, garbage: number) {
    this.live = live;
    this.garbage = garbage;
  }

  measure() {
    return { used: this.live + this.garbage, limit: 1 << 20 };
  }

  collectGarbage() {
    this.garbage = 0;
    this.collections++;
  }
}

test('garbage does not make a result too large', () => {
  const heap = new SmallHeap(100_000, 900_000);
  new HeapGuard(columns, 'bigint', heap).check(frame, 0);
  expect(heap.collections).toBe(1);
});

test('a heap with room is left alone', () => {
  const heap = new SmallHeap(100_000, 100_000);
  new HeapGuard(columns, 'bigint', heap).check(frame, 0);
  expect(heap.collections).toBe(0);
});

test('rows that do not fit are refused, naming how many did', () => {
  const guard = new HeapGuard(columns, 'bigint', new SmallHeap(900_000, 0));
  expect(() => guard.check(frame, 5000)).toThrow(
    expect.objectContaining({
      code: 'BB_RESULT_TOO_LARGE',
      message: 'the result does not fit into the heap of 1 MiB: it was stopped after 5000 rows',
      hint: expect.stringContaining('executeQueryStream'),
    }),
  );
});

test('a heap that is nearly full is not collected for every frame', () => {
  const heap = new SmallHeap(800_000, 0);
  const guard = new HeapGuard(columns, 'bigint', heap);
  for (let round = 0; round < 10; round++) guard.check(frame, 0);
  expect(heap.collections).toBe(1);
});

test("collects Node's garbage", async () => {
  // The object is made and dropped in a function of its own, so that nothing here still refers to it.
  const dropped = (() => new WeakRef(Array.from({ length: 100_000 }, (_, index) => ({ index }))))();
  // A WeakRef holds its target until the end of the job that made it.
  await new Promise((resolve) => setImmediate(resolve));
  nodeHeap.collectGarbage();
  expect(dropped.deref()).toBeUndefined();
});
