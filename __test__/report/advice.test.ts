import { expect, test } from 'vitest';
import type { CompletedRecord } from '../../src/records/record.js';
import { adviceFor } from '../../src/report/advice.js';
import { formatFactorInterval } from '../../src/report/format.js';
import { renderRunMarkdown } from '../../src/report/run-report.js';
import { around, completed, runOf } from '../records/sample-run.js';

const rust = { side: 'rust', lane: 'columns', variant: 'column slices', flavor: 'sync' } as const;
const addon = { side: 'napi', lane: 'columns', variant: 'RowInserter.addColumns', flavor: 'async' } as const;
const javaScript = { side: 'js', lane: 'columns', variant: 'appender, chunks', flavor: 'async' } as const;
const staged = { side: 'napi', lane: 'staged-row', variant: 'RowInserter.addRow', flavor: 'async' } as const;

test('says what Rust would bring', () => {
  const run = runOf([completed(rust, around(0.25)), completed(addon, around(0.5))]);
  expect(adviceFor(run, 'embedded')).toEqual([
    'insert.bulk on embedded: the only way from Node: RowInserter.addColumns (20.0 M rows/s). Rust: faster, 2.0× (1.9–2.1).',
  ]);
});

test('says of Rust what the table of the best says, and of what is inconclusive its factor', () => {
  // By all processes Rust is faster; by the odd ones, whose times the table has, nothing is decided.
  const times = { rust: [1, 0.2, 1.2, 0.2, 0.9], loop: [9, 9, 9, 9, 9], addon: [1, 1, 1.1, 1, 0.9] };
  const run = runOf([
    completed(rust, times.rust),
    completed({ ...rust, lane: 'row', variant: 'RowWriter' }, times.loop),
    completed(addon, times.addon),
    completed(javaScript, times.addon),
  ]);
  const best = run.comparisons.find(({ kind }) => kind === 'best')!;
  expect(best.verdict).toBe('inconclusive');
  const [line] = adviceFor(run, 'embedded');
  expect(line).toContain(`. Rust: no difference shown, ${formatFactorInterval(best)}.`);
  expect(line).toMatch(
    /: no difference shown: RowInserter\.addColumns \(.*\) or appender, chunks, 1\.\d+× \(0\.\d+–1\.\d+\)/,
  );
  expect(renderRunMarkdown(run)).toContain(`inconclusive ${formatFactorInterval(best)}`);
});

test('recommends the cell that the table compares with Rust', () => {
  // The fastest of all, but by each four of its processes slower than the other.
  const lucky = { ...staged, variant: 'lucky' };
  const run = runOf([
    completed(rust, around(0.1)),
    completed(addon, [0.5, 0.5, 0.5, 0.5, 0.5]),
    completed(lucky, [0.4, 0.4, 0.4, 0.8, 0.8]),
  ]);
  expect(run.comparisons.find(({ kind }) => kind === 'best')!.denominator).toContain('/staged-row/napi/');
  expect(adviceFor(run, 'embedded')[0]).toMatch(/lucky .*\. Rust: faster, 5\.0× \(\d.*\)/);
});

test('says when Rust would be slower', () => {
  const run = runOf([completed(rust, around(1)), completed(addon, around(0.5))]);
  expect(adviceFor(run, 'embedded')).toEqual([
    'insert.bulk on embedded: the only way from Node: RowInserter.addColumns (20.0 M rows/s). Rust: slower, 0.50× (0.48–0.52).',
  ]);
});

test('says to stay in JavaScript if the addon is no faster', () => {
  const tuned = { ...javaScript, variant: 'tuned JavaScript' };
  const faster = runOf([completed(rust, around(0.5)), completed(addon, around(0.5)), completed(tuned, around(0.25))]);
  expect(adviceFor(faster, 'embedded')).toEqual([
    "insert.bulk on embedded: stay in JavaScript: tuned JavaScript (40.0 M rows/s), 2.0× (1.9–2.1) the addon's " +
      'RowInserter.addColumns. Rust: slower, 0.50× (0.48–0.52).',
  ]);
  const level = runOf([completed(addon, around(0.5)), completed(tuned, around(0.501))]);
  expect(adviceFor(level, 'embedded')).toEqual([
    "insert.bulk on embedded: stay in JavaScript: tuned JavaScript (20.0 M rows/s) is as fast as the addon's RowInserter.addColumns, at 1.00× (0.96–1.03).",
  ]);
});

test('recommends none of two ways of one addon that do not differ, and says so', () => {
  const wide = [0.5, 0.9, 0.4, 0.7, 0.6];
  const twice = { ...addon, lane: 'twice', variant: 'RowInserter.addColumns, twice' } as const;
  const [line] = adviceFor(runOf([completed(addon, wide), completed(twice, wide.toReversed())]), 'embedded');
  expect(line).toMatch(/: no difference shown: RowInserter\.addColumns.* or RowInserter\.addColumns.*, 1\.0/);
  expect(line).not.toMatch(/take|use/);
});

test('names the fastest rival alone, by the factor of the table', () => {
  const naive = { side: 'napi', lane: 'naive-row', variant: 'each value crosses (naive)' } as const;
  const run = runOf([
    completed(addon, around(0.1)),
    completed(javaScript, around(0.12)),
    completed({ ...javaScript, lane: 'row', variant: 'appender, rows' }, around(0.9)),
    completed(naive, around(5)),
  ]);
  expect(adviceFor(run, 'embedded')).toEqual([
    'insert.bulk on embedded: take RowInserter.addColumns (100 M rows/s), 1.20× (1.16–1.24) appender, chunks.',
  ]);
});

test('adds the verdict by CPU time if wall time cannot tell and the ways are synchronous on one thread', () => {
  const way = (lane: string, cpu: number, stallMs: number): CompletedRecord => {
    const { rows: _, ...record } = completed({ ...addon, lane, variant: lane, engine: 'in-process' }, around(1));
    const seconds = lane === 'a' ? [1, 30, 2, 1, 40] : [20, 1, 1, 35, 2];
    const samples = around(cpu).map((time, index) => ({
      fork: index + 1,
      seconds: seconds[index]!,
      cpuSeconds: time,
      mainThreadCpuSeconds: time,
      longestStallMs: seconds[index]! * stallMs,
    }));
    return { ...record, calls: 1, items: 1, samples };
  };
  const lineOf = (stallMs: number): string =>
    adviceFor(runOf([way('a', 0.2, stallMs), way('b', 0.1, stallMs)]), 'in-process')[0]!;
  expect(lineOf(990)).toMatch(
    /no difference shown: .*× \([\d.]+–[\d.K]+\), by CPU time: (slower, 0\.50|faster, 2\.0)× \(/,
  );
  expect(lineOf(5)).not.toContain('by CPU time');
});

test('compares a JavaScript-only engine with the addon if the Rust counterpart ran', () => {
  const run = runOf([
    completed({ ...rust, engine: 'memory' }, around(0.1)),
    completed({ ...addon, engine: 'memory' }, around(0.2)),
    completed({ ...javaScript, engine: 'flechette' }, around(0.4)),
  ]);
  expect(adviceFor(run, 'flechette')).toEqual([
    'insert.bulk on flechette: the only way from Node: appender, chunks (25.0 M rows/s); the addon on memory: ' +
      '2.0× (1.9–2.1). Rust on memory: faster, 4.0× (3.9–4.1).',
  ]);
});

test('names the best of several transports, and compares over it alone', () => {
  const over = (transport: string, fields: typeof rust | typeof addon, seconds: number) => {
    const record = completed({ ...fields, engine: 'hyper', transport }, around(seconds));
    return { ...record, id: record.id.replace('hyper', `hyper/${transport}`) };
  };
  const run = runOf([
    over('tcp', rust, 0.1),
    over('tcp', addon, 0.5),
    over('ipc', rust, 0.25),
    over('ipc', addon, 0.25),
    over('grpc-sync', addon, 0.251),
  ]);
  expect(adviceFor(run, 'hyper')).toEqual([
    'insert.bulk on hyper (ipc): the only way from Node: RowInserter.addColumns (40.0 M rows/s). Rust: equivalent, 1.00× (0.96–1.04).',
  ]);
});

test('owns up to few processes', () => {
  expect(adviceFor(runOf([completed(addon, [0.5])]), 'embedded')).toEqual([
    'insert.bulk on embedded: the only way from Node: RowInserter.addColumns (20.0 M rows/s). (Rough: fewer than 3 processes.)',
  ]);
});

test('says nothing of an engine that only Rust completed', () => {
  expect(adviceFor(runOf([completed(rust, around(1))]), 'embedded')).toEqual([]);
});

test('the advice on a result of a few rows has the rate of its queries, as the tables do', () => {
  const few = { workload: 'query.aggregation', rows: 10, queries: 1 } as const;
  const run = runOf([completed({ ...addon, ...few }, around(0.033)), completed({ ...staged, ...few }, around(0.066))]);
  expect(adviceFor(run, 'embedded')).toEqual([
    'query.aggregation on embedded: take RowInserter.addColumns (30.3 queries/s), 2.0× (1.9–2.1) RowInserter.addRow.',
  ]);
});

test('names the crossover if several numbers of rows were measured', () => {
  const at = (fields: typeof addon | typeof staged, rows: number, seconds: number): CompletedRecord => {
    const record = completed({ ...fields, rows }, around(seconds));
    return { ...record, id: `${record.id}/r${rows}` };
  };
  const [small, middle, large] = [1_000, 100_000, 10_000_000];
  const crossing = runOf([
    at(addon, small, 0.002),
    at(staged, small, 0.001),
    at(addon, middle, 0.01),
    at(staged, middle, 0.02),
    at(addon, large, 0.5),
    at(staged, large, 1),
  ]);
  expect(adviceFor(crossing, 'embedded')).toEqual([
    'insert.bulk on embedded: take RowInserter.addColumns (20.0 M rows/s), 2.0× (1.9–2.1) RowInserter.addRow; ' +
      'so from 100K rows up, but at 1.00K rows take RowInserter.addRow.',
  ]);
  const always = runOf([
    at(addon, middle, 0.01),
    at(staged, middle, 0.02),
    at(addon, large, 0.5),
    at(staged, large, 1),
  ]);
  expect(adviceFor(always, 'embedded')[0]).toContain('; so at every number of rows measured, from 100K up.');
});
