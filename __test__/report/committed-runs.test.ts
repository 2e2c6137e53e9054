/** The reports of the committed runs: the same advice everywhere, and rates that agree with their ratios. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';

import { comparedAnew } from '../../src/compare/comparisons.js';
import type { Run } from '../../src/records/record.js';
import { parseRun } from '../../src/records/run-file.js';
import { adviceOf } from '../../src/report/advice.js';
import { answerSection } from '../../src/report/html/run-page.js';
import { renderRunMarkdown } from '../../src/report/run-report.js';
import { renderRunSummary } from '../../src/report/summary-report.js';
import { workloadAnswersOf } from '../../src/report/workload-answers.js';
import { rateOf } from '../../src/stats/summary.js';

const FOLDER = join(import.meta.dirname, '../../results/linux-x64');

/** The committed runs by the names of their files. A file of own code has several. */
const RUNS: readonly (readonly [string, Run])[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .flatMap((name) => {
    const file = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
    const runs: unknown[] = name.endsWith('-own.json') ? file.runs.map((each: { run: unknown }) => each.run) : [file];
    return runs
      .filter((run) => typeof run === 'object' && run !== null && 'records' in run && 'context' in run)
      .map((run) => [name, comparedAnew(parseRun(JSON.stringify(run), name))] as const);
  });

/** The items of the lists of a text, without the escapes of Markdown. */
function itemsIn(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []))
    .map((line) => line.replaceAll('<!-- -->', '').replaceAll(/\\(.)/g, '$1'));
}

test('advice is short: 25 words, without intervals and what is in parentheses', () => {
  const long = RUNS.flatMap(([name, run]) =>
    adviceOf(run).flatMap(({ lines }) =>
      lines.flatMap((line) => {
        const words = line.replaceAll(/ \([^)]*\)/g, '').split(/\s+/).length;
        return words > 25 ? [`${name}: ${words}: ${line}`] : [];
      }),
    ),
  );
  expect(long).toEqual([]);
});

test('the same advice, word for word, in the terminal, run.md and run.html of all committed runs', () => {
  let compared = 0;
  for (const [name, run] of RUNS) {
    const advice = adviceOf(run).flatMap(({ lines }) => lines);
    const { document } = parseHTML(`<!doctype html><body>${answerSection(run).content.text}</body>`);
    const page = [...document.querySelectorAll('li')].map(({ textContent }) => textContent);
    const places = {
      terminal: itemsIn(renderRunSummary(run, { report: 'run.html', columns: 1e6 })),
      'run.md': itemsIn(renderRunMarkdown(run)),
      'run.html': page,
    };
    for (const [place, items] of Object.entries(places)) {
      expect(
        advice.filter((line) => !items.includes(line)),
        `${name} in ${place}`,
      ).toEqual([]);
    }
    compared += advice.length;
  }
  const main = RUNS.findLast(([name]) => /^\d{4}-\d\d-\d\d\.json$/.test(name))![1];
  const readme = itemsIn(readFileSync(join(FOLDER, '../../README.md'), 'utf8'));
  expect(readme).toEqual(expect.arrayContaining(adviceOf(main).flatMap(({ lines }) => lines)));
  console.log(`advice: ${compared} lines of ${RUNS.length} runs are the same in 3 places`);
  expect(compared).toBeGreaterThan(0);
});

/** How far the quotient of two rates may be from their ratio. */
const MOST = 0.05;

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, G: 1e9, ns: 1e9, µs: 1e6, ms: 1e3, s: 1 };

/** The rates in a text, per second: `84.0 M/s`, `20.1 queries/s` or `52 ns per call`. */
function ratesIn(text: string): number[] {
  return [...text.matchAll(/([\d.]+) ?(?:(ns|µs|ms|s) per call|([KMG]?) ?(?:\w+)?\/s)/g)].map(
    ([, value, time, prefix]) => (time === undefined ? Number(value) * UNITS[prefix!]! : UNITS[time]! / Number(value)),
  );
}

/** The first factor in a text: `1.4×`. */
function factorIn(text: string): number {
  const [, factor, thousands] = /([\d.]+)(K?)×/.exec(text) ?? [];
  return Number(factor) * UNITS[thousands ?? '']!;
}

/** The rows of a table of Markdown whose header has these columns, as texts by the columns. */
function rowsOf(markdown: string, ...columns: readonly RegExp[]): (readonly string[])[] {
  return markdown.split('\n\n').flatMap((block) => {
    const [header, , ...rows] = block.split('\n').map((line) => line.split(' | '));
    const places = columns.map((column) => header!.findIndex((title) => column.test(title)));
    return places.includes(-1) || rows.length === 0 ? [] : rows.map((row) => places.map((place) => row[place]!));
  });
}

test('each rate that stands next to a ratio agrees with it, in the tables of all committed runs', () => {
  const wrong: string[] = [];
  let pairs = 0;
  let shown = 0;
  for (const [name, run] of RUNS) {
    const markdown = renderRunMarkdown(run);
    const answers = workloadAnswersOf(run);
    const sides = answers.map(({ node, rust, addon, best }) => [
      ...(rust === undefined ? [] : [[best.rust!, node, rust.comparison.ratio] as const]),
      ...(addon === undefined ? [] : [[best.napi!, best.js!, addon.judged.ratio] as const]),
    ]);
    const rows = rowsOf(markdown, /^Rust$|^Rust \(best\)$/, /^Node/, /^Rust factor/);
    shown += rows.length + answers.reduce((sum, { rust, addon }) => sum + (rust ? 1 : 0) + (addon ? 1 : 0), 0);
    const pairsShown = [
      ...rows.map((row) => [...row.map((text) => ratesIn(text).at(-1) ?? factorIn(text)), row.join(' | ')] as const),
      ...sides.flat().map(([one, other, ratio]) => [rateOf(one), rateOf(other), ratio, one.id] as const),
    ] as (readonly [number, number, number, string])[];
    for (const [one, other, ratio, what] of pairsShown) {
      pairs += Number.isFinite(one / other / ratio) ? 1 : 0;
      // A factor has two digits or more: 1.4× may be 1.45.
      if (Math.abs(one / other / ratio - 1) > MOST) wrong.push(`${name}: ${one / other} for ${ratio}: ${what}`);
    }
  }
  console.log(`rates: ${pairs} of ${shown} pairs checked, ${wrong.length} more than ${MOST * 100} % from their ratio`);
  expect(wrong).toEqual([]);
  expect(pairs).toBeGreaterThan(0);
  expect(pairs).toBe(shown);
});
