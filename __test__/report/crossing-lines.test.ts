import { expect, it } from 'vitest';

import type { CompletedRecord } from '../../src/records/record.js';
import { crossingTable, otherCrossingLines } from '../../src/report/crossing-lines.js';
import { renderRunSummary } from '../../src/report/summary-report.js';
import { around, completed, sampleRun } from '../records/sample-run.js';

const call = (side: 'rust' | 'napi' | 'js', variant: string, seconds: number, rest: Partial<CompletedRecord> = {}) => ({
  ...completed(
    { family: 'boundary', workload: 'nothing', lane: 'call', side, variant, engine: 'in-process' },
    around(seconds),
  ),
  id: `boundary/nothing/${variant}`,
  rows: 1,
  calls: 1,
  ...rest,
});

const records = [
  call('rust', 'function of Rust', 3e-10, { noVerdict: 'nothing-to-measure' }),
  call('napi', 'napi-rs', 1.9e-8),
  call('napi', 'Node-API by hand', 6.3e-9),
  call('js', 'WebAssembly', 5e-9),
  call('js', 'JavaScript', 8e-10, { noVerdict: 'nothing-to-measure' }),
];

it('has the time of a call by each way that crosses, and without crossing', () => {
  const { columns, rows } = crossingTable(records);
  expect(columns.map(({ title }) => title)).toEqual([
    'Time per call',
    'napi-rs',
    'Node-API by hand',
    'WebAssembly',
    'JavaScript',
    'Rust',
  ]);
  expect(rows).toEqual([['nothing', '19 ns', '6.30 ns', '5.00 ns', '0.80 ns (the loop)', '0.30 ns (the loop)']]);
});

it('has the fastest lane of each way', () => {
  const ways = [
    call('napi', 'napi-rs', 2e-8),
    call('napi', 'napi-rs, view', 1e-8),
    call('napi', 'koffi (FFI)', 3e-8),
    call('napi', 'FFI of the runtime', 4e-8),
  ];
  expect(crossingTable(ways).rows).toEqual([['nothing', '10 ns', '30 ns']]);
});

it('lists the ways that are not in the table', () => {
  const others = [
    call('napi', 'napi-rs', 1e-6, { batch: 32, runtime: 'bun@1' }),
    call('napi', 'napi-rs async fn, on tokio', 2e-6, { batch: 32, runtime: 'bun@1' }),
    call('js', 'worker thread, messages', 1e-5),
  ];
  expect(crossingTable(others).rows).toEqual([['nothing (32 at once, bun@1)', '1.00 µs']]);
  expect(otherCrossingLines(others)).toEqual([
    'nothing (32 at once, bun@1): napi-rs async fn, on tokio 2.00 µs',
    'nothing: worker thread, messages 10.0 µs',
  ]);
  expect(otherCrossingLines([completed({ side: 'js', lane: 'js', variant: 'js' }, around(1))])).toEqual([]);
});

it('ends a run of crossings, instead of advice to cross nothing', () => {
  const run = { ...sampleRun(), records, comparisons: [] };
  const text = renderRunSummary(run, { report: 'run.md', columns: 120 });
  expect(text).toMatch(/^nothing +19 ns/m);
  expect(text).not.toContain('Best from Node');
  expect(text).toMatch(/^\(the loop\): /m);
});
