import { describe, expect, it } from 'vitest';

import { typicalSeconds } from '../../src/stats/median-polish.js';

describe('the typical time of cells that take turns', () => {
  // The machine gets slower from block to block.
  const slowness = [1, 1.2, 1.5, 2, 3, 4];
  const samplesOf = (seconds: number, blocks: readonly number[]) =>
    blocks.map((block) => ({ block, seconds: seconds * slowness[block]! }));

  it('is the time in blocks that all took part in, whichever they took part in', () => {
    const [a, b, c] = typicalSeconds([
      samplesOf(1, [0, 1, 2, 3, 4, 5]),
      samplesOf(1.1, [0, 1]),
      samplesOf(0.9, [2, 4, 5]),
    ]);
    expect(b! / a!).toBeCloseTo(1.1, 2);
    expect(c! / a!).toBeCloseTo(0.9, 2);
  });

  it('is the median if samples have no blocks', () => {
    expect(typicalSeconds([[{ seconds: 1 }, { seconds: 3 }, { seconds: 2 }]])[0]).toBeCloseTo(2);
  });

  it('is hardly moved by a wild sample', () => {
    const wild = samplesOf(1, [0, 1, 2, 3, 4]).map((sample) =>
      sample.block === 3 ? { ...sample, seconds: 50 } : sample,
    );
    const [a, b] = typicalSeconds([wild, samplesOf(1.1, [0, 1, 2, 3, 4])]);
    expect(b! / a!).toBeCloseTo(1.1, 1);
  });
});
