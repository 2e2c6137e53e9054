import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { medianInPlace } from '../../src/stats/median-in-place.js';
import { interquartileRange, median, quantile } from '../../src/stats/quantile.js';
import { seededDraws } from '../../src/stats/random.js';
import { ratioOfMedians, verdictOf } from '../../src/stats/ratio-interval.js';
import { isSteady, relativeSpread, summarize } from '../../src/stats/summary.js';

const times = fc.array(fc.double({ min: 1e-6, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 30 });

describe('quantiles', () => {
  test('interpolate between order statistics as R, NumPy and Excel do', () => {
    expect(quantile([4, 1, 3, 2], 0.25)).toBe(1.75);
    expect(quantile([15, 20, 35, 40, 50], 0.4)).toBe(29);
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7]);
    expect(interquartileRange([1, 2, 3, 4, 5])).toBe(2);
  });

  test('lie between the least and the greatest value and grow with p', () => {
    fc.assert(
      fc.property(
        times,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, p, q) => {
          const low = quantile(values, Math.min(p, q));
          const high = quantile(values, Math.max(p, q));
          expect(low).toBeGreaterThanOrEqual(Math.min(...values));
          expect(high).toBeLessThanOrEqual(Math.max(...values));
          expect(low).toBeLessThanOrEqual(high);
        },
      ),
    );
  });

  test('the median found by selection is the median', () => {
    const withTies = fc.array(
      fc.oneof(fc.double({ min: -1e9, max: 1e9, noNaN: true }), fc.integer({ min: 0, max: 3 })),
      {
        minLength: 1,
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(withTies, (values) => {
        expect(medianInPlace(Float64Array.from(values))).toBeCloseTo(median(values), 12);
      }),
    );
    expect(() => medianInPlace(new Float64Array())).toThrow(RangeError);
  });

  test('leave their input as it was', () => {
    const values = [3, 1, 2];
    quantile(values, 0.5);
    expect(values).toEqual([3, 1, 2]);
  });

  test('refuse what has no quantile', () => {
    expect(() => median([])).toThrow(RangeError);
    expect(() => quantile([1], 1.1)).toThrow(RangeError);
    expect(() => quantile([1], Number.NaN)).toThrow(RangeError);
  });
});

describe('summaries', () => {
  test('give the rates of the median sample', () => {
    const samples = [3, 1, 2, 5, 4].map((seconds) => ({ seconds }));
    expect(summarize(samples, { rows: 300, bytes: 6 * 1024 ** 2 })).toEqual({
      medianSeconds: 3,
      minSeconds: 1,
      maxSeconds: 5,
      spread: 2 / 3,
      rowsPerSecond: 100,
      mebibytesPerSecond: 2,
    });
    expect(summarize(samples, { rows: 300 })).not.toHaveProperty('mebibytesPerSecond');
  });

  test('stay finite where the clock saw no time pass', () => {
    expect(summarize([{ seconds: 0 }], { rows: 10, bytes: 240 }).rowsPerSecond).toBe(10 / 1e-9);
    expect(relativeSpread([0, 0])).toBe(0);
  });

  test('times are steady once there are enough of them, close together', () => {
    expect(isSteady([1, 1.01, 0.99, 1, 1], 0.05, 5)).toBe(true);
    expect(isSteady([1, 1.01, 0.99, 1], 0.05, 5)).toBe(false);
    expect(isSteady([1, 1.5, 0.7, 1.2, 0.9], 0.05, 5)).toBe(false);
    expect(isSteady([], 0.05, 0)).toBe(false);
  });
});

describe('draws', () => {
  test('repeat for a seed, differ between seeds, and stay below their bound', () => {
    const hundred = (seed: number): number[] => {
      const draw = seededDraws(seed);
      return Array.from({ length: 100 }, () => draw(7));
    };
    expect(hundred(1)).toEqual(hundred(1));
    expect(hundred(1)).not.toEqual(hundred(2));
    expect(new Set(hundred(1))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
  });

  test('fall evenly', () => {
    const draw = seededDraws(42);
    const hits = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 100_000; i++) hits[draw(10)]!++;
    // Five standard deviations of a count with mean 10 000.
    for (const count of hits) expect(Math.abs(count - 10_000)).toBeLessThan(475);
  });
});

describe('the interval of a ratio', () => {
  test('of a set to itself contains 1, and reads no difference', () => {
    fc.assert(
      fc.property(times, (values) => {
        const interval = ratioOfMedians(values, values);
        expect(interval.ratio).toBe(1);
        expect(interval.low).toBeLessThanOrEqual(1);
        expect(interval.high).toBeGreaterThanOrEqual(1);
        expect(verdictOf(interval)).toBe('no difference');
      }),
      { numRuns: 30 },
    );
  });

  test('lies between the extreme ratios and is the same each time', () => {
    fc.assert(
      fc.property(times, times, (a, b) => {
        const interval = ratioOfMedians(a, b);
        expect(interval).toEqual(ratioOfMedians(a, b));
        expect(interval.low).toBeLessThanOrEqual(interval.high);
        expect(interval.low).toBeGreaterThanOrEqual(Math.min(...a) / Math.max(...b));
        expect(interval.high).toBeLessThanOrEqual(Math.max(...a) / Math.min(...b));
      }),
      { numRuns: 30 },
    );
  });

  test('covers the true ratio about as often as it says', () => {
    // Two sets of ten from one distribution, so that the true ratio is 1; the draws are seeded, so the count is fixed.
    const draw = seededDraws(7);
    const noisy = (): number[] => Array.from({ length: 10 }, () => 1 + draw(1_000_000) / 1e7);
    let covered = 0;
    for (let i = 0; i < 200; i++) {
      const { low, high } = ratioOfMedians(noisy(), noisy());
      if (low <= 1 && high >= 1) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(184);
    expect(covered).toBeLessThan(200);
  });

  test('verdicts follow the side of 1 it lies on, its ends included', () => {
    expect(verdictOf({ low: 1.01, high: 1.2 })).toBe('faster');
    expect(verdictOf({ low: 0.8, high: 0.99 })).toBe('slower');
    expect(verdictOf({ low: 1, high: 1.2 })).toBe('no difference');
    expect(verdictOf({ low: 0.8, high: 1 })).toBe('no difference');
    // 0.1 / 1e6 and 1 / 1e7 are not the same double.
    expect(verdictOf(ratioOfMedians([0.1 / 1e6], [1 / 1e7]))).toBe('no difference');
  });
});
