/** Trees of the addon: an object with methods by napi-rs, and functions whose keys and values are in memory that is made once. */
import { crossing } from '../../crossing-addon.js';
import {
  KEY_BYTES,
  type KeyTable,
  RANGE_KEYS,
  keyTable,
  type OpenTrees,
  type TreeWay,
  stringWay,
} from './tree-ways.js';

const { KeyTree } = crossing.codec;
type KeyTree = InstanceType<typeof KeyTree>;

const loadedTrees = new Map<number, KeyTree>();

/** The tree with all keys of a table. */
function loadedTree({ count, words, values }: KeyTable): KeyTree {
  const tree = loadedTrees.get(count) ?? new KeyTree();
  loadedTrees.set(count, tree);
  if (tree.size === 0) tree.putter()(new Uint8Array(words.buffer), values);
  return tree;
}

/** Trees whose keys are strings, one a call. */
export const objectTrees: OpenTrees = (keys) => ({
  fresh: () => objectWay(new KeyTree(), keys),
  loaded: () => objectWay(loadedTree(keys), keys),
});

function objectWay(tree: KeyTree, keys: KeyTable): TreeWay {
  return stringWay(tree, keys, (count) => {
    const { texts } = keyTable(RANGE_KEYS, 'sorted');
    return (first) => {
      const found = tree.range(texts[first]!, count);
      let sum = 0;
      for (let place = 0; place < found.length; place += 1) sum += found[place]!;
      return sum;
    };
  });
}

/** Trees whose keys and values cross in memory that is made once, a batch a call. */
export const frameTrees: OpenTrees = (keys, batch) => {
  const pool = new Pool(keys, batch);
  return {
    fresh: () => frameWay(new KeyTree(), pool),
    loaded: () => frameWay(loadedTree(keys), pool),
  };
};

/** The memory in which a batch crosses. */
class Pool {
  readonly values: Float64Array;
  readonly #keys: Uint8Array;
  readonly #words: Int32Array;
  readonly #table: KeyTable;

  constructor(table: KeyTable, batch: number) {
    this.#table = table;
    this.values = new Float64Array(batch);
    this.#keys = new Uint8Array(batch * KEY_BYTES);
    this.#words = new Int32Array(this.#keys.buffer);
  }

  /** Copies keys of the table, one by one as a program does that gathers them. Returns their memory. */
  keysFrom(start: number, count: number): Uint8Array {
    const [from, to] = [this.#table.words, this.#words];
    for (let word = 0; word < 2 * count; word += 1) to[word] = from[2 * start + word]!;
    return to.length === 2 * count ? this.#keys : this.#keys.subarray(0, count * KEY_BYTES);
  }

  /** Copies values of the table. */
  valuesFrom(start: number, count: number): void {
    const [from, to] = [this.#table.values, this.values];
    for (let place = 0; place < count; place += 1) to[place] = from[start + place]!;
  }
}

function frameWay(tree: KeyTree, pool: Pool): TreeWay {
  const [getAll, putAll] = [tree.getter(), tree.putter()];
  const { values } = pool;
  return {
    size: () => tree.size,
    get(start, count) {
      getAll(pool.keysFrom(start, count), values);
      return sumOf(values, count);
    },
    put(start, count) {
      pool.valuesFrom(start, count);
      return putAll(pool.keysFrom(start, count), values);
    },
    ranger(count) {
      const { words } = keyTable(RANGE_KEYS, 'sorted');
      const range = tree.ranger();
      const first = new Uint8Array(KEY_BYTES);
      const firstWords = new Int32Array(first.buffer);
      const found = new Float64Array(count);
      return (number) => {
        firstWords[0] = words[2 * number]!;
        firstWords[1] = words[2 * number + 1]!;
        return sumOf(found, range(first, found));
      };
    },
  };
}

/** The sum of the first values. It is added up in four parts, since an addition waits for the previous addition. */
function sumOf(values: Float64Array, count: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const fours = count - (count % 4);
  for (let place = 0; place < fours; place += 4) {
    first += values[place]!;
    second += values[place + 1]!;
    third += values[place + 2]!;
    fourth += values[place + 3]!;
  }
  for (let place = fours; place < count; place += 1) first += values[place]!;
  return first + second + (third + fourth);
}
