import { expect, test } from 'vitest';
import type { Comparison, Sample } from '../../src/records/record.js';
import { renderRunHtml } from '../../src/report/html/run-page.js';
import { latencyIntervals, percentileIntervalText } from '../../src/report/percentile.js';
import { renderRunMarkdown } from '../../src/report/run-report.js';
import { disturbanceText, verdictsText } from '../../src/report/trust.js';
import { LatencyHistogram } from '../../src/stats/latency-histogram.js';
import { completed, sampleRun } from '../records/sample-run.js';

function histogramOf(nanoseconds: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of nanoseconds) histogram.record(value);
  return histogram;
}

/** Latencies of 2000 requests around a time, with a tail. */
const latenciesOf = (time: number): number[] => Array.from({ length: 2000 }, (_, at) => time * (1 + (at % 100) / 50));

/** A cell of request work with a process for each of the times. */
function cellOf(times: readonly number[]) {
  const fields = {
    family: 'kv',
    workload: 'get',
    lane: 'call',
    side: 'napi',
    variant: 'KvClient',
    operations: 2000,
  } as const;
  const record = completed(fields, times);
  const samples = record.samples.map((sample, index): Sample => {
    return { ...sample, latency: histogramOf(latenciesOf(times[index]!)).toBase64() };
  });
  return { ...record, batch: 1, connections: 1, samples, latency: histogramOf(times.flatMap(latenciesOf)).summary() };
}

test('the interval of a percentile is wide if processes differ, and narrow if they agree', () => {
  const widthOf = (times: readonly number[]): number => {
    const { low, high } = latencyIntervals(cellOf(times))!.p99;
    return high / low;
  };
  expect(widthOf([50_000, 50_000, 50_000, 50_000])).toBe(1);
  expect(widthOf([50_000, 51_000, 49_500, 50_500])).toBeLessThan(1.1);
  expect(widthOf([50_000, 100_000, 25_000, 70_000])).toBeGreaterThan(1.5);
  expect(latencyIntervals(cellOf([50_000]))).toBeUndefined();
});

test('the interval of the p99 covers the truth of many equal cells about as often as it says', () => {
  let state = 1;
  const uniform = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const cells = 60;
  let covered = 0;
  for (let cell = 0; cell < cells; cell += 1) {
    // Processes differ by 5%; requests have an exponential time.
    const samples = Array.from({ length: 6 }, (_, fork): Sample => {
      const scale = 50_000 * Math.exp(0.05 * normal());
      const values = Array.from({ length: 1000 }, () => -scale * Math.log(uniform()));
      return { fork: fork + 1, seconds: 1, latency: histogramOf(values).toBase64() };
    });
    const { low, high } = latencyIntervals({ ...cellOf([50_000]), samples })!.p99;
    const truth = 50_000 * Math.log(100);
    if (low <= truth && truth <= high) covered += 1;
  }
  expect(covered / cells).toBeGreaterThan(0.85);
});

test('tables have the interval, also of a compact file that keeps it', () => {
  const whole = cellOf([50_000, 60_000, 55_000]);
  expect(percentileIntervalText(whole, 'p99')).toMatch(/^\d+ µs \(\d+(\.\d)? µs–\d+ µs\)$/);
  const intervals = latencyIntervals(whole)!;
  const { histogram: _, ...latency } = whole.latency;
  const samples = whole.samples.map(({ latency: __, ...sample }) => sample);
  const compact = { ...whole, samples, latency: { ...latency, intervals } };
  expect(percentileIntervalText(compact, 'p99')).toBe(percentileIntervalText(whole, 'p99'));
  expect(percentileIntervalText({ ...compact, latency }, 'p99')).not.toContain('(');
});

test('a report says how many verdicts a run makes, and how many may be false by chance', async () => {
  const of = (fields: Partial<Comparison>): Comparison => ({ ...sampleRun().comparisons[0]!, ...fields });
  const comparisons = [
    ...Array.from({ length: 30 }, () => of({ kind: 'lane', verdict: 'faster' })),
    ...Array.from({ length: 10 }, () => of({ kind: 'best', verdict: 'inconclusive' })),
    of({ kind: 'noise-floor', verdict: 'faster' }),
    of({ kind: 'lane', verdict: 'server-bound' }),
    of({ kind: 'lane', verdict: 'inconclusive', noVerdict: 'too-short' }),
  ];
  expect(verdictsText({ comparisons })).toBe(
    'Verdicts: 40 comparisons, of which 30 are conclusive. The risk of each is 5.0%, so that up to 2 of them are expected to be false by chance.',
  );
  expect(verdictsText({ comparisons: [] })).toBeUndefined();
  const run = sampleRun();
  for (const text of [renderRunMarkdown(run), await renderRunHtml(run)]) expect(text).toContain(verdictsText(run)!);
});

test('a report says what others took of the samples', () => {
  const records = sampleRun().records.flatMap((record) => (record.outcome === 'completed' ? [record] : []));
  expect(disturbanceText(records)).toMatch(
    /\. 4 more were thrown away and taken again .* hypervisor took 9\.00 ms of those that stayed\.$/,
  );
  expect(disturbanceText(records.filter(({ engine }) => engine === 'embedded'))).toBeUndefined();
  // The figure is of the whole sample, however often the sample repeats its work.
  const repeated = records.map((record) => ({
    ...record,
    samples: record.samples.map((sample) => ({ ...sample, executions: 1000 })),
  }));
  expect(disturbanceText(repeated)).toBe(disturbanceText(records));
});
