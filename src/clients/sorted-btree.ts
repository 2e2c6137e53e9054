/** `sorted-btree`, a B+ tree in JavaScript. */
import { loadPackage } from './optional-package.js';

/** The part of its tree that is used here. */
export interface SortedTree<Key, Value> {
  readonly size: number;
  get(key: Key): Value | undefined;
  /** Puts a key and its value in, replacing an older value. Returns whether the tree did not have the key. */
  set(key: Key, value: Value): boolean;
  /** Calls a function for each key from `low` to `high`, in their order. */
  forRange(low: Key, high: Key, includeHigh: boolean, take: (key: Key, value: Value) => void): number;
}

interface Package {
  readonly default: new <Key, Value>(
    entries: undefined,
    compare: (left: Key, right: Key) => number,
  ) => SortedTree<Key, Value>;
}

/**
 * Makes an empty tree whose keys are texts. They are compared as texts are: the package's own comparison asks for the type of each
 * key first.
 */
export function sortedTree<Value>(): SortedTree<string, Value> {
  const { default: Tree } = loadPackage<Package>('sorted-btree');
  return new Tree<string, Value>(undefined, compareTexts);
}

function compareTexts(left: string, right: string): number {
  if (left < right) return -1;
  return left === right ? 0 : 1;
}
