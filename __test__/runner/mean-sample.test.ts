import { describe, expect, it } from 'vitest';

import { meanSample } from '../../src/runner/mean-sample.js';
import { LatencyHistogram } from '../../src/stats/latency-histogram.js';

function latencies(...values: number[]): string {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram.toBase64();
}

describe('the sample of several executions', () => {
  it('is the mean of their times and the largest of their peaks, with all latencies', () => {
    const sample = meanSample([
      { seconds: 1, cpuUserSeconds: 0.5, peakRssBytes: 10, longestStallMs: 3, latency: latencies(100, 200) },
      { seconds: 3, cpuUserSeconds: 1.5, peakRssBytes: 30, longestStallMs: 1, latency: latencies(300) },
    ]);
    expect(sample).toMatchObject({ seconds: 2, executions: 2, cpuUserSeconds: 1, peakRssBytes: 30, longestStallMs: 3 });
    const all = LatencyHistogram.fromBase64(sample.latency!);
    expect([all.count, all.quantile(1)]).toEqual([3, 300]);
    expect('behind' in sample).toBe(false);
  });

  it('leaves out what one of them lacks', () => {
    expect(meanSample([{ seconds: 1, gcSeconds: 0.1 }, { seconds: 2 }])).toEqual({ seconds: 1.5, executions: 2 });
  });

  it('is the execution itself where there is one', () => {
    const execution = { seconds: 1, latency: latencies(7) };
    expect(meanSample([execution])).toBe(execution);
  });
});
