import { expect, test } from 'vitest';

import { percentileText } from '../../src/report/percentile.js';
import { completed } from '../records/sample-run.js';

const latency = { p50: 1e6, p90: 2e6, p95: 3e6, p99: 4e6, p999: 5e6, max: 6e6, histogram: 'HISTFAAAAA==' };
const cell = {
  family: 'hybrid',
  workload: 'scan',
  lane: 'call',
  side: 'napi',
  variant: 'ShardClient',
  rows: 750_000,
} as const;

function shown(record: ReturnType<typeof completed>): string[] {
  return [percentileText({ ...record, latency }, 'p50'), percentileText({ ...record, latency }, 'p99')];
}

test('a percentile needs ten times as many requests as are beyond it', () => {
  const few = completed({ ...cell, batch: 750_000 }, [1, 1]);
  expect(shown(few)).toEqual(['—', '—']);
  expect(shown(completed({ ...cell, batch: 1000 }, [1, 1]))).toEqual(['1.00 ms', '4.00 ms']);
});

test('work on a whole table counts its requests, not its rows', () => {
  const whole = completed({ ...cell, batch: 1, requests: 1 }, [1, 1, 1]);
  expect(shown(whole)).toEqual(['—', '—']);
  const often = { ...whole, samples: whole.samples.map((sample) => ({ ...sample, executions: 10 })) };
  expect(shown(often)).toEqual(['1.00 ms', '—']);
});
