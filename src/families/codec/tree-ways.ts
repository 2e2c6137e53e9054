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

/** The keys of the trees, in tables that are made before they are used: as strings, and as bytes. */

/** The bytes of a key. */
export const KEY_BYTES = 8;

/** The keys of the tree of which ranges are read. */
export const RANGE_KEYS = 100_000;

/** A prime number: its multiples reach each number below a power of ten once. */
const STEP = 7_368_787;

/** The number at a place of the scrambled order of the numbers below `count`. */
export function scrambled(place: number, count: number): number {
  return (place * STEP) % count;
}

/** The key of a number below 10^8. */
function keyOf(number: number): string {
  return String(number).padStart(KEY_BYTES, '0');
}

/** Keys in some order. */
export interface KeyTable {
  /** The number of keys. */
  readonly count: number;
  /** The number of each key, which is its value. */
  readonly values: Float64Array;
  readonly texts: readonly string[];
  /** The bytes of each key, as two numbers. */
  readonly words: Int32Array;
}

const tables = new Map<string, KeyTable>();

/** The keys of the numbers below `count`: in their order, or in the one in which keys are put in and looked up. */
export function keyTable(count: number, order: 'sorted' | 'scrambled'): KeyTable {
  const name = `${order} ${count}`;
  const table =
    tables.get(name) ?? makeTable(count, order === 'sorted' ? (place) => place : (place) => scrambled(place, count));
  tables.set(name, table);
  return table;
}

function makeTable(count: number, numberAt: (place: number) => number): KeyTable {
  const values = Float64Array.from({ length: count }, (_, place) => numberAt(place));
  const bytes = Buffer.from(new ArrayBuffer(count * KEY_BYTES));
  for (let place = 0; place < count; place += 1) bytes.write(keyOf(values[place]!), place * KEY_BYTES, 'latin1');
  // Made from bytes, since such strings are flat, as strings from elsewhere are. In the order of the table, as Rust's keys lie.
  const texts = Array.from({ length: count }, (_, place) =>
    bytes.toString('latin1', place * KEY_BYTES, (place + 1) * KEY_BYTES),
  );
  return { count, values, texts, words: new Int32Array(bytes.buffer) };
}
