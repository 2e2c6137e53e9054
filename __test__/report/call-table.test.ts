import { expect, test } from 'vitest';
import { judgeOf } from '../../src/compare/judge.js';
import { comparisonsOf } from '../../src/compare/comparisons.js';
import { callTable } from '../../src/report/call-table.js';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { type CellFields, around, completed, context } from '../records/sample-run.js';

/** A cell of calls as a family names it: by its client, and by its batch. */
function call(
  fields: Pick<CellFields, 'side' | 'variant'> & Partial<CellFields>,
  seconds: number,
  client?: string,
): CompletedRecord {
  const record = completed({ workload: 'numbers', lane: 'call', engine: 'in-process', ...fields }, around(seconds));
  const { family, workload, lane, side, batch } = record;
  const place = [...(client === undefined ? [] : [client]), ...(batch === undefined ? [] : [`b${batch}`])];
  const id = [family, workload, lane, side, ...place].join('/');
  const { rows: _, ...rest } = record;
  return { ...rest, id, calls: 1_000_000 };
}

/** The table of a run in which each cell of Node is compared with a lane of Rust, by default with its own. */
function tableOf(records: readonly CompletedRecord[], rustLanes: Readonly<Record<string, string>> = {}): string {
  const rustLaneOf = (id: string): string | undefined => rustLanes[id.split('/')[2]!] ?? id.split('/')[2];
  return renderMarkdown(
    tableBlock(callTable(records, comparisonsOf(records, { rustLaneOf, margin: 0.05 }), judgeOf({ context }))),
  );
}

test('shows the time of a call, and how much longer it takes than the same lane without a crossing', () => {
  const records = [
    call({ side: 'rust', variant: 'function of Rust' }, 0.001),
    call({ side: 'napi', variant: 'napi-rs' }, 0.05, 'napi-rs'),
    call({ side: 'napi', lane: 'call-async', variant: 'async fn', batch: 64 }, 2, 'napi-rs'),
    call({ side: 'js', variant: 'WebAssembly' }, 0.004, 'wasm'),
    call({ side: 'js', variant: 'JavaScript' }, 0.002),
    call({ side: 'napi', variant: 'napi-rs', workload: 'bigint' }, 0.3, 'napi-rs'),
  ];
  expect(tableOf(records)).toMatchInlineSnapshot(`
    "| Workload | Variant | At once | Each | Half of the samples | Heap each | Time vs. Rust | Time vs. js |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | numbers | rust · function of Rust | 1 | 1.00 ns | 0.99 ns–1.01 ns | — | — | 0.50× (0.48–0.52) |
    | numbers | napi · napi-rs | 1 | 50 ns | 50 ns–51 ns | — | 50.0× (48.2–51.8) | 25.0× (24.1–25.9) |
    | numbers | napi · async fn | 64 | 2.00 µs | 1.98 µs–2.02 µs | — | 2.00K× (1.93K–2.07K) | 1.00K× (964–1.04K) |
    | numbers | js · WebAssembly | 1 | 4.00 ns | 3.96 ns–4.04 ns | — | 4.0× (3.9–4.1) | 2.0× (1.9–2.1) |
    | numbers | js · JavaScript | 1 | 2.00 ns | 1.98 ns–2.02 ns | — | 2.0× (1.9–2.1) | — |
    | bigint | napi · napi-rs | 1 | 300 ns | 297 ns–303 ns | — | — | — |
    "
  `);
});

/** The factors over Rust and over JavaScript of each row, without their intervals. */
function factorsOf(table: string): string[] {
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) => {
      const cells = row.split('|').map((cell) => cell.trim().replace(/ \(.*/, ''));
      return [cells[2], cells[3], cells[7], cells[8]].join(', ');
    });
}

test('operations of one call are compared with as many operations per call on the lane of Rust, and with the nearest JavaScript', () => {
  const [workload, batch] = ['row_encode', 1000];
  const records = [
    call({ side: 'rust', variant: 'rows', workload, batch: 1 }, 0.01),
    call({ side: 'rust', variant: 'rows', workload, batch }, 0.001),
    call({ side: 'rust', lane: 'columns', variant: 'columns', workload, batch }, 0.0001),
    call({ side: 'rust', lane: 'columns', variant: 'a crate', workload, batch }, 0.0003, 'crate'),
    call({ side: 'napi', variant: 'napi-rs', workload, batch: 1 }, 0.02, 'napi-rs'),
    call({ side: 'napi', lane: 'objects', variant: 'napi-rs, objects', workload, batch }, 0.008, 'napi-rs'),
    call({ side: 'napi', lane: 'columns', variant: 'memory of the caller', workload, batch }, 0.0002, 'frame'),
    call({ side: 'js', variant: 'JavaScript', workload, batch: 1 }, 0.005),
    call({ side: 'js', variant: 'JavaScript', workload, batch }, 0.004),
    call({ side: 'js', lane: 'columns', variant: 'JavaScript, columns', workload, batch }, 0.002),
  ];
  expect(factorsOf(tableOf(records, { objects: 'call' }))).toEqual([
    'rust · rows, 1, —, 2.0×',
    'rust · rows, 1000, —, 0.25×',
    'rust · columns, 1000, —, 0.050×',
    'rust · a crate, 1000, 3.0×, 0.15×',
    'napi · napi-rs, 1, 2.0×, 4.0×',
    'napi · napi-rs, objects, 1000, 8.0×, 2.0×',
    'napi · memory of the caller, 1000, 2.0×, 0.100×',
    'js · JavaScript, 1, 0.50×, —',
    'js · JavaScript, 1000, 4.0×, —',
    'js · JavaScript, columns, 1000, 20.0×, —',
  ]);
});

test('if all JavaScript has a client, the fastest of the same batch counts, or else of any', () => {
  const workload = 'tree_get';
  const records = [
    call({ side: 'rust', lane: 'tree', variant: 'flat tree', workload, batch: 1 }, 0.001),
    call({ side: 'napi', lane: 'frame', variant: 'memory of the caller', workload, batch: 1 }, 0.002, 'frame'),
    call({ side: 'napi', lane: 'frame', variant: 'memory of the caller', workload, batch: 7 }, 0.002, 'frame'),
    call({ side: 'js', variant: 'a package', workload, batch: 1 }, 0.004, 'slow'),
    call({ side: 'js', variant: 'another one', workload, batch: 1 }, 0.001, 'fast'),
    call({ side: 'js', variant: 'another one', workload, batch: 1000 }, 0.0005, 'fast'),
  ];
  const rustLanes = { frame: 'tree', call: 'tree' };
  expect(factorsOf(tableOf(records, rustLanes))).toEqual([
    'rust · flat tree, 1, —, 1.00×',
    'napi · memory of the caller, 1, 2.0×, 2.0×',
    // No comparison names the lane of Rust, since Rust has no batch of seven.
    'napi · memory of the caller, 7, —, 4.0×',
    'js · a package, 1, 4.0×, 4.0×',
    'js · another one, 1, 1.00×, —',
    'js · another one, 1000, —, —',
  ]);
});
