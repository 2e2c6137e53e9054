import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';

import type { Run, RunRecord } from '../../../src/records/record.js';
import { adviceFor } from '../../../src/report/advice.js';
import { comparedContest, contestsOf, namesOf } from '../../../src/report/html/contests.js';
import { renderRunHtml } from '../../../src/report/html/run-page.js';
import { around, completed, failed, runOf, sampleRun, skipped } from '../../records/sample-run.js';

const HOSTILE = `<script>alert(1)</script>"' onload=x & </style>`;

async function pageOf(run: Run) {
  const text = await renderRunHtml(run);
  return { text, document: parseHTML(text).document };
}

describe('the page of a run', () => {
  it('has its sections in the order of questions', async () => {
    const { document } = await pageOf(sampleRun());
    const titles = [...document.querySelectorAll('main h2')].map(({ textContent }) => textContent);
    expect(titles).toEqual([
      'The answer',
      'Lane by lane',
      'Where the time goes',
      'How far to trust this run',
      'All records',
      'Failed and skipped',
      'Hardware and software',
    ]);
    const links = [...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href'));
    expect(links).toEqual([...document.querySelectorAll('main section')].map(({ id }) => `#${id}`));
  });

  it('gives the advice of run.md word by word', async () => {
    const run = sampleRun();
    const { document } = await pageOf(run);
    const answers = [...document.querySelectorAll('#answer li')].map(({ textContent }) => textContent);
    const advice = adviceFor(run, 'embedded');
    expect(advice.length).toBeGreaterThan(0);
    expect(answers).toEqual(expect.arrayContaining([...advice]));
  });

  it('has every record: completed ones in the table, the others under their reasons', async () => {
    const run = sampleRun();
    const { document } = await pageOf(run);
    const rows = [...document.querySelectorAll('#records tbody tr')].map((row) => row.getAttribute('title'));
    const unfinished = [...document.querySelectorAll('#unfinished details li')].map(({ textContent }) => textContent);
    const idsOf = (isAsked: (record: RunRecord) => boolean): string[] =>
      run.records.filter(isAsked).map(({ id }) => id);
    expect(rows).toEqual(idsOf(({ outcome }) => outcome === 'completed'));
    expect(unfinished).toEqual(idsOf(({ outcome }) => outcome !== 'completed'));
    const [failure] = document.querySelectorAll('#unfinished summary');
    expect(failure?.textContent).toBe('1 cell failed: BB_CHECKSUM_MISMATCH: expected 10 | got 9 rows');
  });

  it('has CPU time next to wall time, and marks lanes whose faster side takes more of it', async () => {
    const rust = completed({ side: 'rust', lane: 'columns', variant: 'slices' }, around(0.5));
    const node = completed({ side: 'napi', lane: 'columns', variant: 'addColumns' }, around(0.4));
    const samples = node.samples.map((sample) => ({ ...sample, cpuUserSeconds: sample.seconds * 2 }));
    const { document } = await pageOf(runOf([rust, { ...node, samples }]));
    const lanes = document.querySelector('#lanes')!.textContent;
    expect(lanes).toContain('0.80× (0.77–0.83) (more CPU)');
    expect(lanes).toMatch(/CPU factor 1\.8× \(1\.7–1\.9\)/);
    expect(lanes).toContain('(more CPU): the side');
    const without = await pageOf(runOf([rust, node]));
    expect(without.document.querySelector('#lanes')!.textContent).not.toContain('(more CPU)');
  });

  it('folds cells of one reason', async () => {
    const lanes = ['row', 'columns', 'arrow-ipc'] as const;
    const records = lanes.map((lane) => skipped({ side: 'napi', lane, variant: lane }, 'no server'));
    const { document } = await pageOf(runOf(records));
    const [summary, ...others] = document.querySelectorAll('#unfinished summary');
    expect(summary?.textContent).toBe('3 cells skipped: no server');
    expect(others).toEqual([]);
  });

  it('loads nothing, and runs its own script alone', async () => {
    const { text, document } = await pageOf(sampleRun());
    expect(text.replaceAll(/xmlns(:xlink)?="http:\/\/www\.w3\.org\/[^"]*"/g, '')).not.toMatch(
      /https?:|\bsrc=|url\(|@import/,
    );
    for (const link of document.querySelectorAll('[href]')) expect(link.getAttribute('href')).toMatch(/^#/);
    for (const link of document.querySelectorAll('a')) {
      const address = link.getAttribute('href') ?? link.getAttribute('xlink:href') ?? '';
      expect(document.getElementById(address.slice(1)), address).not.toBeNull();
    }
    const [script, ...more] = document.querySelectorAll('script');
    expect(more).toEqual([]);
    const policy = document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.getAttribute('content');
    const hash = createHash('sha256').update(script!.textContent).digest('base64');
    expect(policy).toContain(`default-src 'none'`);
    expect(policy).toContain(`script-src 'sha256-${hash}'`);
  });

  it('shows hostile names as texts', async () => {
    const fields = { lane: HOSTILE, variant: HOSTILE, workload: HOSTILE, engine: HOSTILE };
    const run = runOf([
      completed({ ...fields, side: 'rust' }, around(0.1)),
      completed({ ...fields, side: 'napi' }, around(0.2)),
      failed({ ...fields, side: 'js' }, 'BB_X', HOSTILE),
      skipped({ ...fields, side: 'js', lane: 'other' }, HOSTILE),
    ]);
    const { document } = await pageOf({
      ...run,
      context: { ...run.context, versions: { [HOSTILE]: HOSTILE, node: HOSTILE } },
    });
    expect(document.querySelectorAll('script').length).toBe(1);
    expect(document.querySelectorAll('style').length).toBe(1);
    expect(document.querySelectorAll('[onload]').length).toBe(0);
    const [row] = document.querySelectorAll('#records tbody tr');
    expect(row?.querySelector('td')?.textContent).toBe(HOSTILE);
    expect(
      [...document.querySelectorAll('#lanes svg text')].some(({ textContent }) => textContent?.includes('<script>')),
    ).toBe(true);
  });

  it('links the files of profiles that lie beside the page, and no others', async () => {
    const flameGraphs = ['profiles/a b.svg', 'javascript:alert(1)', '//evil.example/x', '/etc/passwd', '../x.svg'];
    const profiles = flameGraphs.map((flameGraph) => ({ id: 'cell', flameGraph, cpuProfile: 'https://evil.example' }));
    const { document } = await pageOf({ ...sampleRun(), profiles });
    const links = [...document.querySelectorAll('#profiles li a')].map((link) => link.getAttribute('href'));
    expect(links).toEqual(['profiles/a%20b.svg', 'javascript%3Aalert(1)']);
  });

  it('has pictures with names, and links in them that lead to records', async () => {
    const { document } = await pageOf(sampleRun());
    const pictures = [...document.querySelectorAll('figure svg')];
    expect(pictures.length).toBeGreaterThan(5);
    for (const picture of pictures) {
      expect(picture.getAttribute('aria-label')).toMatch(/\w/);
      expect(['img', 'group']).toContain(picture.getAttribute('role'));
    }
    expect(document.querySelectorAll('#lanes svg a').length).toBeGreaterThan(5);
  });

  it('has the sentences about sizes, and the shares of crossing, of own code', async () => {
    const at = (size: number, lane: string, side: 'js' | 'napi', seconds: number, engine = 'in-process') => ({
      ...completed({ family: 'tiny', workload: `tiny.${size}`, lane, side, variant: lane, engine }, around(seconds)),
      id: `tiny/${size}/${lane}`,
      size,
      calls: 1,
      items: 1,
    });
    const run = runOf(
      [10, 100].flatMap((size) => [
        at(size, 'js', 'js', size * 1e-6),
        at(size, 'napi', 'napi', size * 3e-6),
        at(size, 'napi-noop', 'napi', 1e-6, 'noop'),
      ]),
    );
    const { document } = await pageOf(run);
    const answer = document.querySelector('#answer')!.textContent!;
    expect(answer).toContain('tiny: js is faster than napi at all sizes (10 to 100), by 3.0× to 3.0×.');
    expect(answer).toContain('tiny.100: a call of napi takes 300 µs: crossing 0.3% (');
    expect(answer).not.toContain('This run compares no sides.');
  });

  it('says so if nothing was measured', async () => {
    const { document } = await pageOf(runOf([]));
    expect(document.querySelector('#all')?.textContent).toContain('No cell was measured.');
    expect(document.querySelector('#answer')?.textContent).toContain('This run compares no sides.');
    expect(document.querySelectorAll('figure').length).toBe(0);
  });

  it('draws any times', async () => {
    const time = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constantFrom(0, 5e-324, 1e-9, 1e300));
    const samples = fc.array(time, { minLength: 1, maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(samples, samples, samples, async (rust, napi, js) => {
        const { document } = await pageOf(
          runOf([
            completed({ side: 'rust', lane: 'row', variant: 'a' }, rust),
            completed({ side: 'napi', lane: 'row', variant: 'b' }, napi),
            completed({ side: 'js', lane: 'row', variant: 'c' }, js),
          ]),
        );
        for (const element of document.querySelectorAll('figure svg *')) {
          for (const name of ['d', 'x', 'y', 'cx', 'cy', 'width', 'height', 'transform', 'x1', 'x2']) {
            expect(element.getAttribute(name) ?? '').not.toMatch(/NaN|Infinity|undefined/);
          }
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('a contest', () => {
  const lane = { lane: 'row', variant: 'rows' } as const;
  const rust = completed({ ...lane, side: 'rust' }, around(0.1));
  const napi = completed({ ...lane, side: 'napi', flavor: 'async' }, [0.05, 0.09, 0.1, 0.15, 0.2]);
  const js = completed({ ...lane, side: 'js' }, around(0.4));

  it('is next to the best of Rust, in the order of time', () => {
    const run = runOf([js, rust, napi]);
    const [contest] = contestsOf(run);
    const { rows, reference } = comparedContest(run, contest!, (id) => `#${id}`);
    expect(reference.side).toBe('rust');
    expect(rows.map(({ side, verdict }) => `${side} ${verdict}`)).toEqual([
      'rust equivalent',
      'napi inconclusive',
      'js faster',
    ]);
    expect(rows.at(-1)!.ratio).toBeCloseTo(4);
    // The best of both sides is compared as the run compares it.
    const best = run.comparisons.find(({ kind }) => kind === 'best')!;
    expect(rows.find(({ side }) => side === 'napi')).toMatchObject({
      ratio: best.ratio,
      low: best.low,
      high: best.high,
    });
  });

  it('draws what is inconclusive hollow, and nothing else', async () => {
    const { document } = await pageOf(runOf([js, rust, napi]));
    const dots = [...document.querySelectorAll('#lanes svg g.dot path')];
    const hollow = dots.filter((dot) => dot.getAttribute('fill') === 'var(--card)');
    expect(dots.length).toBe(3);
    expect(hollow.map((dot) => dot.getAttribute('stroke'))).toEqual(['var(--napi)']);
  });

  it('is next to the Rust of another engine if its own has none', () => {
    const run = sampleRun();
    const contest = contestsOf(run).find(({ engine }) => engine === 'apache-arrow')!;
    const { rows, reference } = comparedContest(run, contest, () => undefined);
    expect([reference.engine, reference.side]).toEqual(['memory', 'rust']);
    expect(rows.map(({ name }) => name)).toEqual(['js · apache-arrow column loop', 'rust · column slices on memory']);
  });

  it('tells its cells apart', () => {
    const fields = fc.record({
      side: fc.constantFrom('rust', 'napi', 'js'),
      lane: fc.constantFrom('row', 'columns'),
      variant: fc.constantFrom('a', 'b'),
      rows: fc.constantFrom(10, 1000),
      flavor: fc.constantFrom('sync', 'async'),
    } as const);
    fc.assert(
      fc.property(fc.array(fields, { maxLength: 12 }), (cells) => {
        const records = cells.map((cell, index) => completed({ ...cell, id: String(index) }, [1]));
        expect(new Set(records.map(namesOf(records))).size).toBe(records.length);
      }),
    );
  });
});
