import { expect, test } from 'vitest';
import {
  intervalOf,
  isBroken,
  isGeneratorBound,
  offeredLoadFindings,
  offeredLoadTable,
  stepOf,
} from '../../bench/lab/offered-load-table.mjs';
import { LatencyHistogram } from '../../src/stats/latency-histogram.js';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';
import { completed } from '../records/sample-run.js';

const percentiles = (p99: number) => ({ p50: p99 / 4, p99, p999: 2 * p99, max: 3 * p99 });

/** A step of the client `side`, by the p99 of its latency and of its generator's lateness. */
function step(side: string, offered: number, achieved: number, p99: number, behind = 1000) {
  const fields = { family: 'kv', workload: 'get', variant: 'Client', connections: 32, clientCpu: 0.52, serverCpu: 0.4 };
  return { ...fields, side, offered, achieved, latency: percentiles(p99), behind: percentiles(behind) };
}

const STEPS = [
  step('rust', 10_000, 9990, 82_000),
  step('js', 10_000, 9900, 410_000),
  step('rust', 20_000, 19_900, 120_000, 20_000),
  step('js', 20_000, 12_000, 90e6, 80e6),
  step('rust', 30_000, 29_900, 25e6),
];

test('a client breaks if it falls behind the rate, or its p99 is too long', () => {
  expect(STEPS.map(isBroken)).toEqual([false, false, false, true, true]);
});

test('client by client, with the steps at which it broke and at which its generator was the limit', () => {
  const { table, notes } = offeredLoadTable(STEPS);
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Benchmark | Client | Offered | Achieved | Median | p99 | Generator behind | Generator CPU | Server CPU |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | kv get | rust · Client | 10.0 K/s | 9.99 K/s | 20.5 µs | 82.0 µs | 1.00 µs | — | 40% |
    | kv get | rust · Client | 20.0 K/s | 19.9 K/s | 30.0 µs | 120 µs | 20.0 µs | — | 40% |
    | kv get | rust · Client | 30.0 K/s | 29.9 K/s (broke) | 6.25 ms | 25.0 ms | 1.00 µs | — | 40% |
    | kv get | js · Client | 10.0 K/s | 9.90 K/s | 103 µs | 410 µs | 1.00 µs | — | 40% |
    | kv get | js · Client | 20.0 K/s | 12.0 K/s (broke) | 22.5 ms | 90.0 ms | 80.0 ms | — (generator-bound) | 40% |
    "
  `);
  expect(notes).toMatchInlineSnapshot(`
    [
      "Open loops: requests are sent at the offered rate, whether answers come or not, and a latency counts from the time at which its request was due. Generator behind: the p99 of the delays with which the client's own process sent. Generator CPU: the part of its thread that the requests took; the turns of Node's event loop until a request is due are not in it. Server CPU: where 100% is one busy core.",
      "(broke): the client achieved less than 97% of the rate, or its p99 is above 20.0 ms.",
      "(generator-bound): the thread of the generator had less than 10% of its time left, or its own lateness was more than half of the p99.",
    ]
  `);
  expect(offeredLoadTable(STEPS.slice(0, 1)).notes).toHaveLength(2);
  expect(offeredLoadTable([])).toMatchObject({ table: { rows: [] }, notes: [] });
});

test('the findings have the rate that each client kept, and the rate at which it broke', () => {
  expect(offeredLoadFindings(STEPS)).toMatchInlineSnapshot(`
    [
      "kv get, rust · Client: kept 20.0 K/s (p99 120 µs), broke at 30.0 K/s (29.9 K/s, p99 25.0 ms).",
      "kv get, js · Client: kept 10.0 K/s (p99 410 µs), broke at 20.0 K/s (12.0 K/s, p99 90.0 ms; its generator was the limit).",
    ]
  `);
  expect(offeredLoadFindings([step('napi', 10, 10, 1000)])[0]).toMatch(/ was offered no more\.$/);
  expect(offeredLoadFindings([step('napi', 10, 5, 1000)])[0]).toContain('kept no rate, broke at 10/s');
  // A pause of the machine broke the first step, but not the client.
  const paused = [step('napi', 10, 5, 1000), step('napi', 20, 20, 1000), step('napi', 30, 20, 1000)];
  expect(offeredLoadFindings(paused)[0]).toContain('kept 20/s (p99 1.00 µs), but not 10/s, broke at 30/s');
});

test('a step has the figures of its record', () => {
  const fields = {
    family: 'kv',
    workload: 'get',
    engine: 'redis',
    lane: 'call',
    side: 'rust',
    variant: 'Client',
  } as const;
  const record = completed({ ...fields, operations: 1000, connections: 32, rate: 2000 }, [0.5, 0.51, 0.52]);
  const latency = { ...percentiles(4000), p90: 0, p95: 0, histogram: '' };
  expect(stepOf({ ...record, latency, behind: latency })).toMatchInlineSnapshot(`
    {
      "achieved": 1961.04,
      "behind": {
        "max": 12000,
        "p50": 1000,
        "p99": 4000,
        "p999": 8000,
      },
      "clientCpu": 1,
      "connections": 32,
      "family": "kv",
      "generatorCpu": 1,
      "intervals": {
        "p50": undefined,
        "p99": undefined,
      },
      "latency": {
        "max": 12000,
        "p50": 1000,
        "p99": 4000,
        "p999": 8000,
      },
      "offered": 2000,
      "processes": 3,
      "serverCpu": undefined,
      "side": "rust",
      "variant": "Client",
      "workload": "get",
    }
  `);
});

test('a point has its processes, the interval over them, and the part of its thread that the requests took', () => {
  const histogram = (nanoseconds: number): string => {
    const latency = new LatencyHistogram();
    for (let request = 0; request < 100; request += 1) latency.record(nanoseconds);
    return latency.toBase64();
  };
  const fields = {
    family: 'kv',
    workload: 'get',
    engine: 'redis',
    lane: 'call',
    side: 'js',
    variant: 'Client',
  } as const;
  const cell = { ...fields, operations: 1000, connections: 32, rate: 2000 };
  const times = [100_000, 110_000, 90_000, 105_000, 95_000];
  const record = completed(cell, [0.5, 0.5, 0.5, 0.5, 0.5]);
  const samples = record.samples.map((sample, fork) => ({
    ...sample,
    fork: fork + 1,
    mainThreadCpuSeconds: 0.98 * sample.seconds,
    idleSeconds: 0.48 * sample.seconds,
    latency: histogram(times[fork]!),
  }));
  const latency = { ...percentiles(100_000), p90: 0, p95: 0, histogram: '' };
  const measured = { ...record, samples, latency, behind: latency };
  const point = stepOf(measured);
  expect([point.processes, point.generatorCpu]).toEqual([5, 0.5]);
  expect(offeredLoadTable([point]).notes[1]).toMatch(/^All clients have as many connections/);
  const [low, high] = point.intervals!.p50!;
  expect(low).toBeGreaterThan(89_000);
  expect(low).toBeLessThan(99_000);
  expect(high).toBeGreaterThan(100_500);
  expect(high).toBeLessThan(112_000);
  expect(intervalOf([1])).toBeUndefined();
  expect(offeredLoadTable([point]).table.rows[0]).toContainEqual(
    expect.stringMatching(/^25\.0 µs \(\d\d\.\d µs–1\d\d µs\)$/),
  );
});

test('a generator whose thread has no time left is marked, however punctually it sends', () => {
  const at = (generatorCpu?: number) => ({ ...step('js', 10_000, 10_000, 5e6), generatorCpu });
  expect([0.5, 0.89, 0.9, 1.02, undefined].map((cpu) => isGeneratorBound(at(cpu)))).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
  const { table, notes } = offeredLoadTable([at(0.95)]);
  expect(table.rows[0]).toContain('95% (generator-bound)');
  expect(notes.at(-1)).toMatch(/^\(generator-bound\): /);
});
