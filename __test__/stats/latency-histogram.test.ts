import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../src/stats/latency-histogram.js';

const HOUR = 3_600_000_000_000;

const of = (values: readonly number[]): LatencyHistogram => {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
};

/** The numbers in which two equal histograms agree. */
const shapeOf = (histogram: LatencyHistogram): number[] => [
  histogram.count,
  ...[0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1].map((part) => histogram.quantile(part)),
];

interface Fixture {
  readonly cases: readonly {
    readonly by: 'rust' | 'javascript';
    readonly values: readonly { readonly first: number; readonly step: number; readonly count: number }[];
    readonly base64: string;
  }[];
}

describe('LatencyHistogram', () => {
  it('keeps three digits within its bounds', () => {
    expect([0.2, 1.5, 820, 2047, 2048, 1_240_000].map((value) => of([value]).quantile(1))).toEqual([
      1, 2, 820, 2047, 2049, 1_240_063,
    ]);
    expect(of([Number.POSITIVE_INFINITY]).quantile(0.5) / HOUR).toBeCloseTo(1, 2);
    expect(shapeOf(new LatencyHistogram())).toEqual(Array.from({ length: 10 }, () => 0));
  });

  it('has the percentiles of the result files', () => {
    const { histogram, ...percentiles } = of(Array.from({ length: 1000 }, (_, index) => index + 1)).summary();
    expect(percentiles).toEqual({ p50: 500, p90: 900, p95: 950, p99: 990, p999: 999, max: 1000 });
    expect(LatencyHistogram.fromBase64(histogram!).count).toBe(1000);
  });

  it('survives its text', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: HOUR }), { maxLength: 100 }), (values) => {
        const histogram = of(values);
        expect(shapeOf(LatencyHistogram.fromBase64(histogram.toBase64()))).toEqual(shapeOf(histogram));
      }),
      { numRuns: 50 },
    );
  });

  it('merges to the histogram of all', () => {
    const values = fc.array(fc.integer({ min: 1, max: HOUR }), { maxLength: 100 });
    fc.assert(
      fc.property(values, values, (left, right) => {
        const texts = [of(left).toBase64(), of(right).toBase64()];
        expect(shapeOf(LatencyHistogram.merged(texts)!)).toEqual(shapeOf(of([...left, ...right])));
      }),
      { numRuns: 50 },
    );
    expect(LatencyHistogram.merged([])).toBeUndefined();
  });

  it.each(['', 'no base64!', 'AAAA', 'HISTFAAAAA=='])('refuses %o', (text) => {
    expect(() => LatencyHistogram.fromBase64(text)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  });

  it('reads what either language wrote', () => {
    const file = new URL('../fixtures/latency-histograms.json', import.meta.url);
    const { cases } = JSON.parse(readFileSync(file, 'utf8')) as Fixture;
    expect(new Set(cases.map(({ by }) => by))).toEqual(new Set(['rust', 'javascript']));
    for (const { values, base64 } of cases) {
      const all = values.flatMap(({ first, step, count }) =>
        Array.from({ length: count }, (_, index) => first + index * step),
      );
      expect(shapeOf(LatencyHistogram.fromBase64(base64))).toEqual(shapeOf(of(all)));
    }
  });
});
