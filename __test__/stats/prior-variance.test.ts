import { describe, expect, it } from 'vitest';

import { digamma, moderated, priorVariance, trigamma } from '../../src/stats/prior-variance.js';
import { seededDraws } from '../../src/stats/random.js';
import { ratioInTurns, varianceBetween } from '../../src/stats/ratio-in-turns.js';

const draw = seededDraws(11);
const uniform = (): number => (draw(1 << 30) + 0.5) / (1 << 30);
/** A normal deviate (Box and Muller, 1958). */
const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
const chiSquare = (degrees: number): number =>
  Array.from({ length: degrees }, () => normal() ** 2).reduce((sum, value) => sum + value, 0);

describe('the variance that comparisons have in common', () => {
  it('is estimated by functions with these values', () => {
    // Abramowitz and Stegun, tables 6.1 and 6.2.
    expect(digamma(1)).toBeCloseTo(-0.5772156649, 10);
    expect(digamma(1.5)).toBeCloseTo(0.03648997398, 10);
    expect(trigamma(1)).toBeCloseTo(Math.PI ** 2 / 6, 10);
    expect(trigamma(2)).toBeCloseTo(Math.PI ** 2 / 6 - 1, 10);
  });

  it('is found, with how much the variances of comparisons differ', () => {
    const [degrees, variance] = [4, 0.01];
    const each = Array.from({ length: 4000 }, () => {
      const own = (degrees * variance) / chiSquare(degrees);
      return { variance: (own * chiSquare(2)) / 2, degrees: 2 };
    });
    const prior = priorVariance(each)!;
    expect(prior.degrees).toBeGreaterThan(3);
    expect(prior.degrees).toBeLessThan(5.5);
    expect(Math.sqrt(prior.variance / variance)).toBeCloseTo(1, 1);
  });

  it('is the common variance if they do not differ, with eight degrees at most', () => {
    const each = Array.from({ length: 500 }, () => ({ variance: (0.01 * chiSquare(2)) / 2, degrees: 2 }));
    const prior = priorVariance(each)!;
    expect(prior.degrees).toBeGreaterThan(7);
    expect(prior.degrees).toBeLessThanOrEqual(8);
    expect(prior.variance / 0.01).toBeCloseTo(1, 0);
  });

  it('is unknown from few comparisons, and from none that varies', () => {
    expect(priorVariance(Array.from({ length: 7 }, () => ({ variance: 1, degrees: 2 })))).toBeUndefined();
    expect(priorVariance(Array.from({ length: 20 }, () => ({ variance: 0, degrees: 2 })))).toBeUndefined();
    expect(priorVariance([])).toBeUndefined();
  });

  it('moderates the variance of each by the degrees of both', () => {
    const own = { variance: 4, degrees: 2 };
    expect(moderated(own, { variance: 1, degrees: 4 })).toEqual({ variance: 2, degrees: 6 });
    expect(moderated(own, undefined)).toBe(own);
  });

  it('leaves the risk of intervals, and makes them narrower', () => {
    const [risk, comparisons, runs] = [0.0221, 24, 150];
    const missed = { plain: 0, moderated: 0 };
    const widths = { plain: 0, moderated: 0 };
    for (let run = 0; run < runs; run += 1) {
      const each = Array.from({ length: comparisons }, () => {
        const spread = 0.1 * Math.sqrt(4 / chiSquare(4));
        return Array.from({ length: 3 }, () => [Math.exp(spread * normal())]);
      });
      const prior = priorVariance(each.map(varianceBetween));
      for (const pairs of each) {
        for (const [how, options] of [
          ['plain', { risk }],
          ['moderated', { risk, prior }],
        ] as const) {
          const { low, high } = ratioInTurns(pairs, options);
          if (low > 1 || high < 1) missed[how] += 1;
          widths[how] += Math.log(high / low);
        }
      }
    }
    expect(missed.moderated / (comparisons * runs)).toBeLessThan(1.6 * risk);
    expect(missed.plain / (comparisons * runs)).toBeLessThan(1.6 * risk);
    expect(widths.moderated).toBeLessThan(0.65 * widths.plain);
  });
});
