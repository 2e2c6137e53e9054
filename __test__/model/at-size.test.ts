import { describe, expect, it } from 'vitest';

import { timesAtSize } from '../../src/model/at-size.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { renderTimesAtSize } from '../../src/report/at-size-report.js';
import { around, completed } from '../records/sample-run.js';

/** The cells of a way that takes the given seconds at each size, one call a sample. */
function way(lane: 'js' | 'napi', seconds: Readonly<Record<number, number>>): CompletedRecord[] {
  return Object.entries(seconds).map(([size, time]) => ({
    ...completed({ family: 'work', lane, side: lane, variant: lane, calls: 1 }, around(time)),
    id: `work/${size}/${lane}`,
    size: Number(size),
  }));
}

const records = [...way('js', { 10: 1e-6, 1000: 1e-4 }), ...way('napi', { 10: 4e-6, 1000: 1e-5 })];

describe('the time at a size', () => {
  it('lies on a straight line through the logarithms of the neighbours', () => {
    const [js, napi] = timesAtSize(records, 100);
    expect(js!.between).toEqual([10, 1000]);
    expect(js!.time!.seconds).toBeCloseTo(1e-5, 6);
    expect(napi!.time!.seconds).toBeCloseTo(Math.sqrt(4e-6 * 1e-5), 7);
    expect(js!.time!.low).toBeLessThan(js!.time!.seconds);
    expect(js!.time!.high).toBeGreaterThan(js!.time!.seconds);
  });

  it('is the measured time at a measured size, and unknown outside', () => {
    expect(timesAtSize(records, 1000)[0]).toMatchObject({ between: [1000, 1000] });
    expect(timesAtSize(records, 1000)[0]!.time!.seconds).toBeCloseTo(1e-4, 5);
    for (const outside of [9, 1001]) {
      expect(timesAtSize(records, outside)[0]).toEqual({ record: records[0], between: [10, 1000] });
    }
    expect(timesAtSize(way('js', { 10: 1 }), 10)).toEqual([]);
  });

  it('is a table for each workload, the fastest way first', () => {
    const text = renderTimesAtSize(100, timesAtSize(records, 100), ['By a run.']);
    expect(text).toMatch(/work, size 100[^]*napi +6\.\d+ µs[^]*js +10\.\d µs[^]*the sizes 10 and 1000/);
    expect(renderTimesAtSize(5, timesAtSize(records, 5), [])).toContain("can't tell: measured from 10 to 1000");
  });
});
