import { expect, test } from 'vitest';
import { crossoverFindings, crossoverTable } from '../../bench/lab/crossover.mjs';
import type { CompletedRecord, Side } from '../../src/records/record.js';
import { completed, network } from '../records/sample-run.js';

/** Microseconds per row: `[one by one, ten in flight, multiGet of 10]`. */
type Times = readonly [number, number, number];

const WAYS = [
  { workload: 'point_lookup', connections: 1, batch: 1, operations: 30 },
  { workload: 'point_lookup', connections: 10, batch: 1, operations: 300 },
  { workload: 'multi_get', connections: 1, batch: 10, operations: 300 },
];

function records(transport: string, times: Times, side: Side = 'rust'): CompletedRecord[] {
  const fields = { family: 'hybrid', engine: 'shards', lane: 'call', variant: 'ShardClient', side, transport };
  return WAYS.map((way, index) => {
    const seconds = (times[index]! * way.operations) / 1e6;
    return completed({ ...fields, ...way }, [seconds * 0.99, seconds, seconds, seconds, seconds * 1.01]);
  });
}

const RUNS = [
  {
    delayUs: 0,
    records: [
      ...records('direct', [0.2, 0.1, 0.15]),
      ...records('grpc', [100, 20, 30]),
      ...records('hybrid', [70, 16, 10]),
      ...records('grpc', [300, 120, 60], 'js'),
    ],
  },
  {
    delayUs: 500,
    network,
    records: [...records('grpc', [1100, 110, 110]), ...records('hybrid', [750, 110, 110])],
  },
  { delayUs: 2000, network, records: [...records('grpc', [4100, 460, 410]), ...records('hybrid', [2700, 450, 410])] },
];

test('a row tells of one side at one delay, with the fastest way to ten rows', () => {
  const { table, notes } = crossoverTable(RUNS);
  expect(table.rows.map((row) => row.slice(0, -1).join(' | '))).toEqual([
    'rust | direct | — | 0.20 | 0.10 | 0.15 | — | —',
    'rust | 0 µs | — | 100 / 70.0 | 20.0 / 16.0 | 30.0 / 10.0 |  | ',
    'rust | 500 µs | 511 µs | 1100 / 750 | 110 / 110 | 110 / 110 |  | ',
    'rust | 2000 µs | 511 µs | 4100 / 2700 | 460 / 450 | 410 / 410 |  | ',
    'js | 0 µs | — | 300 | 120 | 60.0 |  | ',
  ]);
  expect(table.rows.map((row) => row.at(-1))).toEqual([
    '—',
    'multiGet of 10, hybrid: 1.6× the next',
    'ten in flight, grpc, no faster than multiGet of 10, grpc',
    'multiGet of 10, grpc, no faster than multiGet of 10, hybrid',
    'multiGet of 10, grpc: 2.0× the next',
  ]);
  expect(table.rows.every(({ length }) => length === table.columns.length)).toBe(true);
  expect(notes).toHaveLength(1);
  expect(crossoverTable([])).toMatchObject({ table: { rows: [] }, notes: [] });
});

test('from which delay on a way wins is found by computation', () => {
  const findings = crossoverFindings(RUNS);
  expect(findings).toContain(
    'multiGet of 10 (grpc) beats one by one (grpc): rust at every delay (3.3×, 10.0×, 10.0×); js at every delay (5.0×).',
  );
  // At 500 µs there is no difference.
  expect(findings).toContain(
    'multiGet of 10 (grpc) beats ten in flight (grpc): rust from 2000 µs each way on (0.67×, 1.0×, 1.1×); js at every delay (2.0×).',
  );
  expect(findings).toContain(
    'multiGet of 10 (hybrid) beats multiGet of 10 (grpc): rust at 0 µs alone (3.0×, 1.0×, 1.0×).',
  );
  expect(findings).toHaveLength(5);
  expect(crossoverFindings([])).toEqual([]);
});

test.each([
  [[10, 10, 10, 10], 'at every delay'],
  [[90, 90, 10, 10], 'from 500 µs each way on'],
  [[10, 10, 10, 90], 'up to 500 µs each way'],
  [[10, 90, 90, 90], 'at 0 µs alone'],
  [[90, 10, 90, 10], 'at 100 µs, 2000 µs'],
  [[90, 10, 90, 90], 'at 100 µs'],
  [[90, 50, 90, 50], 'nowhere'],
])('the delays at which a way of %j µs beats one of 50 µs', (times, where) => {
  const runs = [0, 100, 500, 2000].map((delayUs, index) => ({
    delayUs,
    records: records('grpc', [100, 50, times[index]!]),
  }));
  expect(crossoverFindings(runs)[1]).toContain(`ten in flight (grpc): rust ${where} (`);
});
