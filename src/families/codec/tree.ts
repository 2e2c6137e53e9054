/**
 * A tree of keys: `BTreeMap` of Rust, and `sorted-btree`. `native/suite/src/codec/tree.rs` has the same in Rust. A key is the text of a number,
 * eight digits of it, and its value is the number.
 *
 * The keys of a tree are put in, and looked up, in a scrambled order. All sides take the keys out of a table that was made before.
 * It is a table of strings or, if keys cross in memory of the caller, of bytes, which are copied to that memory key by key. The
 * result of a look-up is the value. The result of a range is the sum of its values. The result of putting a key in is 1 if the tree
 * did not have it.
 */
import { checksumMismatch } from '../../errors.js';
import type { Loop } from '../in-process.js';
import { type CodecCell, type Topic, overPlaces } from './topic.js';
import { RANGE_KEYS, keyTable, scrambled, type OpenTrees, type Trees } from './tree-ways.js';

export const treeTopic: Topic = {
  resultOf(cell, operations) {
    const { operation, size } = workOf(cell);
    if (operation === 'tree_insert') return operations;
    let sum = 0;
    for (let place = 0; place < operations; place += 1) {
      sum += operation === 'tree_get' ? scrambled(place % size, size) : rangeSum(startOf(place, size), size);
    }
    return sum;
  },
  open: async (cell) => loopOf(cell, await waysOf(cell)),
  verify: async (cell) => verifyTrees(cell, await waysOf(cell)),
};

function workOf({ workload }: CodecCell): { readonly operation: string; readonly size: number } {
  const [operation, size] = workload.split('.') as [string, string];
  return { operation, size: Number(size) };
}

/** The number of the first key of a range. */
function startOf(place: number, size: number): number {
  return scrambled(place, RANGE_KEYS - size + 1);
}

function rangeSum(first: number, count: number): number {
  return first * count + (count * (count - 1)) / 2;
}

async function waysOf({ client, lane }: CodecCell): Promise<OpenTrees> {
  if (client === 'sorted-btree') return (await import('./sorted-trees.js')).sortedTrees;
  const { frameTrees, objectTrees } = await import('./native-trees.js');
  return lane === 'call' || lane === 'objects' ? objectTrees : frameTrees;
}

/** The keys that a workload's tree is made of. */
function keysOf(operation: string, size: number): ReturnType<typeof keyTable> {
  return keyTable(operation === 'tree_range' ? RANGE_KEYS : size, 'scrambled');
}

/** The loop of a cell by a way. */
export function loopOf(cell: CodecCell, open: OpenTrees): Loop {
  const { operation, size } = workOf(cell);
  const { batch } = cell;
  const trees = open(keysOf(operation, size), batch);
  if (operation === 'tree_get') return overPlaces(size, batch, trees.loaded().get);
  if (operation === 'tree_insert') return putLoop(trees, size, batch);
  const sumFrom = trees.loaded().ranger(size);
  return (operations) => {
    let sum = 0;
    for (let place = 0; place < operations; place += 1) sum += sumFrom(startOf(place, size));
    return sum;
  };
}

/** Puts keys into a tree that is fresh at first, and again each time that it has all keys. */
function putLoop(trees: Trees, size: number, batch: number): Loop {
  return (operations) => {
    let sum = 0;
    for (let done = 0; done < operations; done += size) {
      const tree = trees.fresh();
      const end = Math.min(size, operations - done);
      for (let start = 0; start < end; start += batch) sum += tree.put(start, Math.min(batch, end - start));
      if (tree.size() !== end) throw checksumMismatch(`the tree has ${tree.size()} keys instead of ${end}`);
    }
    return sum;
  };
}

/** Throws unless a way's trees have each key with its value. */
export function verifyTrees(cell: CodecCell, open: OpenTrees): void {
  const { operation, size } = workOf(cell);
  const { batch } = cell;
  const keys = keysOf(operation, size);
  const trees = open(keys, batch);
  const check = (what: () => string, found: number, expected: number): void => {
    if (found !== expected) throw checksumMismatch(`${what()}: ${found} instead of ${expected}`);
  };
  if (operation === 'tree_range') {
    for (const count of [1, size]) {
      const sumFrom = trees.loaded().ranger(count);
      const last = RANGE_KEYS - count;
      const starts = [0, last, ...Array.from({ length: 1000 }, (_, place) => startOf(place, count))];
      for (const first of starts)
        check(() => `${count} values from ${first} on`, sumFrom(first), rangeSum(first, count));
    }
    return;
  }
  const tree = operation === 'tree_get' ? trees.loaded() : trees.fresh();
  if (operation === 'tree_insert') {
    for (const again of [1, 0]) {
      for (let place = 0; place < size; place += batch) {
        check(() => `the keys put in from the place ${place} on`, tree.put(place, batch), again * batch);
      }
    }
  }
  check(() => 'the keys of the tree', tree.size(), size);
  for (let place = 0; place < size; place += 1) {
    check(() => `the value of the key ${keys.texts[place]}`, tree.get(place, 1), keys.values[place]!);
  }
  const values = keys.values.subarray(0, batch);
  check(
    () => `the values of ${batch} keys`,
    tree.get(0, batch),
    values.reduce((sum, value) => sum + value, 0),
  );
}
