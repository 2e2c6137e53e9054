import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readRun } from '../../../src/records/run-file.js';
import { compareRuns } from '../../../src/compare/compare-runs.js';
import { historyOf } from '../../../src/compare/history.js';
import type { Run } from '../../../src/records/record.js';
import { renderComparisonHtml } from '../../../src/report/html/compare-page.js';
import { renderHistoryHtml } from '../../../src/report/html/history-page.js';
import { renderRunHtml } from '../../../src/report/html/run-page.js';
import { lacks } from '../../needs.js';
import { buildsRun, runOf, sampleRun, sizedRun } from '../../records/sample-run.js';
import {
  areShown,
  contrastsOf,
  faultsByAxe,
  focusFirstLink,
  foldFaults,
  isFocusInContent,
  isFocusSeen,
  isTargetSeen,
  labelFaults,
  measurePage,
  paperColor,
  plantLine,
  plantOverlap,
} from './page-probes.mjs';
import { folderOfSuite } from '../../temporary-folder.js';

/** The widths of a phone, a tablet, a small and a large screen. */
const WIDTHS = [400, 768, 1000, 1600];

const COMMITTED = join(import.meta.dirname, '../../../results/linux-x64');

describe.skipIf(lacks('chromium'))('in a browser', () => {
  let browser: Browser;
  const folder = folderOfSuite();
  /** The pages by their names: a small run, a committed one with figures of requests, and the pages of several runs. */
  let addresses: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const run = sampleRun();
    const later: Run = { ...run, context: { ...run.context, startedAt: '2026-06-01T00:00:00.000Z' } };
    const pages = {
      run: await renderRunHtml(run),
      main: await renderRunHtml(await readRun(newestRun(MAIN))),
      sizes: await renderRunHtml(sizedRun()),
      builds: await renderRunHtml(buildsRun()),
      'without Rust': await renderRunHtml(runOf(run.records.filter(({ side }) => side !== 'rust'))),
      requests: await renderRunHtml(await readRun(newestRun('kv'))),
      model: await renderRunHtml(await readRun(newestRun('model'))),
      crossings: await renderRunHtml(await readRun(newestRun('boundary'))),
      comparison: await renderComparisonHtml(compareRuns(run, later), run, later),
      history: await renderHistoryHtml(historyOf([run, later].map((each, index) => ({ name: `${index}`, run: each })))),
    };
    addresses = Object.fromEntries(
      Object.entries(pages).map(([name, text]) => {
        const file = join(folder, `${name}.html`);
        writeFileSync(file, text);
        return [name, pathToFileURL(file).href];
      }),
    );
    const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
    // Root has no sandbox; the pages are ours.
    browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox'] });
  });

  afterAll(() => browser?.close());

  /** Opens a page, lets it be used, and returns what it complained of and asked the network for. */
  async function visit(name: string, width: number, use: (page: Page) => Promise<void>): Promise<string[]> {
    const page = await browser.newPage();
    const wrong: string[] = [];
    page.on('console', (message) => wrong.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => wrong.push(`error: ${String(error)}`));
    page.on('request', (request) => {
      if (request.url().split('#')[0] !== addresses[name]) wrong.push(`request: ${request.url()}`);
    });
    await page.setViewport({ width, height: 800 });
    await page.goto(addresses[name]!);
    await use(page);
    await page.close();
    return wrong;
  }

  const reports = ['run', 'main', 'sizes', 'builds', 'without Rust', 'requests', 'model', 'crossings'];
  const names = [...reports, 'comparison', 'history'];

  it.each(names.flatMap((name) => WIDTHS.map((width) => [name, width] as const)))(
    '%s at %i px is drawn, without complaint, network or scrolling sideways',
    async (name, width) => {
      const wrong = await visit(name, width, async (page) => {
        const { content, scrolling, pictures, outside } = await page.evaluate(measurePage);
        expect(content).toBeLessThanOrEqual(width);
        expect(scrolling).toEqual([]);
        expect(pictures.length).toBeGreaterThan(0);
        for (const picture of pictures) {
          expect(picture.marks).toBeGreaterThan(1);
          expect(picture.width).toBeGreaterThan(300);
          expect(picture.width).toBeLessThanOrEqual(480);
        }
        expect(outside).toEqual([]);
      });
      expect(wrong).toEqual([]);
    },
  );

  it.each(names.flatMap((name) => WIDTHS.map((width) => [name, width] as const)))(
    '%s at %i px has no text on another or below a line',
    async (name, width) => {
      await visit(name, width, async (page) => expect(await page.evaluate(labelFaults)).toEqual([]));
    },
  );

  it.each(reports.flatMap((name) => WIDTHS.map((width) => [name, width] as const)))(
    '%s at %i px shows the first answer without a scroll, and cuts no text',
    async (name, width) => {
      await visit(name, width, async (page) => expect(await page.evaluate(foldFaults)).toEqual([]));
    },
  );

  it.each([
    ['a text', plantOverlap, /"planted"/],
    ['a line', plantLine, /a line lies on/],
  ] as const)('finds %s that lies on a text', async (_what, plant, fault) => {
    await visit('sizes', 1000, async (page) => {
      await page.evaluate(plant);
      expect(await page.evaluate(labelFaults)).toEqual([expect.stringMatching(fault)]);
    });
  });

  it.each(['run', 'main', 'sizes'].flatMap((name) => ['light', 'dark'].map((scheme) => [name, scheme] as const)))(
    '%s is readable in the %s scheme',
    async (name, scheme) => {
      await visit(name, 1400, async (page) => {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        const contrasts = await page.evaluate(contrastsOf);
        expect(contrasts.length).toBeGreaterThan(20);
        for (const { text, contrast } of contrasts) expect(contrast, text).toBeGreaterThan(4.5);
      });
    },
  );

  it.each(names)('%s has no fault that axe finds', async (name) => {
    await visit(name, 1400, async (page) => {
      await page.evaluate(axe.source);
      expect(await page.evaluate(faultsByAxe)).toEqual([]);
    });
  });

  it('lets the keyboard skip the navigation', async () => {
    await visit('run', 1400, async (page) => {
      await page.keyboard.press('Tab');
      expect(await page.evaluate(isFocusSeen)).toBe(true);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(isFocusInContent)).toBe(true);
    });
  });

  it('gives screen readers names: of pictures, tables, fields and links', async () => {
    await visit('run', 1400, async (page) => {
      const roles = new Map<string, string[]>();
      const add = (node: { role: string; name?: string; children?: readonly unknown[] }): void => {
        roles.set(node.role, [...(roles.get(node.role) ?? []), node.name ?? '']);
        for (const child of node.children ?? []) add(child as typeof node);
      };
      add((await page.accessibility.snapshot({ interestingOnly: false }))!);
      expect(roles.get('heading')).toEqual(expect.arrayContaining(['Boundary Bench', 'The answer', 'All records']));
      expect(roles.get('searchbox')).toEqual(['Filter by words']);
      expect(roles.get('combobox')).toEqual(['Side']);
      expect(roles.get('columnheader')).toEqual(expect.arrayContaining(['Workload', 'Median', 'Rate']));
      for (const role of ['image', 'link', 'button', 'region', 'figure']) {
        expect(roles.get(role)?.length, role).toBeGreaterThan(0);
        expect(roles.get(role), role).not.toContain('');
      }
    });
  });

  it('sorts and filters the records, by the keyboard too', async () => {
    const wrong = await visit('run', 1400, async (page) => {
      const shown = (): Promise<number> => page.$$eval('#records tbody tr:not([hidden])', (rows) => rows.length);
      const all = await shown();
      await page.focus('#filter-words');
      await page.keyboard.type('insert columns');
      expect(await shown()).toBe(4);
      expect(await page.$eval('#filter-count', ({ textContent }) => textContent)).toBe(`4 of ${all} records`);
      await page.select('#filter-side', 'napi');
      expect(await shown()).toBe(2);
      // A link of a picture shows its record, though it was filtered out.
      await page.evaluate(focusFirstLink);
      await page.keyboard.press('Enter');
      await page.waitForFunction(areShown, {}, all);
      expect(await page.evaluate(isTargetSeen)).toBe(true);
      const header = await page.$$eval('#records th', (heads) =>
        heads.findIndex((head) => head.textContent === 'Median'),
      );
      expect(header).toBeGreaterThan(0);
      const button = await page.$(`#records th:nth-child(${header + 1}) button`);
      const values = (): Promise<number[]> =>
        page.$$eval(`#records tbody td:nth-child(${header + 1})`, (cells) =>
          cells.map((cell) => Number(cell.getAttribute('data-value'))),
        );
      for (const sign of [1, -1]) {
        await button!.focus();
        await page.keyboard.press('Enter');
        const sorted = await values();
        expect(sorted).toEqual(sorted.toSorted((a, b) => sign * (a - b)));
      }
      expect(await button!.evaluate((element) => element.closest('th')!.getAttribute('aria-sort'))).toBe('descending');
    });
    expect(wrong).toEqual([]);
  });

  it('shows its records without the script', async () => {
    const page = await browser.newPage();
    await page.setJavaScriptEnabled(false);
    await page.goto(addresses['run']!);
    expect(await page.$$eval('#records tbody tr', (rows) => rows.length)).toBe(13);
    expect(await page.$eval('form.filters', (form) => (form as { hidden: boolean }).hidden)).toBe(true);
    await page.close();
  });

  it('prints in light colours, with the pictures of samples', async () => {
    await visit('run', 1400, async (page) => {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
      const pdf = await page.pdf({ format: 'A4' });
      expect(Buffer.from(pdf.subarray(0, 5)).toString()).toBe('%PDF-');
      expect(await page.$eval('details.print', (details) => (details as { open: boolean }).open)).toBe(true);
      await page.emulateMediaType('print');
      expect(await page.evaluate(paperColor)).toBe('#fff');
    });
  });
});

/** The kind of the main run, whose file has no name of a kind. */
const MAIN = 'main';

function newestRun(kind: string): string {
  const pattern = kind === MAIN ? '^[0-9-]*[.]json$' : `-${kind}[.]json$`;
  const found = execFileSync('sh', ['-c', 'ls "$0" | grep -- "$1"', COMMITTED, pattern], { encoding: 'utf8' });
  return join(COMMITTED, found.trim().split('\n').at(-1)!);
}
