import { expect, test } from 'vitest';
import type { RunRecord } from '../../src/records/record.js';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';
import { CPU_DISAGREES_NOTE, CPU_FACTOR_NOTE, RUST_FACTOR_NOTE } from '../../src/report/factor.js';
import { headToHeadTable } from '../../src/report/head-to-head.js';
import { resourcesTable } from '../../src/report/resource-tables.js';
import { resultsTable, unfinishedTable } from '../../src/report/results-table.js';
import { around, cell, completed, runOf } from '../records/sample-run.js';

const rust = completed({ side: 'rust', lane: 'objects', variant: 'rows collected' }, around(0.25));
const node = completed({ side: 'napi', lane: 'objects', variant: 'executeQuery', rows: 1_000_000 }, [0.125, 0.125]);

test('marks other numbers of rows and too few processes', () => {
  const run = runOf([rust, node]);
  const recordOf = (id: string) => [rust, node].find((record) => record.id === id);
  const { table, notes } = headToHeadTable(run.comparisons, recordOf);
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Workload | Lane | Rust | Node | Rust factor | CPU factor |
    | --- | --- | --- | --- | ---: | ---: |
    | insert.bulk | best: objects | rows collected — 40.0 M/s | napi · executeQuery — 8.00 M/s | 5.0× (4.9–5.1) (other rows) (few processes) | 5.0× (4.9–5.1) |
    "
  `);
  expect(notes).toEqual([
    RUST_FACTOR_NOTE,
    CPU_FACTOR_NOTE,
    '(other rows): the two were measured at different numbers of rows. Their rows per second are compared.',
    '(few processes): fewer than 3 processes on one side: too few to know how much processes differ.',
  ]);
});

test('says if the faster side takes more CPU time', () => {
  const busy = (record: typeof rust, factor: number) => ({
    ...record,
    samples: record.samples.map((sample) => ({ ...sample, cpuUserSeconds: sample.cpuUserSeconds! * factor })),
  });
  const wide = { lane: 'objects', side: 'napi', variant: 'executeQuery' } as const;
  const tableOf = (seconds: number, factor: number) => {
    const records = [rust, busy(completed(wide, around(seconds)), factor)];
    return headToHeadTable(runOf(records).comparisons, (id) => records.find((record) => record.id === id));
  };
  const opposite = tableOf(0.2, 3);
  expect(opposite.table.rows[0]!.slice(-2)).toEqual([
    expect.stringMatching(/^0\.80× \(.*\) \(more CPU\)$/),
    expect.stringMatching(/^2\.0× \(1\.9–2\.1\)$/),
  ]);
  expect(opposite.notes).toContain(CPU_DISAGREES_NOTE);
  // The same direction, and a difference within the margin.
  for (const { table, notes } of [tableOf(0.5, 2), tableOf(0.2, 4 / 3)]) {
    expect(table.rows[0]!.at(-2)).not.toContain('(more CPU)');
    expect(notes).not.toContain(CPU_DISAGREES_NOTE);
  }
});

test.each([
  ['too-short', '(too short): the samples'],
  ['still-warming-up', '(warming up): the cell still got faster when its warm-up ended'],
  ['nothing-to-measure', '(the loop): the calls of the cell take no longer than the loop around them'],
] as const)('a cell that is %s has its factor, the word and the reason', (noVerdict, note) => {
  const records = [{ ...rust, noVerdict }, completed({ lane: 'objects', side: 'napi', variant: 'a' }, around(0.5))];
  const { comparisons } = runOf(records);
  const { table, notes } = headToHeadTable(comparisons, (id) => records.find((record) => record.id === id));
  expect(table.rows[0]!.at(-2)).toMatch(/^inconclusive 2\.0× \(.*\) \([a-z ]+\)$/);
  expect(note.startsWith(table.rows[0]!.at(-2)!.match(/\([a-z ]+\)$/)![0])).toBe(true);
  expect(notes.at(-1)).toContain(note);
});

test('tells cells of one variant apart by their lane, and keeps workloads together', () => {
  const slices = { side: 'rust', variant: 'column slices', flavor: 'sync' } as const;
  const records = [
    completed({ ...slices, lane: 'columns' }, [1]),
    completed({ ...slices, lane: 'columnar', workload: 'query.full_scan' }, [1]),
    completed({ ...slices, lane: 'chunks' }, [1]),
  ];
  expect(renderMarkdown(tableBlock(resultsTable(records)))).toMatchInlineSnapshot(`
    "| Workload | Variant | Flavor | Rows | Time (s) | End to end (s) | Rows/s | MiB/s |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
    | insert.bulk | rust · column slices (columns) | sync | 10.00M | 1.000 | 1.150 | 10.00 M/s | 228.9 |
    | insert.bulk | rust · column slices (chunks) | sync | 10.00M | 1.000 | 1.150 | 10.00 M/s | 228.9 |
    | query.full_scan | rust · column slices | sync | 10.00M | 1.000 | 1.150 | 10.00 M/s | 228.9 |
    "
  `);
});

test('missing measurements read as a dash', () => {
  const { bytes: _, flavor: __, ...bare } = completed({ side: 'js', lane: 'objects', variant: 'toArray' }, [2]);
  const { mebibytesPerSecond: ___, ...summary } = bare.summary;
  const record = { ...bare, summary, samples: [{ seconds: 2 }] } satisfies RunRecord;
  expect(renderMarkdown(tableBlock(resultsTable([record])))).toMatchInlineSnapshot(`
    "| Workload | Variant | Flavor | Rows | Time (s) | Rows/s | MiB/s |
    | --- | --- | --- | ---: | ---: | ---: | ---: |
    | insert.bulk | js · toArray | — | 10.00M | 2.000 | 5.00 M/s | — |
    "
  `);
  expect(renderMarkdown(tableBlock(resourcesTable([record])))).toMatchInlineSnapshot(`
    "| Workload | Variant | Time (s) | Encode (s) | Decode (s) | CPU user (s) | CPU sys (s) | Main thread (s) | GC (s) | Longest stall (ms) | Peak RSS |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | insert.bulk | js · toArray | 2.000 | — | — | — | — | — | — | — | — |
    "
  `);
});

test('a query of which few rows come out has a rate of queries, and no size', () => {
  const fields = { workload: 'query.aggregation', rows: 10, queries: 1, lane: 'objects' } as const;
  const records = [
    completed({ lane: 'columnar', workload: 'query.full_scan', side: 'rust', variant: 'column slices' }, [1]),
    completed({ ...fields, side: 'rust', variant: 'rows collected' }, around(0.08)),
    completed({ ...fields, side: 'napi', variant: 'executeQuery' }, around(0.1)),
  ];
  expect(renderMarkdown(tableBlock(resultsTable(records)))).toMatchInlineSnapshot(`
    "| Workload | Variant | Flavor | Rows | Time (s) | End to end (s) | Rows/s | MiB/s | Queries/s |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | query.full_scan | rust · column slices | — | 10.00M | 1.000 | 1.150 | 10.00 M/s | 228.9 | — |
    | query.aggregation | rust · rows collected | — | 10 | 0.080 | 0.092 | — | — | 12.5/s |
    | query.aggregation | napi · executeQuery | — | 10 | 0.100 | 0.115 | — | — | 10.0/s |
    "
  `);
  const { comparisons } = runOf(records);
  const { table } = headToHeadTable(
    comparisons.filter(({ kind }) => kind === 'best'),
    (id) => records.find((record) => record.id === id),
  );
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Workload | Rust (best) | Node (best) | Rust factor | CPU factor |
    | --- | --- | --- | ---: | ---: |
    | query.aggregation | rows collected — 12.5 queries/s | napi · executeQuery — 10.0 queries/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) |
    "
  `);
});

test('shows the time with encoding and decoding, which the workers share, if a cell has any', () => {
  const ipc = { side: 'rust', variant: 'IPC stream', lane: 'arrow-ipc' } as const;
  const encoded = { ...completed({ ...ipc, workers: 2 }, [1]), samples: [{ seconds: 1, encodeSeconds: 0.5 }] };
  const decoded = { ...completed(ipc, [1]), samples: [{ seconds: 1, decodeSeconds: 0.25 }, { seconds: 3 }] };
  const slices = { side: 'rust', variant: 'column slices', lane: 'columns' } as const;
  const plain = { ...completed(slices, [1]), samples: [{ seconds: 1 }] };
  const { columns, rows } = resultsTable([encoded, decoded, plain]);
  const place = columns.findIndex(({ title }) => title === 'End to end (s)');
  expect(rows.map((row) => row[place])).toEqual(['1.250', '2.125', '1.000']);
  expect(resultsTable([plain]).columns.some(({ title }) => title === 'End to end (s)')).toBe(false);
});

test('has a column for transports if a cell has one', () => {
  const over = (transport: string, fields: { side: 'rust' | 'napi'; variant: string }, seconds: number) => {
    const record = completed({ ...fields, lane: 'objects', engine: 'hyper', transport }, around(seconds));
    return { ...record, id: record.id.replace('hyper', `hyper/${transport}`) };
  };
  const records = ['tcp', 'ipc'].flatMap((transport) => [
    over(transport, { side: 'rust', variant: 'rows collected' }, 0.25),
    over(transport, { side: 'napi', variant: 'executeQuery' }, 0.5),
  ]);
  const run = runOf(records);
  const recordOf = (id: string) => records.find((record) => record.id === id);
  expect(renderMarkdown(tableBlock(resultsTable(records)))).toMatchInlineSnapshot(`
    "| Workload | Variant | Flavor | Transport | Rows | Time (s) | End to end (s) | Rows/s | MiB/s |
    | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
    | insert.bulk | rust · rows collected | — | tcp | 10.00M | 0.250 | 0.287 | 40.00 M/s | 915.6 |
    | insert.bulk | napi · executeQuery | — | tcp | 10.00M | 0.500 | 0.575 | 20.00 M/s | 457.8 |
    | insert.bulk | rust · rows collected | — | ipc | 10.00M | 0.250 | 0.287 | 40.00 M/s | 915.6 |
    | insert.bulk | napi · executeQuery | — | ipc | 10.00M | 0.500 | 0.575 | 20.00 M/s | 457.8 |
    "
  `);
  expect(renderMarkdown(tableBlock(headToHeadTable(run.comparisons, recordOf).table))).toMatchInlineSnapshot(`
    "| Workload | Lane | Transport | Rust | Node | Rust factor | CPU factor |
    | --- | --- | --- | --- | --- | ---: | ---: |
    | insert.bulk | best: objects | tcp | rows collected — 40.0 M/s | napi · executeQuery — 20.0 M/s | 2.0× (1.9–2.1) | 2.0× (1.9–2.1) |
    | insert.bulk | best: objects | ipc | rows collected — 40.0 M/s | napi · executeQuery — 20.0 M/s | 2.0× (1.9–2.1) | 2.0× (1.9–2.1) |
    "
  `);
  const [line] = renderMarkdown(tableBlock(resourcesTable(records))).split('\n');
  expect(line).toContain('| Variant | Transport | Time (s) |');
});

test('says each reason once, with the cells that it holds for, failures first', () => {
  const base = cell({ lane: 'row', side: 'js', variant: 'insert' });
  const refused = { outcome: 'failed', error: { code: 'BB_ENGINE', message: 'refused' } } as const;
  const records: RunRecord[] = [
    { ...base, outcome: 'skipped', reason: 'z is not installed' },
    { ...base, id: 'b', ...refused },
    { ...base, id: 'c', workload: 'query.full_scan', engine: 'mysql', ...refused },
    { ...base, id: 'd', outcome: 'failed', error: { code: 'BB_ENGINE', message: 'another' } },
    { ...base, id: 'e', outcome: 'skipped', reason: 'z is not installed' },
  ];
  expect(renderMarkdown(tableBlock(unfinishedTable(records)))).toMatchInlineSnapshot(`
    "| Cell | Outcome | Why |
    | --- | --- | --- |
    | 2 cells of insert.bulk, query.full_scan on embedded, mysql | failed | BB_ENGINE: refused |
    | d | failed | BB_ENGINE: another |
    | 2 cells of insert.bulk on embedded | skipped | z is not installed |
    "
  `);
});
