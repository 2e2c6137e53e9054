import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { medianInPlace } from '../../src/stats/median-in-place.js';
import { interquartileRange, median, pseudoMedian, quantile } from '../../src/stats/quantile.js';
import { seededDraws } from '../../src/stats/random.js';
import { ratioOfForks, verdictOf } from '../../src/stats/ratio-interval.js';
import { studentQuantile } from '../../src/stats/student.js';
import { relativeSpread, summarize, rateOf, ratesOf } from '../../src/stats/summary.js';

const times = fc.array(fc.double({ min: 1e-6, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 30 });

describe('quantiles', () => {
  test('interpolate between order statistics as R, NumPy and Excel do', () => {
    expect(quantile([4, 1, 3, 2], 0.25)).toBe(1.75);
    expect(quantile([15, 20, 35, 40, 50], 0.4)).toBe(29);
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7]);
    expect(interquartileRange([1, 2, 3, 4, 5])).toBe(2);
  });

  test('have a pseudo-median that few wild values hardly move, and that uses the others better than the median', () => {
    expect(pseudoMedian([1, 2, 9])).toBe(2);
    expect(pseudoMedian([1, 2, 3, 10])).toBe(2.75);
    expect(pseudoMedian([...Array(8).keys(), 1e6, 1e6])).toBeLessThan(8);
    const draw = seededDraws(3);
    // The sum of twelve uniform values is nearly normal.
    const normal = () => Array.from({ length: 12 }, () => draw(1000) / 1000).reduce((a, b) => a + b) - 6;
    const of = (figure: (values: number[]) => number) =>
      relativeSpread(Array.from({ length: 500 }, () => 100 + figure(Array.from({ length: 15 }, normal))));
    expect(of(pseudoMedian)).toBeLessThan(0.9 * of(median));
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
  test('weight processes as a ratio does, however many samples each took', () => {
    const samples = [{ fork: 1, seconds: 4 }, ...Array.from({ length: 20 }, () => ({ fork: 2, seconds: 1 }))];
    expect(summarize(samples, { rows: 300 }).rowsPerSecond).toBeCloseTo(150);
  });

  test('give the rates of the typical sample', () => {
    const samples = [4, 1, 2].map((seconds) => ({ seconds }));
    expect(summarize(samples, { rows: 300, bytes: 6 * 1024 ** 2 })).toEqual({
      medianSeconds: 2,
      minSeconds: 1,
      maxSeconds: 4,
      spread: 3 / 4,
      rowsPerSecond: 150,
      mebibytesPerSecond: 3,
    });
    expect(summarize(samples, { rows: 300 })).not.toHaveProperty('mebibytesPerSecond');
    const {
      medianSeconds: _,
      minSeconds: __,
      maxSeconds: ___,
      spread: ____,
      ...rates
    } = summarize(samples, {
      rows: 10,
      queries: 6,
    });
    expect(rates).toEqual({ queriesPerSecond: 3 });
    expect([rateOf({ summary: rates }), rateOf({ summary: ratesOf({ rows: 10 }, 5) })]).toEqual([3, 2]);
  });

  test('have no spread around zero', () => {
    expect(relativeSpread([0, 0])).toBe(0);
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

describe('distributions', () => {
  test('have the quantiles and parts that tables print', () => {
    // Abramowitz and Stegun, tables 26.10 and 26.1.
    const quantiles = [1, 2, 3, 4, 8, 9, 60].map((degrees) => studentQuantile(0.975, degrees));
    for (const [at, expected] of [12.706, 4.303, 3.182, 2.776, 2.306, 2.262, 2.0].entries()) {
      expect(quantiles[at]).toBeCloseTo(expected, 3);
    }
  });
});

describe('the interval of a ratio', () => {
  const forks = fc.array(times, { minLength: 1, maxLength: 6 });

  test('of a cell to itself contains 1', () => {
    fc.assert(
      fc.property(forks, (values) => {
        const interval = ratioOfForks(values, values);
        expect(interval.ratio).toBe(1);
        expect(interval.low).toBeLessThanOrEqual(1);
        expect(interval.high).toBeGreaterThanOrEqual(1);
      }),
      { numRuns: 30 },
    );
  });

  test('is around the ratio, and is the same each time', () => {
    fc.assert(
      fc.property(forks, forks, (a, b) => {
        const interval = ratioOfForks(a, b);
        expect(interval).toEqual(ratioOfForks(a, b));
        expect(interval.low).toBeLessThanOrEqual(interval.ratio);
        expect(interval.high).toBeGreaterThanOrEqual(interval.ratio);
        expect(interval.low).toBeGreaterThan(0);
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    { forks: 2, samples: 10 },
    { forks: 3, samples: 5 },
    { forks: 5, samples: 3 },
    { forks: 5, samples: 10 },
  ])('of $forks forks with $samples samples covers the true ratio as often as it says', ({ forks: count, samples }) => {
    // Forks differ by more than the samples within them, as they do; the draws are seeded, so the count is fixed.
    const draw = seededDraws(7);
    const noise = (part: number): number => (part * draw(1_000_000)) / 1e6;
    const cell = (): number[][] =>
      Array.from({ length: count }, () => {
        const fork = 1 + noise(0.1);
        return Array.from({ length: samples }, () => fork + noise(0.05));
      });
    let covered = 0;
    for (let i = 0; i < 200; i++) {
      const { low, high } = ratioOfForks(cell(), cell());
      if (low <= 1 && high >= 1) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(188);
    expect(covered).toBeLessThan(200);
  });

  test('reaches beyond the extremes of few forks: two of each stand apart by chance in one of three cases', () => {
    const { low, high } = ratioOfForks(
      [
        [1.1, 1.1, 1.1],
        [1.12, 1.12, 1.12],
      ],
      [
        [1, 1, 1],
        [1.08, 1.08, 1.08],
      ],
    );
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(1.12);
  });

  test('is wider if forks differ than if as many samples of one process do', () => {
    const apart = [1, 1.1, 1.2, 1.3, 1.4].map((fork) => Array.from({ length: 6 }, () => fork));
    const width = (values: number[][]): number => {
      const { low, high } = ratioOfForks(values, [Array.from({ length: 6 }, () => 1)]);
      return high - low;
    };
    expect(width(apart)).toBeGreaterThan(width([apart.flat()]));
  });

  test('needs a value of each cell', () => {
    expect(() => ratioOfForks([], [[1]])).toThrow(RangeError);
    expect(() => ratioOfForks([[1]], [[]])).toThrow(RangeError);
  });
});

describe('verdicts', () => {
  test('follow the side of 1 that the interval is on, unless all of it is within the margin', () => {
    expect(verdictOf({ low: 1.01, high: 1.2 })).toBe('faster');
    expect(verdictOf({ low: 0.8, high: 0.99 })).toBe('slower');
    expect(verdictOf({ low: 0.96, high: 1.04 })).toBe('equivalent');
    expect(verdictOf({ low: 1.01, high: 1.04 })).toBe('equivalent');
    expect(verdictOf({ low: 1.01, high: 1.04 }, 0.02)).toBe('faster');
    expect(verdictOf({ low: 0.9, high: 1.04 })).toBe('inconclusive');
    expect(verdictOf({ low: 1, high: 1.2 })).toBe('inconclusive');
    expect(verdictOf({ low: 0.8, high: 1 })).toBe('inconclusive');
    // 0.1 / 1e6 and 1 / 1e7 are not the same double.
    expect(verdictOf(ratioOfForks([[0.1 / 1e6]], [[1 / 1e7]]), 0)).toBe('inconclusive');
  });
});
