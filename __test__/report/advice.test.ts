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
    'insert.bulk on embedded: from Node use RowInserter.addColumns (20.0 M rows/s); Rust (sync column slices) would be 2.0× that.',
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
  expect(line).toContain(
    `whether Rust (sync column slices) would be faster is inconclusive: ${formatFactorInterval(best)}.`,
  );
  expect(line).toMatch(/whether it is faster than appender, chunks is inconclusive: 1\.\d+× \(0\.\d+–1\.\d+\)/);
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
  expect(adviceFor(run, 'embedded')[0]).toMatch(/from Node use lucky .* would be 5\.0× that\.$/);
});

test('says when Rust would be slower', () => {
  const run = runOf([completed(rust, around(1)), completed(addon, around(0.5))]);
  expect(adviceFor(run, 'embedded')).toEqual([
    'insert.bulk on embedded: from Node use RowInserter.addColumns (20.0 M rows/s); Rust would be slower, at 0.50×.',
  ]);
});

test('says to stay in JavaScript if the addon is no faster', () => {
  const faster = runOf([
    completed(rust, around(0.5)),
    completed(addon, around(0.5)),
    completed(javaScript, around(0.25)),
  ]);
  expect(adviceFor(faster, 'embedded')).toEqual([
    "insert.bulk on embedded: stay in JavaScript: appender, chunks (40.0 M rows/s) is 2.0× the addon's RowInserter.addColumns; it is 2.0× RowInserter.addColumns and saves 25 ns per row; Rust would be slower, at 0.50×.",
  ]);
  const level = runOf([completed(addon, around(0.5)), completed(javaScript, around(0.501))]);
  expect(adviceFor(level, 'embedded')).toEqual([
    "insert.bulk on embedded: stay in JavaScript: appender, chunks (20.0 M rows/s) is as fast as the addon's RowInserter.addColumns, at 1.00× (0.97–1.04).",
  ]);
});

test('compares a JavaScript-only engine with the addon if the Rust counterpart ran', () => {
  const run = runOf([
    completed({ ...rust, engine: 'memory' }, around(0.1)),
    completed({ ...addon, engine: 'memory' }, around(0.2)),
    completed({ ...javaScript, engine: 'flechette' }, around(0.4)),
  ]);
  expect(adviceFor(run, 'flechette')).toEqual([
    "insert.bulk on flechette: in JavaScript use appender, chunks (25.0 M rows/s); the addon's RowInserter.addColumns on memory is 2.0× that; Rust on memory (sync column slices) would be 4.0× that.",
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
    'insert.bulk on hyper over ipc: from Node use RowInserter.addColumns (40.0 M rows/s); Rust would be no faster, at 1.00× (0.96–1.04).',
  ]);
});

test('owns up to few processes', () => {
  expect(adviceFor(runOf([completed(addon, [0.5])]), 'embedded')).toEqual([
    'insert.bulk on embedded: from Node use RowInserter.addColumns (20.0 M rows/s). (Rough: measured in fewer than 3 processes.)',
  ]);
});

test('says nothing of an engine that only Rust completed', () => {
  expect(adviceFor(runOf([completed(rust, around(1))]), 'embedded')).toEqual([]);
});

test('a result of a few rows is told by its time', () => {
  const few = { workload: 'query.aggregation', rows: 10 } as const;
  const run = runOf([completed({ ...addon, ...few }, around(0.033)), completed({ ...staged, ...few }, around(0.066))]);
  expect(adviceFor(run, 'embedded')).toEqual([
    'query.aggregation on embedded: from Node use RowInserter.addColumns (33.0 ms); it is 2.0× RowInserter.addRow and saves 33.0 ms an execution.',
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
    'insert.bulk on embedded: from Node use RowInserter.addColumns (20.0 M rows/s); it is 2.0× RowInserter.addRow and saves 50 ns per row; so from 100K rows up, but at 1.00K rows use RowInserter.addRow.',
  ]);
  const always = runOf([
    at(addon, middle, 0.01),
    at(staged, middle, 0.02),
    at(addon, large, 0.5),
    at(staged, large, 1),
  ]);
  expect(adviceFor(always, 'embedded')[0]).toContain('; so at every number of rows measured, from 100K up.');
});
