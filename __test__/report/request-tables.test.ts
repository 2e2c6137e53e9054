import { expect, test } from 'vitest';
import { comparisonsOf } from '../../src/compare/comparisons.js';
import type { CompletedRecord, Latency, Run, Sample } from '../../src/records/record.js';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';
import { CPU_FACTOR_NOTE, RUST_FACTOR_NOTE } from '../../src/report/factor.js';
import { adviceFor } from '../../src/report/advice.js';
import { CLOSED_LOOP_NOTE } from '../../src/report/percentile.js';
import { requestHeadToHeadTable, requestTable } from '../../src/report/request-tables.js';
import { around, completed, runOf } from '../records/sample-run.js';

type Fields = Partial<CompletedRecord> & Pick<CompletedRecord, 'side' | 'lane' | 'variant' | 'batch'>;

function latency(p50: number): Latency {
  return { p50, p90: 2 * p50, p95: 3 * p50, p99: 4 * p50, p999: 5 * p50, max: 6 * p50, histogram: 'HISTFAAAAA==' };
}

/** A cell of 100,000 operations over 8 connections; `cpu`: the shares of the main thread and of the server. */
function requests(fields: Fields, seconds: number, cpu: { main?: number; server?: number } = {}): CompletedRecord {
  const whole = { family: 'kv', workload: 'get', engine: 'redis', connections: 8, operations: 100_000, ...fields };
  const record = completed(whole, around(seconds));
  const { workers: _, bytes: __, summary, ...rest } = record;
  const { mebibytesPerSecond: ___, ...rates } = summary;
  const samples = record.samples.map((sample): Sample => {
    const { encodeSeconds: _encode, decodeSeconds: _decode, ...times } = sample;
    return {
      ...times,
      mainThreadCpuSeconds: sample.seconds * (cpu.main ?? 0.5),
      ...(cpu.server === undefined
        ? {}
        : { serverCpuUserSeconds: sample.seconds * cpu.server, serverCpuSystemSeconds: 0 }),
    };
  });
  const { family, workload, lane, side, engine, connections, batch } = whole;
  return {
    ...rest,
    id: [family, workload, lane, side, engine, fields.variant, `t${connections}`, `b${batch}`].join('/'),
    connections,
    batch: batch!,
    summary: rates,
    samples,
    latency: fields.latency ?? latency(50_000),
    ...(fields.behind === undefined ? {} : { behind: fields.behind }),
  };
}

const rustCall = { side: 'rust', lane: 'call', variant: 'Client', batch: 1 } as const;
const rustBatch = { side: 'rust', lane: 'batch', variant: 'Client.batch', batch: 64 } as const;
const addonCall = { side: 'napi', lane: 'call', variant: 'KvClient.get', batch: 1 } as const;
const addonBatch = { side: 'napi', lane: 'batch', variant: 'KvClient.pipeline', batch: 64 } as const;
const jsCall = { side: 'js', lane: 'call', variant: 'ioredis', batch: 1 } as const;
const jsBatch = { side: 'js', lane: 'batch', variant: 'ioredis pipeline', batch: 64 } as const;

const records = [
  requests(rustCall, 1, { server: 0.75 }),
  requests(addonCall, 1.25, { server: 0.6 }),
  requests(jsCall, 1.25, { main: 0.97, server: 0.6 }),
  requests(rustBatch, 0.1),
  requests(addonBatch, 0.125),
  requests(jsBatch, 0.5, { main: 0.95 }),
];

function run(of: readonly CompletedRecord[]): Run {
  const laneOf = (id: string): string | undefined => (id.includes('/rust/') ? undefined : id.split('/')[2]);
  return { ...runOf(of), comparisons: comparisonsOf(of, { rustLaneOf: laneOf, margin: 0.05 }) };
}

const recordOf = (id: string): CompletedRecord | undefined => records.find((record) => record.id === id);

test('each cell, with the CPU of both ends, and whether the client was the limit', () => {
  const { table, notes } = requestTable(records, 4);
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Benchmark | Throughput | Median | p99 (closed loop) | Batch | Connections | CPU an operation |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | get, rust · Client | 100 K/s | 50.0 µs | 200 µs | 1 | 8 | 10.0 µs + 7.50 µs |
    | get, napi · KvClient.get | 80.0 K/s | 50.0 µs | 200 µs | 1 | 8 | 12.5 µs + 7.50 µs |
    | get, js · ioredis | 80.0 K/s (client-bound) | 50.0 µs | 200 µs | 1 | 8 | 12.5 µs + 7.50 µs |
    | get, rust · Client.batch | 1.00 M/s | 50.0 µs | 200 µs | 64 | 8 | 1.00 µs |
    | get, napi · KvClient.pipeline | 800 K/s | 50.0 µs | 200 µs | 64 | 8 | 1.25 µs |
    | get, js · ioredis pipeline | 200 K/s (client-bound) | 50.0 µs | 200 µs | 64 | 8 | 5.00 µs |
    "
  `);
  expect(notes).toMatchInlineSnapshot(`
    [
      "A thread is one connection with one request in flight. Throughput counts operations, latency requests.",
      "Latencies are of a closed loop: a connection sends its next request when the last one is answered, so a slow answer delays the requests after it, and their waiting is not in p99. An open loop (--rate) counts it.",
      "CPU time: of the process of the client, and after the + of the server, if it is local and its process is known.",
      "(client-bound): the threads of the client were busy all the time, so a faster server would not show.",
    ]
  `);
  // Rust has one thread on two cores, and that thread was busy.
  expect(requestTable(records.slice(0, 1), 2).notes).toContain(notes[3]);
  const driven = (driver: 'one-thread' | 'all-cores', cores: number): string =>
    requestTable([requests({ ...rustCall, driver }, 1)], cores).table.rows[0]![1]!;
  expect([driven('one-thread', 2), driven('one-thread', 8), driven('all-cores', 2), driven('all-cores', 1)]).toEqual([
    '100 K/s (client-bound)',
    '100 K/s (client-bound)',
    '100 K/s',
    '100 K/s (client-bound)',
  ]);
  expect(requestTable([], 4)).toEqual({ table: expect.objectContaining({ rows: [] }), notes: [] });
});

test('says if the server was the limit, and then nothing about the client', () => {
  const bound = [
    requests(rustCall, 1, { server: 0.97 }),
    requests(addonCall, 1.25, { server: 0.95 }),
    requests(jsCall, 1.25, { server: 0.5 }),
  ];
  const { table, notes } = requestTable(bound, 4);
  expect(table.rows.map(([, throughput]) => throughput)).toEqual([
    '100 K/s (server-bound)',
    '80.0 K/s (server-bound)',
    '80.0 K/s',
  ]);
  expect(notes.at(-1)).toBe(
    '(server-bound): the server was busy all the time, or kept all cores busy together with the client, so this says nothing about the client.',
  );
  const find = (id: string): CompletedRecord | undefined => bound.find((record) => record.id === id);
  const { comparisons } = run(bound);
  const headToHead = requestHeadToHeadTable(comparisons, find);
  const limited = expect.stringMatching(/^server-bound 1\.3× \(1\.2–1\.3\) \(server-bound\)$/);
  expect(headToHead.table.rows.map((row) => [row[1], row[5]])).toEqual([
    ['best: call', limited],
    ['call', '1.3× (1.2–1.3)'],
  ]);
  expect(headToHead.notes).toEqual([RUST_FACTOR_NOTE, CPU_FACTOR_NOTE, notes.at(-1)]);
  expect(adviceFor(run(bound), 'redis')[0]).toMatch(/Rust: server-bound\.$/);
  // Another server may have more threads.
  const other = bound.map((record) => ({ ...record, engine: 'mysql' }));
  expect(requestTable(other, 4).notes).not.toContain(notes.at(-1));
});

test('the best of each side with the same connections, and what batching won', () => {
  const withoutLanes = run(records).comparisons.filter(({ kind }) => kind !== 'lane');
  const { table, notes } = requestHeadToHeadTable(withoutLanes, recordOf);
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Benchmark | Connections | Rust (best) | Node (best) | Rust factor | CPU factor | Batching factor |
    | --- | ---: | --- | --- | ---: | ---: | ---: |
    | get | 8 | Client — 100 K/s | napi · KvClient.get — 80.0 K/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) | — |
    | get | 8 | Client.batch, batch 64 — 1.00 M/s | napi · KvClient.pipeline, batch 64 — 800 K/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) | 10.0× (9.6–10.4) |
    "
  `);
  expect(notes).toEqual([RUST_FACTOR_NOTE, CPU_FACTOR_NOTE, expect.stringMatching(/^Batching factor: /)]);
});

test('the best first, then lane by lane, with the same connections', () => {
  const { table } = requestHeadToHeadTable(run(records).comparisons, recordOf);
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Benchmark | Lane | Connections | Rust | Node | Rust factor | CPU factor | Batching factor |
    | --- | --- | ---: | --- | --- | ---: | ---: | ---: |
    | get | best: call | 8 | Client — 100 K/s | napi · KvClient.get — 80.0 K/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) | — |
    | get | call | 8 | Client — 100 K/s | js · ioredis — 80.0 K/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) | — |
    | get | best: batch | 8 | Client.batch, batch 64 — 1.00 M/s | napi · KvClient.pipeline, batch 64 — 800 K/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) | 10.0× (9.6–10.4) |
    | get | batch | 8 | Client.batch, batch 64 — 1.00 M/s | js · ioredis pipeline, batch 64 — 200 K/s | 5.0× (4.8–5.2) | 5.0× (4.8–5.2) | 2.5× (2.4–2.6) |
    "
  `);
});

test('compares cells of the same connections alone', () => {
  const wider = requests({ ...addonBatch, connections: 32 }, 0.05);
  const { comparisons } = run([...records, wider]);
  const kindsOf = (id: string): string[] =>
    comparisons.filter(({ numerator, denominator }) => [numerator, denominator].includes(id)).map(({ kind }) => kind);
  expect(kindsOf(wider.id)).toEqual(['noise-floor']);
  const batching = comparisons.filter(({ kind }) => kind === 'batching');
  expect(
    batching.map(({ numerator, denominator, connections, batch }) => [numerator, denominator, connections, batch]),
  ).toEqual([
    [records[3]!.id, records[0]!.id, 8, 64],
    [records[4]!.id, records[1]!.id, 8, 64],
    [records[5]!.id, records[2]!.id, 8, 64],
  ]);
});

test('advises for batches and for single operations', () => {
  expect(adviceFor(run(records), 'redis')).toMatchInlineSnapshot(`
    [
      "get on redis, 8 connections: stay in JavaScript: ioredis (80.0 K/s) is as fast as the addon's KvClient.get, at 1.00× (0.96–1.04). Rust: faster, 1.3× (1.2–1.3).",
      "get on redis, 8 connections, batch 64: take KvClient.pipeline (800 K/s), 4.0× (3.9–4.1) ioredis pipeline. Rust: faster, 1.3× (1.2–1.3).",
    ]
  `);
  const onlyCalls = run([requests(addonCall, 1.25), requests(jsCall, 1)]);
  expect(adviceFor(onlyCalls, 'redis')).toMatchInlineSnapshot(`
    [
      "get on redis, 8 connections: stay in JavaScript: ioredis (100 K/s), 1.3× (1.2–1.3) the addon's KvClient.get.",
    ]
  `);
  expect(adviceFor(run(records), 'mysql')).toEqual([]);
});

test('does not call a client JavaScript that is an addon of others', () => {
  const glide = requests({ ...jsCall, variant: '@valkey/valkey-glide' }, 1);
  const advice = adviceFor(run([requests(addonCall, 1.25), glide]), 'redis');
  expect(advice[0]).toContain("take @valkey/valkey-glide (100 K/s), 1.3× (1.2–1.3) the addon's KvClient.get");
  expect(adviceFor(run([requests(addonCall, 0.5), glide]), 'redis')[0]).toContain(
    '2.0× (1.9–2.1) @valkey/valkey-glide',
  );
});

test('compares the addon with JavaScript by the sizes of batches that both have', () => {
  const large = { ...addonBatch, batch: 1024, variant: 'KvClient.pipeline' } as const;
  const wide = run([
    requests(rustCall, 1),
    requests(addonCall, 1.25),
    requests(jsCall, 1),
    requests(large, 0.05),
    requests({ ...rustBatch, batch: 1024 }, 0.05),
  ]);
  expect(adviceFor(wide, 'redis')).toEqual([
    "get on redis, 8 connections: stay in JavaScript: ioredis (100 K/s), 1.3× (1.2–1.3) the addon's KvClient.get. Rust: equivalent, 1.00× (0.96–1.04).",
    'get on redis, 8 connections, batch 1024: the only way from Node: KvClient.pipeline (2.00 M/s). Rust: equivalent, 1.00× (0.96–1.04).',
  ]);
});

test('gives the factor of an inconclusive comparison', () => {
  const vary = (record: CompletedRecord, factors: readonly number[]): CompletedRecord => ({
    ...record,
    samples: record.samples.map((sample, index) => ({ ...sample, seconds: sample.seconds * factors[index]! })),
  });
  const open = run([
    vary(requests(rustCall, 1), [0.6, 1, 1.5, 1, 1]),
    requests(addonCall, 1),
    vary(requests(jsCall, 1.01), [0.7, 1.4, 0.6, 1.3, 1.2]),
  ]);
  const [line] = adviceFor(open, 'redis');
  expect(line).toMatch(/no difference shown: KvClient\.get \(.*\) or ioredis, 1\.\d+× \(/);
  expect(line).toMatch(/\. Rust: no difference shown, 1\.\d+× \([\d.]+–[\d.]+\)\.$/);
});

test('names the latencies of a closed loop, but not the latencies of an open loop', () => {
  const closed = requests(addonCall, 1);
  const open = requests({ ...addonCall, rate: 100_000 }, 1);
  const titlesOf = (cells: readonly CompletedRecord[]) =>
    requestTable(cells, 4).table.columns.map(({ title }) => title);
  expect(titlesOf([closed])).toContain('p99 (closed loop)');
  expect(requestTable([closed], 4).notes).toContain(CLOSED_LOOP_NOTE);
  expect(titlesOf([open])).toContain('p99');
  expect(requestTable([open], 4).notes).not.toContain(CLOSED_LOOP_NOTE);
});

test('says if an open loop was none', () => {
  const open = { ...addonCall, rate: 100_000 };
  const kept = requests({ ...open, behind: latency(1000) }, 1);
  const slow = requests({ ...open, variant: 'slow', behind: latency(1000) }, 2);
  const late = requests({ ...open, variant: 'late', behind: latency(40_000) }, 1, { main: 1 });
  expect(requestTable([kept, slow, late], 4).notes.slice(2)).toMatchInlineSnapshot(`
    [
      "get, napi · slow, 8 connections: 50.0 K/s of the 100 K/s requests asked for.",
      "get, napi · late, 8 connections: the client itself sent late, by 160 µs in the p99; that is part of the latencies.",
    ]
  `);
});

test('says what pushing work down to the server won', () => {
  const of = (workload: string, fields: Fields, seconds: number): CompletedRecord =>
    requests(
      { ...fields, family: 'rest', engine: 'rest', workload, operations: 10, connections: 1 } as Fields,
      seconds,
    );
  const pulled = { ...addonCall, variant: 'rows added up' };
  const pushed = { ...addonCall, variant: 'pushed down' };
  const both = run([
    of('aggregation.pull', pulled, 1),
    of('aggregation.pull', { ...jsCall, variant: 'slow' }, 4),
    of('aggregation.push_down', pushed, 0.05),
  ]);
  expect(adviceFor(both, 'rest')[1]).toBe(
    'aggregation.push_down on rest, 1 connection: the only way from Node: pushed down (200/s); it is 20.0× (19.3–20.7) pulling the rows (rows added up).',
  );
  const level = run([of('aggregation.pull', pulled, 1), of('aggregation.push_down', pushed, 1)]);
  expect(adviceFor(level, 'rest')[1]).toContain('it is no faster than pulling the rows');
  expect(adviceFor(run([of('aggregation.push_down', pushed, 1)]), 'rest')[0]).not.toContain('pulling');
});

test('several threads of JavaScript, and several processes, are the limit only if all of them are busy', () => {
  const rateOf = (fields: Partial<CompletedRecord>, main: number): string =>
    requestTable([requests({ ...addonCall, ...fields }, 1, { main })], 4).table.rows[0]![1]!;
  const allCores = { driver: 'all-cores' as const };
  expect([rateOf(allCores, 1), rateOf(allCores, 3.8)]).toEqual(['100 K/s', '100 K/s (client-bound)']);
  expect([rateOf({ processes: 2 }, 1), rateOf({ processes: 2 }, 1.9)]).toEqual(['100 K/s', '100 K/s (client-bound)']);
  // Eight processes have four cores.
  expect([rateOf({ processes: 8 }, 3), rateOf({ processes: 8 }, 3.7)]).toEqual(['100 K/s', '100 K/s (client-bound)']);
  expect([rateOf({ ...allCores, connections: 2 }, 1.9)]).toEqual(['100 K/s (client-bound)']);
});

test('the processes of a cell stand next to its connections', () => {
  const { table, notes } = requestTable([requests({ ...addonCall, processes: 3 }, 1)], 4);
  expect(table.rows[0]![5]).toBe('8 × 3');
  expect(notes.some((note) => note.startsWith('Connections × processes'))).toBe(true);
});
