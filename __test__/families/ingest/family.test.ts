import { afterAll, beforeAll, expect, test } from 'vitest';

import { ingestFamily } from '../../../src/families/ingest/family.js';
import type { OpenFamily } from '../../../src/families/workload.js';
import { CheckedStopwatch, checkCell } from '../measurements/checked-stopwatch.js';

const OPTIONS = { rows: 3000, workers: 1, engines: {}, operations: 2500, connections: [2] };
const CELLS = ingestFamily.plan(OPTIONS);

/** A checked stopwatch that also takes latencies. */
class LoadStopwatch extends CheckedStopwatch {
  override addRequests(): void {}
}

let family: OpenFamily;

beforeAll(async () => void (family = await ingestFamily.open(OPTIONS, CELLS)));

afterAll(() => family.close());

test('every stage runs in Rust and through the addon, and codecs in JavaScript, too', () => {
  const sides = (workload: string): string =>
    CELLS.filter(({ cell }) => cell.workload === workload)
      .map(({ cell }) => cell.side)
      .join(' ');
  const workloads = [...new Set(CELLS.map(({ cell }) => cell.workload))];
  expect(Object.fromEntries(workloads.map((workload) => [workload, sides(workload)]))).toMatchInlineSnapshot(`
    {
      "columnar_decode": "rust napi js js",
      "columnar_encode": "rust napi js js",
      "columnar_fast_wal": "rust napi",
      "columnar_metadata": "rust napi",
      "columnar_to_arrow": "rust napi",
      "columnar_to_points": "rust napi",
      "columnar_wal": "rust napi",
      "columnar_wal_durable": "rust napi",
      "line_protocol_encode": "rust napi js",
      "line_protocol_metadata": "rust napi",
      "line_protocol_parse": "rust napi js",
      "line_protocol_wal": "rust napi",
      "soak_columnar": "rust napi js",
      "soak_lines": "rust napi js",
      "soak_rows": "rust napi js",
    }
  `);
  expect(new Set(CELLS.map(({ cell }) => cell.id)).size).toBe(CELLS.length);
});

test.each(CELLS.map((planned) => [planned.cell.id, planned] as const))('%s', async (_, planned) => {
  await expect(checkCell(family, planned, () => new LoadStopwatch())).resolves.toBeUndefined();
});
