import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';

import { type NamedRun, historyOf } from '../../src/compare/history.js';
import type { CompletedRecord, RunContext } from '../../src/records/record.js';
import { renderHistoryTerminal } from '../../src/report/history-report.js';
import { renderHistoryHtml } from '../../src/report/html/history-page.js';
import { around, completed, context, runOf } from '../records/sample-run.js';

function record(lane: string, seconds: number): CompletedRecord {
  return completed({ side: 'napi', lane, variant: lane }, around(seconds));
}

function named(
  name: string,
  day: number,
  records: readonly CompletedRecord[],
  more: Partial<RunContext> = {},
): NamedRun {
  const startedAt = `2026-05-0${day}T10:00:00.000Z`;
  const git = { commit: `${day}`.repeat(40), dirty: false };
  return { name, run: { ...runOf(records), context: { ...context, startedAt, git, ...more } } };
}

const first = named('a.json', 1, [record('row', 1), record('gone', 1)]);
const second = named('b.json', 2, [record('row', 1), record('columns', 0.2)]);
const third = named('c.json', 3, [record('row', 0.5), record('columns', 0.4)]);

describe('a history', () => {
  it('is in the order of the starts, each cell next to its first run', () => {
    const { runs, cells } = historyOf([third, first, second]);
    expect(runs.map(({ name }) => name)).toEqual(['a.json', 'b.json', 'c.json']);
    expect(
      cells.map(({ first, steps }) => [
        first.lane,
        ...steps.map(({ at, ratio, verdict }) => `${at}: ${ratio} ${verdict}`),
      ]),
    ).toEqual([
      ['row', '1: 1 equivalent', '2: 2 faster'],
      ['columns', '2: 0.5 slower'],
    ]);
  });

  it('gives no verdict by one process', () => {
    const once = completed({ side: 'napi', lane: 'row', variant: 'row' }, [9]);
    expect(historyOf([first, named('e.json', 5, [once])]).cells[0]!.steps[0]!.verdict).toBe('inconclusive');
  });

  it('is of two runs or more', () => {
    expect(() => historyOf([first])).toThrow('a history needs two runs or more');
  });

  it('is of one hardware, unless it is forced', () => {
    const elsewhere = named('d.json', 4, [record('row', 1)], { host: { ...context.host, cpu: 'Other CPU' } });
    const all = [first, second, elsewhere];
    const difference = 'd.json: CPU: Example CPU @ 2.50GHz and Other CPU';
    expect(() => historyOf(all)).toThrow(
      `other hardware than a.json, so their times can't be compared (${difference})`,
    );
    const forced = historyOf(all, { force: true });
    expect(forced.hardwareDifferences).toEqual([difference]);
    expect(renderHistoryTerminal(forced)).toContain(`The runs are from different hardware:\n\n- ${difference}\n`);
  });

  it('is of one work, unless it is forced, and names the run that is of another', () => {
    const fewer = completed({ side: 'napi', lane: 'row', variant: 'row', rows: 1000 }, around(1));
    const all = [first, second, named('few.json', 4, [fewer])];
    expect(() => historyOf(all)).toThrow(
      expect.objectContaining({
        code: 'BB_COMPARE_DIFFERENT_ROWS',
        message: expect.stringMatching(/^few\.json: 1 of 1 cells worked on different numbers of rows/),
        hint: expect.stringContaining('Leave that run out.'),
      }),
    );
    expect(historyOf(all, { force: true }).cells.map(({ steps }) => steps.length)).toEqual([2]);
  });

  it('on a terminal', () => {
    expect(renderHistoryTerminal(historyOf([first, second, third]))).toMatchInlineSnapshot(`
      "Run  Started           Commit        Node.js  From
      ───  ────────────────  ────────────  ───────  ──────
        1  2026-05-01 10:00  111111111111  20.19.0  a.json
        2  2026-05-02 10:00  222222222222  20.19.0  b.json
        3  2026-05-03 10:00  333333333333  20.19.0  c.json

      Cell                                               Runs     First      Last       Last / first  Verdict
      ─────────────────────────────────────────────────  ────  ────────  ────────  ─────────────────  ───────
      measurements/insert.bulk/row/napi/embedded/w1         3  10.0 M/s  20.0 M/s     2.0× (1.9–2.1)  faster
      measurements/insert.bulk/columns/napi/embedded/w1     2  50.0 M/s  25.0 M/s  0.50× (0.48–0.52)  slower
      "
    `);
  });

  it('on a page has one line per cell, and the commit at each point', async () => {
    const { document } = parseHTML(await renderHistoryHtml(historyOf([first, second, third])));
    const titles = [...document.querySelectorAll('figure g.dot title')].map(({ textContent }) => textContent);
    expect(titles).toContain(
      `run 3, 2026-05-03 10:00, commit 333333333333\n${record('row', 1).id}\n20.0 M/s, 2.0× (1.9–2.1), faster`,
    );
    expect(titles.length).toBe(5);
    expect(document.querySelectorAll('figure g.line path').length).toBe(2);
    expect([...document.querySelectorAll('th')].map(({ textContent }) => textContent)).toContain('Commit');
  });
});
