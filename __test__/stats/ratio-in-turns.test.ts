import { describe, expect, it } from 'vitest';

import { LOOKS } from '../../src/stats/looks.js';
import { seededDraws } from '../../src/stats/random.js';
import { ratioInTurns } from '../../src/stats/ratio-in-turns.js';

const draw = seededDraws(7);
const uniform = (): number => (draw(1 << 30) + 0.5) / (1 << 30);
/** A normal deviate (Box and Muller, 1958). */
const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());

/** The ratios of blocks of two cells whose processes and samples vary, with this true ratio. */
function pairsOf(processes: number, truth = 1, { ofProcess = 0.05, ofSample = 0.03, blocks = 5 } = {}): number[][] {
  return Array.from({ length: processes }, () => {
    const process = ofProcess * Math.SQRT2 * normal();
    return Array.from({ length: blocks }, () => truth * Math.exp(process + ofSample * Math.SQRT2 * normal()));
  });
}

const misses = ({ low, high }: { low: number; high: number }, truth = 1): boolean => low > truth || high < truth;

describe('a ratio in turns', () => {
  it('is the mean of the pairs of processes, each by the median of its blocks', () => {
    const { ratio, low, high } = ratioInTurns([
      [2, 2, 20],
      [2, 2, 2],
      [2, 0.1, 2],
    ]);
    expect([ratio, low, high].map((value) => value.toFixed(9))).toEqual(Array(3).fill('2.000000000'));
  });

  it('has an interval that misses the truth in one of twenty cases', () => {
    for (const processes of [3, 5, 12]) {
      const missed = Array.from({ length: 1000 }, () => misses(ratioInTurns(pairsOf(processes, 1.5)), 1.5));
      const part = missed.filter(Boolean).length / missed.length;
      expect(part).toBeGreaterThan(0.025);
      expect(part).toBeLessThan(0.075);
    }
  });

  it('looked at several times, errs as seldom as at one look', () => {
    const [risk, runs] = [0.0221, 2000];
    let wrong = 0;
    for (let run = 0; run < runs; run++) {
      const pairs = pairsOf(LOOKS.at(-1)!);
      if (LOOKS.some((look) => misses(ratioInTurns(pairs.slice(0, look), { risk })))) wrong += 1;
    }
    expect(wrong / runs).toBeLessThan(0.065);
    expect(wrong / runs).toBeGreaterThan(0.02);
  });

  it('of the best of several equal cells, chosen by cross-validation, errs little more often', () => {
    const [risk, runs] = [0.0221, 4000];
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    for (const [cells, processes, choosing] of [
      [2, 3, 3],
      [4, 3, 3],
      [2, 8, 8],
      [4, 8, 8],
      // The first three choose, and the others follow.
      [4, 6, 3],
      [4, 12, 3],
    ] as const) {
      let wrong = 0;
      for (let run = 0; run < runs; run++) {
        const times = Array.from({ length: cells }, () => Array.from({ length: processes }, () => 0.05 * normal()));
        const winners = Array.from({ length: processes }, (_, process) => {
          const totals = times.map((ofCell) =>
            sum(ofCell.filter((_time, index) => index < choosing && index !== process)),
          );
          return totals.indexOf(Math.min(...totals));
        });
        const pairs = winners.map((winner, process) => [Math.exp(0.05 * normal() - times[winner]![process]!)]);
        const chosenPart = new Set(winners).size > 1 ? choosing / processes : 0;
        if (misses(ratioInTurns(pairs, { risk, chosenPart }))) wrong += 1;
      }
      expect(wrong / runs).toBeLessThan(1.8 * risk);
    }
  });

  it('by one pair of processes rests on its blocks, and by one block says nothing of its error', () => {
    const { low, high } = ratioInTurns([[1, 1.1, 0.9, 1]]);
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(1);
    expect(ratioInTurns([[1.5]])).toMatchObject({ low: expect.closeTo(1.5), high: expect.closeTo(1.5) });
    expect(() => ratioInTurns([[]])).toThrow(RangeError);
  });
});
