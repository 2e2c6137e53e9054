import type { KeyTable } from './tree-keys.js';

/** A tree as a way of a lane reaches it. Its keys come from a table, and are put in and looked up by their places there. */
export interface TreeWay {
  /** The number of keys. */
  size(): number;
  /** The sum of the values of `count` keys of the table, from a place on; NaN if the tree lacks one. */
  get(start: number, count: number): number;
  /** Puts `count` keys of the table in, from a place on, with their values. Returns the number of keys that the tree did not have. */
  put(start: number, count: number): number;
  /** A function that returns the sum of the values of `count` consecutive keys, from the key of a number on. */
  ranger(count: number): (first: number) => number;
}

/** A tree whose keys are strings, one a call. */
interface StringTree {
  readonly size: number;
  /** The value of a key; none if the tree does not have it. */
  get(key: string): number | null | undefined;
  /** Puts a key and its value in. Returns whether the tree did not have the key. */
  set(key: string, value: number): boolean;
}

/**
 * A tree by its methods, whose ranges `ranger` reads. The loops are shared by trees of different packages, of which a
 * process measures one, so that V8 knows what they call.
 */
export function stringWay(tree: StringTree, { texts, values }: KeyTable, ranger: TreeWay['ranger']): TreeWay {
  return {
    size: () => tree.size,
    get(start, count) {
      let sum = 0;
      for (let place = start; place < start + count; place += 1) sum += tree.get(texts[place]!) ?? Number.NaN;
      return sum;
    },
    put(start, count) {
      let added = 0;
      for (let place = start; place < start + count; place += 1) {
        if (tree.set(texts[place]!, values[place]!)) added += 1;
      }
      return added;
    },
    ranger,
  };
}

/** The trees of a way. */
export interface Trees {
  /** An empty tree. */
  fresh(): TreeWay;
  /** A tree with all keys of the table, made at its first use in the process. It must not be changed. */
  loaded(): TreeWay;
}

/** Opens trees for the keys of a table, of which `batch` at most are put in or looked up at once. */
export type OpenTrees = (keys: KeyTable, batch: number) => Trees;
