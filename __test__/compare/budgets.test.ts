import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { type Budget, type Budgets, checkBudgets, readBudgets } from '../../src/compare/budgets.js';
import {
  budgetAnnotations,
  renderBudgetsJunit,
  renderBudgetsMarkdown,
  renderBudgetsTerminal,
} from '../../src/report/budget-report.js';
import { around, completed, context, failed, runOf } from '../records/sample-run.js';
import { folderOfSuite } from '../temporary-folder.js';

const rust = completed({ side: 'rust', lane: 'row', variant: 'RowWriter' }, around(1));
const napi = completed({ side: 'napi', lane: 'row', variant: 'addRow' }, around(2));
const broken = failed({ side: 'js', lane: 'row', variant: 'rows' }, 'BB_STUCK', 'the cell is stuck');
const run = runOf([rust, napi, broken]);

/** A row of `rust` takes 100 ns, within two percent. */
const time = (maximumSeconds: number, targetSeconds?: number): Budget => ({
  name: 'a row',
  cell: rust.id,
  maximumSeconds,
  ...(targetSeconds === undefined ? {} : { targetSeconds }),
});
const ratio = (maximumRatio: number): Budget => ({ name: 'at most', cell: napi.id, over: rust.id, maximumRatio });
const check = (budgets: readonly Budget[], host?: Budgets['host']) =>
  checkBudgets({ schemaVersion: 1, budgets, ...(host && { host }) }, run);
const verdicts = (...budgets: Budget[]) => check(budgets).outcomes.map(({ verdict }) => verdict);

describe('a budget', () => {
  it('is kept or broken if the whole interval says so', () => {
    expect(verdicts(time(1.2e-7), time(1.2e-7, 9e-8), time(8e-8), time(1e-7))).toEqual([
      'target',
      'kept',
      'broken',
      'undecided',
    ]);
    expect(verdicts(ratio(2.5), ratio(1.5), ratio(2))).toEqual(['target', 'broken', 'undecided']);
    expect(check([ratio(1.5)]).failed).toBe(true);
    expect(check([ratio(2)]).failed).toBe(false);
  });

  it('is neither kept nor broken by one process', () => {
    const once = completed({ side: 'rust', lane: 'row', variant: 'RowWriter' }, [1]);
    const of = (budget: Budget) =>
      checkBudgets({ schemaVersion: 1, budgets: [budget] }, runOf([once, napi])).outcomes[0]!;
    for (const budget of [time(1e-9), time(1), ratio(0.1), ratio(10)]) {
      expect(of(budget)).toMatchObject({ verdict: 'undecided', noVerdict: 'one-process' });
    }
    const text = renderBudgetsTerminal({ outcomes: [of(time(1))], hardwareDifferences: [], failed: false });
    expect(text.replaceAll(/\s+/g, ' ')).toContain('more forks decide it, since a cell was measured in one process');
  });

  it('of a cell that was not measured fails the check, with the reason', () => {
    const { outcomes, failed: isFailed } = check([
      { name: 'gone', cell: 'nowhere', maximumSeconds: 1 },
      { name: 'stuck', cell: broken.id, over: rust.id, maximumRatio: 1 },
    ]);
    expect(outcomes.map(({ reason }) => reason)).toEqual([
      'nowhere is not in the run',
      `${broken.id} failed: BB_STUCK: the cell is stuck`,
    ]);
    expect(isFailed).toBe(true);
  });

  it('of a time is not checked on other hardware, and one of a ratio is', () => {
    const other = { ...context.host, cpu: 'Another CPU' };
    const { outcomes, failed: isFailed } = check([time(1e-9), ratio(2.5)], other);
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['other-hardware', 'target']);
    expect(isFailed).toBe(false);
    expect(check([time(1e-9)], context.host).failed).toBe(true);
  });
});

describe('a file of budgets', () => {
  const folder = folderOfSuite();

  const read = async (value: unknown) => {
    const path = join(folder, 'budgets.json');
    await writeFile(path, JSON.stringify(value));
    return readBudgets(path);
  };

  it('is read as its schema says', async () => {
    const file = { schemaVersion: 1, host: context.host, budgets: [time(1, 0.5), ratio(3)] };
    const schema = JSON.parse(await readFile(new URL('../../schema/budgets.schema.json', import.meta.url), 'utf8'));
    expect(new Ajv2020().compile(schema)(file)).toBe(true);
    expect(await read(file)).toEqual(file);
  });

  it.each([
    [{ schemaVersion: 2, budgets: [] }, 'BB_RESULT_FILE_VERSION'],
    [{ schemaVersion: 1, budgets: [] }, 'BB_RESULT_FILE_SHAPE'],
    [{ schemaVersion: 1, budgets: [{ name: 'a', cell: 'b' }] }, 'BB_RESULT_FILE_SHAPE'],
    [{ schemaVersion: 1, budgets: [{ name: 'a', cell: 'b', maximumSeconds: '1' }] }, 'BB_RESULT_FILE_SHAPE'],
    [{ schemaVersion: 1, budgets: [{ name: 'a', cell: 'b', over: 'c' }] }, 'BB_RESULT_FILE_SHAPE'],
    [{ schemaVersion: 1, budgets: [{ ...time(1), targetSecond: 1 }] }, 'BB_RESULT_FILE_SHAPE'],
    [{ schemaVersion: 1, budgets: [time(1)], hosts: context.host }, 'BB_RESULT_FILE_SHAPE'],
  ])('%j is refused', async (value, code) => {
    await expect(read(value)).rejects.toMatchObject({ code });
  });
});

describe('the report', () => {
  const budgets = [
    time(1.2e-7, 9e-8),
    { ...ratio(1.5), name: 'a "ratio", <50% more' },
    { name: 'gone', cell: 'nowhere', maximumSeconds: 1 },
    time(1e-7),
  ];

  it('has one row per budget, and lists the inconclusive ones', () => {
    expect(renderBudgetsMarkdown(check(budgets))).toMatchInlineSnapshot(`
      "## Budgets

      | Budget | Target | Maximum | Measured (95% interval) | Verdict |
      | --- | ---: | ---: | ---: | --- |
      | a row | 90 ns | 120 ns | 100 ns (97 ns–103 ns) | within the maximum |
      | a "ratio", \\<50% more | — | 1.5× | 2.0× (1.9–2.1) | BROKEN |
      | gone | — | 1.00 s | — | NOT MEASURED |
      | a row | — | 100 ns | 100 ns (97 ns–103 ns) | inconclusive |

      - gone: nowhere is not in the run
      - a row: measurements/insert.bulk/row/rust/embedded/w1 takes 100 ns (97 ns–103 ns), and the maximum is 100 ns; more forks decide it

      1 of 4 budgets broken, 1 not measured, 1 inconclusive.
      "
    `);
    expect(renderBudgetsTerminal(check([time(1)], { ...context.host, cpu: 'Another CPU' }))).toMatchInlineSnapshot(`
      "The times were set on other hardware, so only the ratios are checked:

      - CPU: Another CPU and Example CPU @ 2.50GHz

      Budget  Target  Maximum  Measured (95% interval)  Verdict
      ──────  ──────  ───────  ───────────────────────  ────────────────
      a row        —   1.00 s                        —  not checked here

      0 of 1 budgets broken, 0 not measured, 0 inconclusive.
      "
    `);
  });

  it('annotates what is broken for GitHub, on one line each', () => {
    expect(budgetAnnotations(check(budgets))).toMatchInlineSnapshot(`
      "::error title=a "ratio"%2C <50%25 more::measurements/insert.bulk/row/napi/embedded/w1 over measurements/insert.bulk/row/rust/embedded/w1 takes 2.0× (1.9–2.1), and the maximum is 1.5×
      ::error title=gone::nowhere is not in the run
      ::warning title=a row::measurements/insert.bulk/row/rust/embedded/w1 takes 100 ns (97 ns–103 ns), and the maximum is 100 ns; more forks decide it
      "
    `);
  });

  it('is JUnit XML', () => {
    // Of colors, control characters and halves of characters, none is in XML, not even escaped.
    const odd = renderBudgetsJunit(check([{ ...time(1), name: '\u001B[31mred\u001B[0m\u0000 \uD800 \uFFFF a\nb' }]));
    expect(odd).toContain('<testcase name="red      a&#10;b"');
    expect(renderBudgetsJunit(check(budgets))).toMatchInlineSnapshot(`
      "<?xml version="1.0" encoding="UTF-8"?>
      <testsuite name="boundary-bench budgets" tests="4" failures="2" skipped="1">
        <testcase name="a row" classname="measurements/insert.bulk/row/rust/embedded/w1"></testcase>
        <testcase name="a &quot;ratio&quot;, &lt;50% more" classname="measurements/insert.bulk/row/napi/embedded/w1"><failure message="measurements/insert.bulk/row/napi/embedded/w1 over measurements/insert.bulk/row/rust/embedded/w1 takes 2.0× (1.9–2.1), and the maximum is 1.5×"/></testcase>
        <testcase name="gone" classname="nowhere"><failure message="nowhere is not in the run"/></testcase>
        <testcase name="a row" classname="measurements/insert.bulk/row/rust/embedded/w1"><skipped message="measurements/insert.bulk/row/rust/embedded/w1 takes 100 ns (97 ns–103 ns), and the maximum is 100 ns; more forks decide it"/></testcase>
      </testsuite>
      "
    `);
  });
});
