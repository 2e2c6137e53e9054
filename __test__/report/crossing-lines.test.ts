import { expect, it } from 'vitest';

import type { CompletedRecord } from '../../src/records/record.js';
import { crossingLines } from '../../src/report/crossing-lines.js';
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

it('says what a call takes by each way that crosses, and without crossing', () => {
  expect(crossingLines(records)).toEqual([
    'nothing: napi-rs 19 ns, Node-API by hand 6.30 ns, WebAssembly 5.00 ns; without crossing function of Rust 0.30 ns ○, JavaScript 0.80 ns ○',
  ]);
  const pairs = [call('napi', 'napi-rs', 1e-6, { batch: 32, runtime: 'bun@1' }), call('js', 'WebAssembly', 1e-6)];
  expect(crossingLines(pairs)).toEqual([
    'nothing (32 at once, bun@1): napi-rs 1.00 µs',
    'nothing: WebAssembly 1.00 µs',
  ]);
  expect(crossingLines([completed({ side: 'js', lane: 'js', variant: 'js' }, around(1))])).toEqual([]);
});

it('ends a run of crossings, instead of advice to cross nothing', () => {
  const run = { ...sampleRun(), records, comparisons: [] };
  const text = renderRunSummary(run, { report: 'run.md', columns: 120 });
  expect(text).toContain('- nothing: napi-rs 19 ns');
  expect(text).not.toContain('Best from Node');
  expect(text).toMatch(/^○ /m);
});
