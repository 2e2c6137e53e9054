/** Files of schema version 3, by records that the version which wrote them has measured. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseRun } from '../../src/records/run-file.js';
import { itemsOf } from '../../src/records/record.js';

const OLD = readFileSync(new URL('run-version-3.json', import.meta.url), 'utf8');

test('have connections, and count rows, operations or calls', () => {
  const { schemaVersion, records, context } = parseRun(OLD);
  expect(schemaVersion).toBe(4);
  expect(context.config).not.toHaveProperty('threads');
  expect(records.map((record) => [record.id, record.connections, itemsOf(record)])).toEqual([
    ['measurements/insert.bulk/naive-row/napi/embedded/async/w1', undefined, 1_000_000],
    ['kv/get/call/napi/redis/c32/b1', 32, 20_000],
    ['hybrid/scan/call/rust/shards/direct/c1/b1', 1, 750_000],
    ['boundary/nothing/call/rust', undefined, 1_000_000],
    ['xxh64/16/js', undefined, 1],
  ]);
  expect(records.map(({ rows, operations, calls }) => [rows, operations, calls])).toEqual([
    [1_000_000, undefined, undefined],
    [undefined, 20_000, undefined],
    [750_000, undefined, undefined],
    [undefined, undefined, 1_000_000],
    [undefined, undefined, 1],
  ]);
  const rates = records.map((record) => (record.outcome === 'completed' ? Object.keys(record.summary).slice(4) : []));
  expect(rates).toEqual([
    ['rowsPerSecond', 'mebibytesPerSecond'],
    ['operationsPerSecond'],
    ['rowsPerSecond', 'mebibytesPerSecond'],
    ['callsPerSecond'],
    ['callsPerSecond'],
  ]);
});

test('have the items of a function of the user’s, and the ids of comparisons', () => {
  const old = JSON.parse(OLD);
  const own = { ...old.records.at(-1), rows: 64 };
  const [addon, rust] = ['napi', 'rust'].map((side) => ({
    ...old.records[1],
    side,
    id: `kv/get/call/${side}/redis/t32/b1`,
  }));
  const comparison = {
    kind: 'rival',
    workload: 'get',
    lane: 'call',
    engine: 'redis',
    threads: 32,
    numerator: addon.id,
    denominator: rust.id,
    ratio: 1,
    low: 1,
    high: 1,
    verdict: 'equivalent',
  };
  const records = [own, ...[addon, rust].map((record) => ({ ...record, rustLane: undefined }))];
  const run = parseRun(JSON.stringify({ ...old, records, comparisons: [comparison] }));
  expect(run.records[0]).toMatchObject({ items: 64, calls: 1 });
  expect(run.records[0]).not.toHaveProperty('rows');
  expect(run.comparisons).toEqual([
    expect.objectContaining({
      connections: 32,
      numerator: 'kv/get/call/napi/redis/c32/b1',
      denominator: 'kv/get/call/rust/redis/c32/b1',
    }),
  ]);
});

test('are refused if they are older', () => {
  expect(() => parseRun(OLD.replace(/"schemaVersion": ?3/, '"schemaVersion":2'))).toThrow(
    expect.objectContaining({ code: 'BB_RESULT_FILE_VERSION' }),
  );
});
