import { describe, expect, it, test } from 'vitest';

import { loopOf, treeTopic, verifyTrees } from '../../../src/families/codec/tree.js';
import { keyTable, scrambled, type OpenTrees, type TreeWay } from '../../../src/families/codec/tree-ways.js';
import { codecCells, sampleCodecCells } from './codec-cells.js';

const planned = codecCells('tree_');

test('each cell has each value', async () => {
  expect(planned.length).toBeGreaterThan(30);
  await sampleCodecCells(planned, ({ batch = 1, workload }) =>
    workload.startsWith('tree_range') ? 50 : Math.max(batch, 3000),
  );
});

describe('the keys', () => {
  it.each([10_000, 100_000, 1_000_000])('of %i numbers are scrambled, and all there', (count) => {
    const numbers = Float64Array.from({ length: count }, (_, place) => scrambled(place, count));
    expect(numbers.slice(0, 3)).toEqual(Float64Array.of(0, 7_368_787 % count, (2 * 7_368_787) % count));
    expect(numbers.toSorted().every((number, place) => number === place)).toBe(true);
  });

  it('are the same as strings and as bytes', () => {
    const { texts, words, values } = keyTable(10_000, 'scrambled');
    expect(texts.slice(0, 2)).toEqual(['00000000', '00008787']);
    expect(Buffer.from(words.buffer as ArrayBuffer).toString('latin1')).toBe(texts.join(''));
    expect(texts.map(Number)).toEqual([...values]);
  });
});

/** Trees of a `Map`, which may do some of it wrong. */
function mapTrees(wrong: Partial<TreeWay> = {}): OpenTrees {
  return ({ texts, values, count: all }) => {
    const way = (map: Map<string, number>): TreeWay => ({
      size: () => map.size,
      get(start, count) {
        return texts.slice(start, start + count).reduce((sum, text) => sum + (map.get(text) ?? Number.NaN), 0);
      },
      put(start, count) {
        const before = map.size;
        for (let place = start; place < start + count; place += 1) map.set(texts[place]!, values[place]!);
        return map.size - before;
      },
      ranger: (count) => (first) => first * count + (count * (count - 1)) / 2,
      ...wrong,
    });
    return {
      fresh: () => way(new Map()),
      loaded: () => way(new Map(texts.slice(0, all).map((text, place) => [text, values[place]!]))),
    };
  };
}

describe('a wrong answer is noticed', () => {
  const cellOf = (workload: string) => ({ workload, lane: 'call', client: undefined, batch: 100 });
  it.each<[string, string, Partial<TreeWay>]>([
    ['a value', 'tree_get.10000', { get: () => 1 }],
    ['a missing key', 'tree_get.10000', { get: () => Number.NaN }],
    ['a size', 'tree_get.10000', { size: () => 9999 }],
    ['a range', 'tree_range.100', { ranger: (count) => (first) => first * count }],
    ['a key that is not new', 'tree_insert.10000', { put: (_, count) => count }],
    ['a key that is not put in', 'tree_insert.10000', { put: () => 0 }],
  ])('%s', (_, workload, wrong) => {
    const cell = cellOf(workload);
    const mismatch = expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' });
    expect(() => verifyTrees(cell, mapTrees())).not.toThrow();
    expect(() => verifyTrees(cell, mapTrees(wrong))).toThrow(mismatch);
  });

  it('the size of a tree that grows', () => {
    const cell = { ...cellOf('tree_insert.10000'), batch: 1000 };
    expect(loopOf(cell, mapTrees())(25_000)).toBe(treeTopic.resultOf(cell, 25_000));
    expect(() => loopOf(cell, mapTrees({ size: () => 10_000 }))(25_000)).toThrow('10000 keys instead of 5000');
  });
});

test('a part of a batch is worked on as well', async () => {
  const batched = planned.filter(({ cell: { batch, side, workload } }) => {
    return batch === 1000 && side !== 'rust' && !workload.endsWith('1000000');
  });
  for (const { cell, client } of batched) {
    const one = { ...cell, client, batch: 1000 };
    const loop = await treeTopic.open(one);
    expect(loop(1500), cell.id).toBe(treeTopic.resultOf(one, 1500));
  }
});
