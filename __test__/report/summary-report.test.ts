import { describe, expect, it, test } from 'vitest';
import { comparisonsOf } from '../../src/compare/comparisons.js';
import type { CompletedRecord, Run, RunRecord } from '../../src/records/record.js';
import { renderRunTerminal } from '../../src/report/run-report.js';
import { renderRunSummary } from '../../src/report/summary-report.js';
import { around, completed, sampleRun } from '../records/sample-run.js';

const at = (columns: number, run = sampleRun()): string => renderRunSummary(run, { report: 'out/run.md', columns });

/** A run of these records with the comparisons that they make. */
function runOf(records: readonly RunRecord[], config: object = {}): Run {
  const run = sampleRun();
  return {
    ...run,
    context: { ...run.context, config: { ...run.context.config, ...config } },
    records,
    comparisons: comparisonsOf(records, { rustLaneOf: () => undefined, margin: 0.05 }),
  };
}

test('one line a workload', () => {
  expect(at(120)).toMatchInlineSnapshot(`
    "Cells: 13 measured, 1 failed, 1 skipped.

    Workload                         Engine                  Addon          Rust factor         Addon factor
    ───────────────────────────────  ────────────  ───────────────  ───────────────────  ───────────────────
    insert.bulk                      embedded            *32.1 M/s  ≈ 1.01× (0.97–1.04)                    —
    query.full_scan                  memory               83.3 M/s       2.0× (1.9–2.1)                    —
    query.full_scan                  apache-arrow                —                    —                    —
    query.aggregation                embedded      *30.3 queries/s                    —  ≈ 1.00× (0.96–1.04)
    mget, 4 connections, in batches  redis                2.20 M/s                    —                    —
    (too narrow for: Rust, Other client, CPU factor)

    - insert.bulk on embedded: take RowInserter.addColumns (32.1 M rows/s), 1.4× (1.3–1.4) RowInserter.addRow. Rust:
      equivalent, 1.01× (0.97–1.04).
    - query.aggregation on embedded: equivalent: @duckdb/node-api columns (30.3 queries/s) or the addon's
      executeQueryColumnar, 1.00× (0.96–1.04).
    - query.full_scan on memory: the only way from Node: executeQueryColumnar (83.3 M rows/s). Rust: faster, 2.0× (1.9–2.1).
    - query.full_scan on apache-arrow: the only way from Node: apache-arrow column loop (200 M rows/s); the addon on memory:
      no verdict (too short), 0.42× (0.40–0.43). Rust on memory: no verdict (too short), 0.83× (0.80–0.86).
    - mget on redis, 4 connections, batch 110: the only way from Node: client.mget (2.20 M/s).

    Rust factor: Rust's rate divided by the Node side's. Above 1, Rust is faster. CPU factor: the CPU time of the Node
    side's process, of all its threads, divided by Rust's CPU time for the same work. Above 1, Rust takes less. Addon
    factor: the addon's rate divided by the rate of the fastest other client. In parentheses: the 95% interval. It covers
    this run alone. * stands for the fastest side, or for both if they are equivalent. ≈ stands for equivalent.

    (too short): the samples of the cell could not be made long enough to measure, so it gets no verdict.

    - measurements/query.full_scan/objects/napi/embedded/w1 failed: BB_CHECKSUM_MISMATCH: expected 10 | got 9 rows
    - measurements/query.aggregation/row/rust/memory/w1 skipped: memory has no SQL

    Warning: 1 of 15 cells failed.

    Report: out/run.md
    "
  `);
});

test('a narrow terminal gets the rates before the factors', () => {
  // The table, the list and what the factors are.
  expect(at(80).split('\n\n').slice(1, 4).join('\n\n')).toMatchInlineSnapshot(`
    "Workload                                        Addon  Rust factor  Addon factor
    ────────────────────────────────────  ───────────────  ───────────  ────────────
    insert.bulk on embedded                     *32.1 M/s      ≈ 1.01×             —
    query.full_scan on memory                    83.3 M/s         2.0×             —
    query.full_scan on apache-arrow                     —            —             —
    query.aggregation on embedded         *30.3 queries/s            —        ≈ 1.0×
    mget, 4 connections, in batches on           2.20 M/s            —             —
    redis
    (too narrow for: Rust, Other client)

    - insert.bulk on embedded: take RowInserter.addColumns (32.1 M rows/s), 1.4×
      (1.3–1.4) RowInserter.addRow. Rust: equivalent, 1.01× (0.97–1.04).
    - query.aggregation on embedded: equivalent: @duckdb/node-api columns (30.3
      queries/s) or the addon's executeQueryColumnar, 1.00× (0.96–1.04).
    - query.full_scan on memory: the only way from Node: executeQueryColumnar (83.3
      M rows/s). Rust: faster, 2.0× (1.9–2.1).
    - query.full_scan on apache-arrow: the only way from Node: apache-arrow column
      loop (200 M rows/s); the addon on memory: no verdict (too short), 0.42×
      (0.40–0.43). Rust on memory: no verdict (too short), 0.83× (0.80–0.86).
    - mget on redis, 4 connections, batch 110: the only way from Node: client.mget
      (2.20 M/s).

    Rust factor: Rust's rate divided by the Node side's. Above 1, Rust is faster.
    Addon factor: the addon's rate divided by the rate of the fastest other client.
    In parentheses: the 95% interval. It covers this run alone. * stands for the
    fastest side, or for both if they are equivalent. ≈ stands for equivalent."
  `);
});

test.each([60, 80, 100, 120, 200])('no line is longer than a terminal of %d columns', (columns) => {
  const lines = `${at(columns)}${renderRunTerminal(sampleRun(), columns)}`.split('\n');
  // A heading is not wrapped.
  const tooLong = lines.filter((line) => [...line].length > columns && !line.startsWith('Rust vs Node.js'));
  expect(tooLong).toEqual([]);
});

describe('the worst warning', () => {
  const js = completed({ lane: 'objects', side: 'js', variant: 'rows' }, around(1));
  const open = completed({ lane: 'objects', side: 'rust', variant: 'rows' }, [0.8, 1.3, 1, 0.7, 1.4]);
  const warningOf = (run: Run): string | undefined => /^Warning: .*$/m.exec(at(1000, run))?.[0];

  it('is about failures first, then about the machine, then about inconclusive comparisons', () => {
    const failed: RunRecord = { ...js, id: 'x', outcome: 'failed', error: { code: 'BB_ENGINE', message: 'it broke' } };
    expect(warningOf(runOf([js, open, failed]))).toBe('Warning: 1 of 3 cells failed.');
    const { context, ...run } = runOf([js, open]);
    const powersave = { ...run, context: { ...context, host: { ...context.host, governor: 'powersave' } } };
    expect(warningOf(powersave)).toContain('the governor of the CPU is powersave');
    expect(warningOf({ ...run, context })).toBe(
      'Warning: 1 of 1 comparisons with Rust are inconclusive. More processes decide more (--forks).',
    );
  });

  it('is that many cells get no verdict, with the reasons', () => {
    const short = { ...js, noVerdict: 'too-short' } as const;
    const warming = { ...open, noVerdict: 'still-warming-up' } as const;
    expect(warningOf(runOf([short, warming]))).toBe(
      'Warning: 2 of 2 cells get no verdict: 1 too short to measure, 1 still got faster when its warm-up ended.',
    );
    expect(at(1000, runOf([short]))).toMatch(/10\.0 M\/s \(too short\)[^]*\(too short\): /);
  });

  it('is none if nothing is wrong', () => {
    expect(warningOf(runOf([js]))).toBeUndefined();
  });
});

test('a quick run is called rough', () => {
  const js = completed({ lane: 'objects', side: 'js', variant: 'rows' }, around(1));
  expect(at(80, runOf([js], { quick: true }))).toMatch(/^A rough first look: 1 measured\.\n/);
  expect(at(80, runOf([js]))).toMatch(/^Cells: 1 measured\.\n/);
});

test('a client of the user has the first lines: its factor to each way of the same work', () => {
  const requests = { family: 'kv', workload: 'get', lane: 'call', engine: 'redis', connections: 8 } as const;
  const of = (variant: string, side: 'js' | 'napi', seconds: number): CompletedRecord =>
    completed({ ...requests, variant, side }, around(seconds));
  const records = [of('mine', 'js', 0.2), of('ioredis', 'js', 0.4), of('KvClient', 'napi', 0.1)];
  expect(at(1000, runOf(records, { client: 'js:/somewhere/mine.mjs' })).split('\n')[0]).toBe(
    '- get, 8 connections: mine: 2.0× ioredis, 0.50× KvClient',
  );
  expect(at(1000, runOf(records, { client: 'js:mine.mjs' }))).toMatch(/^- get, 8 connections: mine: 2\.0× ioredis/);
  expect(at(1000, runOf(records))).toMatch(/^Cells: /);
  const run = runOf(records, { client: 'js:mine.mjs' });
  const context = { ...run.context, versions: { ...run.context.versions, mine: '1.2.0' } };
  expect(at(1000, { ...run, context })).toMatch(/^- get, 8 connections: mine 1\.2\.0: 2\.0× ioredis/);
});
