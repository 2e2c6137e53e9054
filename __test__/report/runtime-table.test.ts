import { expect, test } from 'vitest';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';
import { runtimeTable } from '../../src/report/call-table.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { around, completed } from '../records/sample-run.js';

function call(variant: string, seconds: number, runtime?: string, batch?: number): CompletedRecord {
  const cell = { workload: 'numbers', lane: 'call', engine: 'in-process', side: 'napi', variant } as const;
  const record = completed({ ...cell, ...(batch && { batch }) }, around(seconds));
  const id = [record.family, 'numbers', variant, ...(runtime === undefined ? [] : [runtime.replaceAll('/', '_')])].join(
    '/',
  );
  const { rows: _, ...rest } = record;
  return { ...rest, id, calls: 1_000_000, ...(runtime && { runtime }) };
}

const tableOf = (records: readonly CompletedRecord[]): string =>
  renderMarkdown(tableBlock(runtimeTable(records, '20.20.2')));

test('shows the time of the same call on each runtime, and a dash if one has not measured it', () => {
  const records = [
    call('napi-rs', 0.05),
    call('napi-rs', 0.1, '/opt/bun'),
    call('napi-rs', 0.2, 'deno'),
    call('async fn', 3, 'deno', 64),
    call('JavaScript', 0.001),
  ];
  expect(tableOf(records)).toMatchInlineSnapshot(`
    "| Workload | Variant | At once | Node.js 20.20.2 | /opt/bun | deno |
    | --- | --- | ---: | ---: | ---: | ---: |
    | numbers | napi · napi-rs | 1 | 50 ns (50 ns–51 ns) | 100 ns (99 ns–101 ns) | 200 ns (198 ns–202 ns) |
    | numbers | napi · async fn | 64 | — | — | 3.00 µs (2.97 µs–3.03 µs) |
    "
  `);
});

test('is empty if all was measured on one runtime', () => {
  expect(runtimeTable([call('napi-rs', 0.05)], '20.20.2').rows).toEqual([]);
});
