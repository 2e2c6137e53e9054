import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';

import type { Run } from '../../src/records/record.js';
import { renderBuilds } from '../../src/report/builds-report.js';
import { renderRunSummary } from '../../src/report/summary-report.js';
import { buildsRun, requestsRun, runOf, sampleRun, sizedRun } from '../records/sample-run.js';

const withoutRust = (): Run => runOf(sampleRun().records.filter(({ side }) => side !== 'rust'));

/** The text that a terminal with this number of columns shows of each kind of run. */
const SHOWN: Readonly<Record<string, (columns: number, hasColors?: boolean) => string>> = {
  rows: (columns, hasColors) => summaryOf(sampleRun(), columns, hasColors),
  requests: (columns, hasColors) => summaryOf(requestsRun(), columns, hasColors),
  sizes: (columns, hasColors) => summaryOf(sizedRun(), columns, hasColors),
  'without-rust': (columns, hasColors) => summaryOf(withoutRust(), columns, hasColors),
  builds: (columns, hasColors) => renderBuilds(buildsRun(), 0.05, { columns, hasColors }),
};

function summaryOf(run: Run, columns: number, hasColors?: boolean): string {
  return renderRunSummary(run, { report: 'results/run.html', columns, hasColors });
}

const WIDTHS = [40, 80, 120];

describe.each(Object.entries(SHOWN))('a run of %s', (name, shown) => {
  it.each(WIDTHS)('is shown in %i columns', async (columns) => {
    const text = shown(columns);
    await expect(text).toMatchFileSnapshot(`../fixtures/terminal/${name}-${columns}.txt`);
    expect(
      text.split('\n').filter((line) => [...line].length > columns && /\S \S/.test(line.replace(/^- /, ''))),
    ).toEqual([]);
    expect(text).not.toContain('…');
  });

  it('has the same words with colors', () => {
    const text = shown(80, true);
    expect(text).toContain('\u001B[');
    expect(stripVTControlCharacters(text).replaceAll(/ +\n/g, '\n')).toBe(shown(80));
  });
});

it('shows the factors at 40 columns', () => {
  for (const run of [sampleRun(), requestsRun()]) {
    expect(summaryOf(run, 40)).toMatch(/Rust +Addon|Rust factor +Addon factor/);
  }
});

it('has small bars beside the rates in wide terminals with colors', () => {
  expect(summaryOf(sampleRun(), 160, true)).toMatch(/M\/s [█]+/);
  expect(summaryOf(sampleRun(), 160)).not.toContain('█');
});
