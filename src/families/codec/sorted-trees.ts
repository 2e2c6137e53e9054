/** Trees of `sorted-btree`, whose keys are strings. */
import { type SortedTree, sortedTree } from '../../clients/sorted-btree.js';
import { type KeyTable, RANGE_KEYS, keyTable, type OpenTrees, type TreeWay, stringWay } from './tree-ways.js';

const loadedTrees = new Map<number, SortedTree<string, number>>();

export const sortedTrees: OpenTrees = (keys) => ({
  fresh: () => wayOf(sortedTree(), keys),
  loaded() {
    const tree = loadedTrees.get(keys.count) ?? sortedTree<number>();
    loadedTrees.set(keys.count, tree);
    const way = wayOf(tree, keys);
    if (tree.size === 0) way.put(0, keys.count);
    return way;
  },
});

function wayOf(tree: SortedTree<string, number>, keys: KeyTable): TreeWay {
  return stringWay(tree, keys, (count) => {
    const { texts } = keyTable(RANGE_KEYS, 'sorted');
    let sum = 0;
    const take = (_key: string, value: number): void => {
      sum += value;
    };
    return (first) => {
      sum = 0;
      tree.forRange(texts[first]!, texts[first + count - 1]!, true, take);
      return sum;
    };
  });
}
