import { describe, expect, test } from 'vitest';
import { compareRuns, isUndecided } from '../../src/compare/compare-runs.js';
import type { HostContext } from '../../src/records/host.js';
import type { Run, RunRecord } from '../../src/records/record.js';
import { comparisonDocument, renderComparisonTerminal, slowerText } from '../../src/report/compare-report.js';
import { renderMarkdown } from '../../src/report/document.js';
import { around, completed, context, failed, runOf, sampleRun, skipped } from '../records/sample-run.js';
import { errorWith } from '../error-with.js';

const row = { side: 'rust', lane: 'row', variant: 'RowWriter' } as const;
const staged = { side: 'napi', lane: 'staged-row', variant: 'RowInserter.addRow' } as const;
const columns = { side: 'napi', lane: 'columns', variant: 'RowInserter.addColumns' } as const;
const objects = { side: 'napi', lane: 'objects', variant: 'executeQuery', workload: 'query.full_scan' } as const;

function on(host: Partial<HostContext>, records: readonly RunRecord[] = [completed(row, around(1))]): Run {
  return { ...runOf(records), context: { ...context, host: { ...context.host, ...host } } };
}

test('a comparison that is inconclusive says so, and calls nothing slower', () => {
  const comparison = compareRuns(
    runOf([completed(row, around(1))]),
    runOf([completed(row, [0.9, 1.3, 1.3, 1.3, 0.9])]),
  );
  expect(comparison.cells.map(({ undecided }) => undecided)).toEqual([true]);
  expect(renderComparisonTerminal(comparison)).toContain(
    '\nCould not tell what is slower by more than 5.0%: 1 of 1 cells are inconclusive.\n',
  );
  // Slower, but by how much is not known.
  expect([isUndecided('slower', 0.9, 0.95), isUndecided('slower', 0.96, 0.95)]).toEqual([true, false]);
  expect(slowerText('ways', [{ regressed: true, undecided: false }, comparison.cells[0]!], 0.05)).toBe(
    '1 of 2 ways slower by more than 5.0%. 1 of 2 ways are inconclusive.',
  );
  expect(slowerText('cells', [], 0.05)).toBe('Could not tell: no cells were measured twice.');
});

test('a run against itself shows no difference', () => {
  const comparison = compareRuns(sampleRun(), sampleRun());
  expect(comparison.regressed).toBe(false);
  // A cell that must not decide anything has no verdict.
  expect(comparison.cells.map(({ ratio, verdict }) => [ratio, verdict])).toEqual(
    comparison.cells.map(({ after }) => [1, after.noVerdict === undefined ? 'equivalent' : 'inconclusive']),
  );
  expect(comparison.cells.some(({ after }) => after.noVerdict !== undefined)).toBe(true);
  expect(comparison.cells).toHaveLength(13);
  expect(comparison.incomparable.map(({ outcome }) => outcome)).toEqual(['failed', 'skipped']);
});

describe('a cell is slower only beyond what the machine moved', () => {
  const run = (seconds: readonly number[], loopSeconds?: number): Run => {
    const cells = [row, staged, columns, objects].slice(0, seconds.length);
    const made = runOf(cells.map((cell, index) => completed(cell, around(seconds[index]!))));
    return loopSeconds === undefined ? made : { ...made, context: { ...made.context, loopSeconds } };
  };
  const verdicts = (before: Run, after: Run): string[] =>
    compareRuns(before, after).cells.map(({ verdict, regressed }) => (regressed ? 'regression' : verdict));

  test('as far as all cells together tell', () => {
    expect(verdicts(run([1, 1, 1]), run([1.5, 1.5, 1.5]))).toEqual(Array(3).fill('inconclusive'));
    expect(verdicts(run([1, 1, 1]), run([1.5, 1.5, 3]))).toEqual(['inconclusive', 'inconclusive', 'regression']);
    expect(verdicts(run([1, 1, 1]), run([1, 1, 1.5]))).toEqual(['equivalent', 'equivalent', 'regression']);
    const text = renderMarkdown(comparisonDocument(compareRuns(run([1, 1, 1]), run([1.5, 1.5, 1.5]))));
    expect(text).toContain('the cells moved by 0.67× in the median. All of that is probably the machine.');
  });

  test('as far as the loop before the first sample tells', () => {
    expect(verdicts(run([1], 1e-6), run([1.3], 1.5e-6))).toEqual(['inconclusive']);
    expect(verdicts(run([1], 1e-6), run([2], 1.5e-6))).toEqual(['regression']);
    expect(verdicts(run([1.5], 1.5e-6), run([1.2], 1e-6))).toEqual(['inconclusive']);
    expect(verdicts(run([1], 1e-6), run([1.3], 1e-6))).toEqual(['regression']);
  });

  test('and if nothing tells, the report says so', () => {
    const text = renderMarkdown(comparisonDocument(compareRuns(run([1]), run([1]))));
    expect(text).toContain('nothing in them says how much the machine changed in between');
  });
});

test('tells every way in which two runs can differ', () => {
  const before = runOf([
    completed(row, around(1)),
    completed(staged, around(1)),
    completed(columns, [1]),
    completed(objects, around(1)),
    skipped({ ...row, engine: 'memory' }, 'not here'),
    completed({ ...row, engine: 'gone' }, around(1)),
  ]);
  const after = runOf([
    completed(row, around(1.25)),
    completed(staged, around(0.8)),
    completed({ ...columns, rows: 1_000_000 }, [0.1]),
    failed(objects, 'BB_CHECKSUM_MISMATCH', 'expected 10, got 9'),
    skipped({ ...row, engine: 'memory' }, 'not here'),
    completed({ ...row, engine: 'new' }, around(1)),
  ]);
  const comparison = compareRuns(before, after, { force: true });
  expect(comparison.regressed).toBe(true);
  const markdown = renderMarkdown(comparisonDocument(comparison));
  expect(markdown).toMatchInlineSnapshot(`
    "### measurements/insert.bulk on embedded

    | Cell | Before | After | After / before | Verdict |
    | --- | ---: | ---: | ---: | --- |
    | row/rust/w1 | 10.0 M/s | 8.00 M/s | 0.80× (0.77–0.83) | regression |
    | staged-row/napi/w1 | 10.0 M/s | 12.5 M/s | 1.3× (1.2–1.3) | faster |
    | columns/napi/w1 | 10.0 M/s | 10.0 M/s | 1.00× (1.00–1.00) (other rows) (one process) | inconclusive |

    After / before: the rate of the later run divided by the rate of the earlier run, with its 95% interval. Above 1, it got faster. Verdicts: regression, the whole interval is below 0.95, and below what the machine moved; faster, the whole interval is above 1, and above what the machine moved; inconclusive, the interval includes 1, and is wider than the threshold.

    Between the two runs, the cells moved by 1.00× in the median. To compare two builds, measure both in one run, in turns.

    (other rows): the two were measured at different numbers of rows. Their rows per second are compared.

    (one process): one process measured one of the two, which says nothing of other processes: no verdict. Measure with --forks 3 or more, or without --forks.

    Completed before, failed after:

    - measurements/query.full_scan/objects/napi/embedded/w1: failed, BB_CHECKSUM_MISMATCH: expected 10, got 9

    Not comparable, for want of a rate on a side:

    - measurements/insert.bulk/row/rust/memory/w1: skipped, not here

    Only in the earlier run:

    - measurements/insert.bulk/row/rust/gone/w1

    Only in the later run:

    - measurements/insert.bulk/row/rust/new/w1

    1 of 3 cells slower by more than 5.0%, 1 broken. 1 of 3 cells are inconclusive.
    "
  `);
  const [title, table, ...rest] = renderComparisonTerminal(comparison).split('\n\n');
  expect(`${title}\n\n${table}`).toMatchInlineSnapshot(`
    "measurements/insert.bulk on embedded

    Cell                  Before     After                                After / before  Verdict
    ──────────────────  ────────  ────────  ────────────────────────────────────────────  ────────────
    row/rust/w1         10.0 M/s  8.00 M/s                             0.80× (0.77–0.83)  regression
    staged-row/napi/w1  10.0 M/s  12.5 M/s                                1.3× (1.2–1.3)  faster
    columns/napi/w1     10.0 M/s  10.0 M/s  1.00× (1.00–1.00) (other rows) (one process)  inconclusive"
  `);
  expect(rest).toEqual(markdown.split('\n\n').slice(2));
});

test('a regression is an interval wholly below the threshold', () => {
  const before = runOf([completed(row, [1, 1, 1, 1, 1])]);
  const slower = (seconds: number): Run =>
    runOf([
      completed(
        row,
        Array.from({ length: 5 }, () => seconds),
      ),
    ]);
  expect(compareRuns(before, slower(1.04)).regressed).toBe(false);
  expect(compareRuns(before, slower(1.06)).regressed).toBe(true);
  expect(compareRuns(before, slower(1.06), { threshold: 0.1 }).regressed).toBe(false);
  expect(compareRuns(before, slower(1.001), { threshold: 0 }).regressed).toBe(true);
  expect(compareRuns(before, runOf([completed(row, [0.9, 1.3, 1.3, 1.3, 0.9])])).regressed).toBe(false);
  expect(() => compareRuns(before, before, { treshold: 0.1 } as object)).toThrow(
    "there is no option 'treshold'; did you mean threshold?",
  );
  expect(() => compareRuns(before, before, { threshold: 5 })).toThrow(errorWith('BB_INVALID_ARGUMENT'));
});

test('one process gives no verdict', () => {
  const { cells, regressed } = compareRuns(runOf([completed(row, [1])]), runOf([completed(row, around(2))]));
  expect([cells[0]!.verdict, regressed]).toEqual(['inconclusive', false]);
});

test('a cell that completed and now fails is a regression', () => {
  const comparison = compareRuns(runOf([completed(row, around(1))]), runOf([failed(row, 'BB_X', 'broke')]));
  expect(comparison.broken.map(({ id }) => id)).toEqual(['measurements/insert.bulk/row/rust/embedded/w1']);
  expect(comparison.regressed).toBe(true);
});

describe('hardware', () => {
  test.each<[string, Partial<HostContext>]>([
    ['CPU', { cpu: 'Another CPU' }],
    ['logical cores', { logicalCores: 4 }],
    ['architecture', { arch: 'aarch64' }],
    ['operating system', { os: 'Darwin 26.4' }],
    ['operating system: Linux 6.8.0 and Linux 6.9.1', { os: 'Linux 6.9.1' }],
    ['memory in bytes', { memoryBytes: 32 * 1024 ** 3 }],
    ['CPU limit', { cgroup: { memoryBytes: 8 * 1024 ** 3 } }],
    ['memory limit', { cgroup: { cpus: 2 } }],
  ])('another %s is refused unless forced', (what, host) => {
    const compare = (force: boolean) => compareRuns(on({}), on(host), { force });
    expect(() => compare(false)).toThrow(errorWith('BB_COMPARE_DIFFERENT_HARDWARE', what));
    expect(compare(true).hardwareDifferences).toEqual([expect.stringContaining(what)]);
  });

  test('another governor and a little less memory are no other hardware', () => {
    const alike = on({ governor: 'powersave', memoryBytes: 15.5 * 1024 ** 3 });
    expect(compareRuns(on({}), alike).hardwareDifferences).toEqual([]);
  });
});

test('refuses cells that were asked for different rates, unless it is forced', () => {
  const [closed, open] = [{}, { rate: 5000 }].map((paced) => runOf([completed({ ...row, ...paced }, around(1))]));
  expect(() => compareRuns(closed!, open!)).toThrow(
    errorWith('BB_COMPARE_DIFFERENT_RATES', 'asked for no rate and for 5000/s'),
  );
  expect(compareRuns(closed!, open!, { force: true }).cells).toHaveLength(1);
});

test('refuses cells of different numbers of rows, unless it is forced', () => {
  const [few, many] = [1_000_000, 10_000_000].map((rows) => runOf([completed({ ...row, rows }, around(1))]));
  expect(() => compareRuns(few!, many!)).toThrow(
    expect.objectContaining({
      code: 'BB_COMPARE_DIFFERENT_ROWS',
      message: expect.stringContaining('1 of 1 cells worked on different numbers of rows'),
      hint: expect.stringContaining('--force'),
    }),
  );
  expect(compareRuns(few!, many!, { force: true }).cells).toHaveLength(1);
});

test('refuses cells that read other values, as of another scale, unless it is forced', () => {
  const before = completed(row, around(1));
  const after = { ...before, checksum: { ...before.checksum, sums: { ...before.checksum.sums, id: '1' } } };
  expect(() => compareRuns(runOf([before]), runOf([after]))).toThrow(
    errorWith('BB_COMPARE_DIFFERENT_WORK', 'the sum of id: 49999995000000 and 1'),
  );
  expect(compareRuns(runOf([before]), runOf([after]), { force: true }).cells).toHaveLength(1);
  // Sums of floats depend on the order in which an engine adds.
  const rounded = {
    ...before,
    checksum: { rows: before.checksum.rows, sums: { ...before.checksum.sums, value: 4999999500000.251 } },
  };
  expect(compareRuns(runOf([before]), runOf([rounded])).cells).toHaveLength(1);
});

test('refuses runs through different networks, unless it is forced', () => {
  const plain = runOf([completed(row, around(1))]);
  const trip = { medianUs: 1, p99Us: 2 } as never;
  const shards = { by: 'proxy', delayUs: 500, plain: trip, slowed: trip } as never;
  const far = { ...plain, context: { ...plain.context, networks: { embedded: shards } } };
  expect(() => compareRuns(plain, far)).toThrow(
    errorWith('BB_COMPARE_DIFFERENT_WORK', '(none and embedded: 500 µs each way by the proxy)'),
  );
  expect(compareRuns(far, far).cells).toHaveLength(1);
  const elsewhere = { ...plain, context: { ...plain.context, networks: { shards } } };
  expect(compareRuns(plain, elsewhere).cells).toHaveLength(1);
  expect(compareRuns(plain, far, { force: true }).cells).toHaveLength(1);
});

test('refuses runs without a cell in common, also if it is forced', () => {
  const [before, after] = [runOf([completed(row, around(1))]), runOf([completed(columns, around(1))])];
  for (const force of [false, true]) {
    expect(() => compareRuns(before, after, { force })).toThrow(errorWith('BB_COMPARE_NOTHING'));
  }
});

test('names the versions that differ, and explains the verdicts that it gives', () => {
  const before = runOf([completed(row, around(1))]);
  const versions = { ...before.context.versions, node: '99.0.0', another: '1.0' };
  const after = { ...before, context: { ...before.context, versions } };
  const comparison = compareRuns(before, after);
  expect(comparison.versionDifferences).toEqual([`node ${before.context.versions['node']} and 99.0.0`]);
  expect(renderComparisonTerminal(comparison, { columns: 80 })).toMatchInlineSnapshot(`
    "Versions that differ, before and after:

    - node 20.19.0 and 99.0.0

    measurements/insert.bulk on embedded

    Cell           Before     After     After / before  Verdict
    ───────────  ────────  ────────  ─────────────────  ──────────
    row/rust/w1  10.0 M/s  10.0 M/s  1.00× (0.96–1.04)  equivalent

    After / before: the rate of the later run divided by the rate of the earlier
    run, with its 95% interval. Above 1, it got faster. Verdicts: equivalent, the
    whole interval is within 5.0% of 1.

    The two runs are of different times, and nothing in them says how much the
    machine changed in between. To compare two builds, measure both in one run, in
    turns.

    0 of 1 cells slower by more than 5.0%.
    "
  `);
});
