import { expect, test } from 'vitest';
import { callTable } from '../../src/report/call-table.js';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';
import { type CellFields, around, completed } from '../records/sample-run.js';

test('shows the time of a call, and how much longer it takes than the same lane without a crossing', () => {
  const call = (
    fields: Pick<CellFields, 'side' | 'variant'> & Partial<CellFields>,
    seconds: number,
    client?: string,
  ) => {
    const record = completed({ workload: 'numbers', lane: 'call', engine: 'in-process', ...fields }, around(seconds));
    const { family, workload, lane, side } = record;
    const id = [family, workload, lane, side, ...(client === undefined ? [] : [client])].join('/');
    return { ...record, id, rows: 1_000_000, calls: 1_000_000 };
  };
  const records = [
    call({ side: 'rust', variant: 'function of Rust' }, 0.001),
    call({ side: 'napi', variant: 'napi-rs' }, 0.05, 'napi-rs'),
    call({ side: 'napi', lane: 'call-async', variant: 'async fn', batch: 64 }, 2, 'napi-rs'),
    call({ side: 'js', variant: 'WebAssembly' }, 0.004, 'wasm'),
    call({ side: 'js', variant: 'JavaScript' }, 0.002),
    call({ side: 'napi', variant: 'napi-rs', workload: 'bigint' }, 0.3, 'napi-rs'),
  ];
  expect(renderMarkdown(tableBlock(callTable(records)))).toMatchInlineSnapshot(`
    "| Workload | Variant | In flight | A call | Half of the samples | Heap a call | Over Rust alone | Over JavaScript alone |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | numbers | rust · function of Rust | 1 | 1.00 ns | 0.99 ns–1.01 ns | — | — | 0.50× (0.49–0.52) |
    | numbers | napi · napi-rs | 1 | 50 ns | 50 ns–51 ns | — | 50.0× (48.5–51.5) | 25.0× (24.3–25.8) |
    | numbers | napi · async fn | 64 | 2.00 µs | 1.98 µs–2.02 µs | — | 2000× (1941–2061) | 1000× (970–1031) |
    | numbers | js · WebAssembly | 1 | 4.00 ns | 3.96 ns–4.04 ns | — | 4.0× (3.9–4.1) | 2.0× (1.9–2.1) |
    | numbers | js · JavaScript | 1 | 2.00 ns | 1.98 ns–2.02 ns | — | 2.0× (1.9–2.1) | — |
    | bigint | napi · napi-rs | 1 | 300 ns | 297 ns–303 ns | — | — | — |
    "
  `);
});
