import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';

import { noiseFloorsOf } from '../../../src/compare/comparisons.js';
import type { CompletedRecord, MechanismCosts, Side } from '../../../src/records/record.js';
import type { CrossingShare } from '../../../src/report/resource-tables.js';
import { loadCanvas } from '../../../src/report/html/canvas.js';
import { linePlot } from '../../../src/report/html/line-plot.js';
import { markup, Markup } from '../../../src/report/html/markup.js';
import { modelFigures } from '../../../src/report/html/model-figures.js';
import { noisePlot } from '../../../src/report/html/sample-plots.js';
import { pictureText } from '../../../src/report/html/picture.js';
import { loadFigure, requestFigures } from '../../../src/report/html/request-figures.js';
import { linearTicks, logDomain, logTicks } from '../../../src/report/html/frame.js';
import { hasParts, timePlot } from '../../../src/report/html/time-plot.js';
import { around, completed, runOf } from '../../records/sample-run.js';

const canvas = await loadCanvas();

interface Mark {
  readonly parentElement: Mark | null;
  getAttribute(name: string): string | null;
}

/** The texts of the elements that a selector finds in a picture. */
function textsOf({ text }: { readonly text: string }, selector: string): string[] {
  return [...parseHTML(text).document.querySelectorAll(selector)].map(({ textContent }) => textContent!);
}

/** The bars of where the time of one record goes. */
function barsOf(record: CompletedRecord, share?: CrossingShare) {
  const [labelOf, shareOf] = [() => 'a', () => share];
  const { document } = parseHTML(timePlot(canvas, [record], labelOf, 'times', shareOf).text);
  return [...document.querySelectorAll('g.rect rect')];
}

/** A mark of one colour has it at its group. */
const fillOf = (mark: Mark): string | null => mark.getAttribute('fill') ?? mark.parentElement!.getAttribute('fill');

describe('a template of HTML', () => {
  it('shows any text as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { document } = parseHTML(`<!doctype html><body>${markup`<p title="${text}">${text}</p>`.text}</body>`);
        const paragraph = document.querySelector('p')!;
        const shown = text.replaceAll(/\p{Cc}+/gu, ' ');
        expect(document.querySelectorAll('body *').length).toBe(1);
        expect(paragraph.textContent).toBe(shown);
        expect(paragraph.getAttribute('title')).toBe(shown);
      }),
    );
  });

  it('keeps its own kind, and joins lists', () => {
    expect(markup`<ul>${['a', '<'].map((item) => markup`<li>${item}</li>`)}</ul>${undefined}${1}`.text).toBe(
      '<ul><li>a</li><li>&lt;</li></ul>1',
    );
  });
});

describe('ticks', () => {
  it('are few, round and within the domain', () => {
    const positive = fc.double({ min: 1e-9, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(positive, fc.double({ min: 1.5, max: 1e12, noNaN: true }), (low, factor) => {
        const ticks = logTicks([low, low * factor]);
        expect(ticks.length).toBeGreaterThan(0);
        expect(ticks.length).toBeLessThanOrEqual(6);
        expect(ticks).toEqual(ticks.toSorted((a, b) => a - b));
        for (const tick of ticks) expect(tick >= low && tick <= low * factor).toBe(true);
      }),
    );
    expect(logTicks([0.8, 1.25])).toEqual([0.8, 0.9, 1, 1.2]);
    expect(logTicks([0.9, 400])).toEqual([1, 3, 10, 30, 100, 300]);
  });

  it('of a linear axis begin at 0', () => {
    expect(linearTicks([0, 350])).toEqual([0, 100, 200, 300]);
    fc.assert(
      fc.property(fc.double({ min: 1e-12, max: 1e12, noNaN: true }), (high) => {
        const ticks = linearTicks([0, high]);
        expect(ticks[0]).toBe(0);
        expect(ticks.length).toBeGreaterThan(1);
        expect(ticks.length).toBeLessThanOrEqual(6);
        expect(ticks.at(-1)).toBeLessThanOrEqual(high * 1.00001);
      }),
    );
  });

  it('have a domain around all values', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1e-12, max: 1e12, noNaN: true }), { minLength: 1 }), (values) => {
        const [low, high] = logDomain(values);
        for (const value of values) expect(value > low && value < high).toBe(true);
      }),
    );
    expect(logDomain([])).toEqual([0.5, 2]);
  });
});

describe('where the time goes', () => {
  it('is shown of samples that tell it, as long as they tell', () => {
    const record = completed({ side: 'napi', lane: 'row', variant: 'a', rows: 100 }, [1, 1, 1]);
    const widths = barsOf(record).map((bar) => [fillOf(bar), Number(bar.getAttribute('width'))] as const);
    const [encode, thread, others, decode, garbage] = widths.map(([, width]) => width);
    expect(widths.map(([fill]) => fill)).toEqual(
      ['encode', 'thread', 'others', 'decode', 'bad'].map((name) => `var(--${name})`),
    );
    // A tenth, a half, the rest of the whole process, a twentieth, and of the second an eighth.
    for (const [width, part] of [
      [thread, 0.5],
      [others, 0.5],
      [decode, 0.05],
      [garbage, 0.125],
    ] as const) {
      expect(width! / encode!).toBeCloseTo(part / 0.1, 1);
    }
  });

  it('has the part of crossing and JavaScript below, hollow if it is inconclusive', () => {
    const record = completed({ side: 'napi', lane: 'row', variant: 'a', rows: 100 }, [1, 1, 1]);
    const rust = completed({ side: 'rust', lane: 'row', variant: 'b', rows: 100 }, [1]);
    const drawn = (isOpen: boolean, part = 0.25) => {
      return barsOf(record, { part, low: part - 0.1, high: part + 0.1, isOpen, rust });
    };
    const bars = drawn(false);
    const widthOf = (bar: (typeof bars)[number] | undefined): number => Number(bar?.getAttribute('width'));
    expect(widthOf(bars.at(-1)) / widthOf(bars[1])).toBeCloseTo(0.25 / 0.5, 1);
    expect(bars.at(-1)!.textContent).toContain(`crossing and JavaScript, beyond ${rust.id}: 25% (15%–35%)`);
    expect(bars.at(-1)!.getAttribute('fill-opacity')).toBe('1');
    const open = drawn(true).at(-1)!;
    expect([open.getAttribute('fill-opacity'), open.textContent]).toEqual([
      '0',
      expect.stringContaining(': inconclusive 25% ('),
    ]);
    expect(drawn(true, -0.05)).toHaveLength(bars.length - 1);
  });

  it('is not shown of compact samples', () => {
    const record = completed({ side: 'napi', lane: 'row', variant: 'a' }, [1]);
    expect(hasParts(record)).toBe(true);
    expect(hasParts({ ...record, samples: [{ fork: 1, seconds: 1 }] })).toBe(false);
  });
});

describe('requests', () => {
  const get = { family: 'kv', workload: 'get', engine: 'redis', operations: 1000 };
  const client = (side: Side, variant: string, connections: number, batch: number, seconds: number) => {
    const own = { side, variant, connections, batch, lane: batch === 1 ? 'call' : 'batch' };
    return completed({ ...get, ...own, id: `${side} ${variant} ${connections} ${batch}` }, around(seconds));
  };
  const records = [
    client('rust', 'KvClient', 32, 1, 0.5),
    client('rust', 'KvClient.execute (pipeline)', 32, 64, 0.1),
    client('js', 'ioredis', 1, 1, 1),
    client('js', 'ioredis', 32, 1, 0.9),
    client('js', 'ioredis, one with auto-pipelining', 32, 1, 0.6),
    client('js', 'ioredis pipeline', 32, 64, 0.3),
  ];

  it('have one line a client, of its fastest setting', () => {
    const figures = requestFigures(canvas, runOf(records));
    expect(figures.map(({ title, note }) => [title, note])).toEqual([
      ['get on redis: throughput against batch', '32 connections; each client at its fastest setting'],
      ['get on redis: throughput against connections', '1 per request; each client at its fastest setting'],
    ]);
    const { picture } = figures[0]!;
    expect(textsOf(picture, 'g.dot title').map((title) => title.split('\n')[0])).toEqual([
      'rust KvClient 32 1',
      'rust KvClient.execute (pipeline) 32 64',
      'js ioredis, one with auto-pipelining 32 1',
      'js ioredis pipeline 32 64',
    ]);
    expect(textsOf(picture, 'g.line path')).toHaveLength(2);
    expect(textsOf(picture, 'text')).toEqual(expect.arrayContaining(['rust · KvClient', 'js · ioredis', '64']));
  });

  it('have no figure of one batch and one number of connections', () => {
    expect(requestFigures(canvas, runOf(records.slice(0, 1)))).toEqual([]);
  });

  it('draw any rates', () => {
    const rate = fc.oneof(fc.double({ min: 1e-3, max: 1e12, noNaN: true }), fc.constantFrom(0, Infinity));
    fc.assert(
      fc.property(fc.array(fc.record({ x: fc.constantFrom(1, 8, 64), y: rate }), { minLength: 1 }), (points) => {
        const { text } = linePlot(canvas, {
          label: 'rates',
          xAxis: 'x',
          yAxis: 'y',
          formatX: String,
          formatY: String,
          series: [
            { name: 'a', color: 'red', symbol: 'circle', points: points.map((point) => ({ ...point, title: '' })) },
          ],
        });
        expect(text).not.toMatch(/NaN|="[^"]*Infinity/);
      }),
    );
  });

  it('in an open loop show the median and the p99 of each client by the load', () => {
    const step = (offered: number, p50: number, p99: number) =>
      ({ side: 'js', name: 'ioredis', offered, p50, p99 }) as const;
    const [figure, ...others] = loadFigure(canvas, 'kv get', [step(2000, 90, 500), step(1000, 80, 300)]);
    expect(others).toEqual([]);
    expect(textsOf(figure!.picture, 'g.dot title')).toEqual([
      'js · ioredis\n1.00 K/s offered: p50 80 ns',
      'js · ioredis\n2.00 K/s offered: p50 90 ns',
      'js · ioredis\n1.00 K/s offered: p99 300 ns',
      'js · ioredis\n2.00 K/s offered: p99 500 ns',
    ]);
    expect(loadFigure(canvas, 'kv get', [step(1000, 80, 300)])).toEqual([]);
  });
});

describe('the noise', () => {
  it('stands out if a cell looks faster or slower than itself', () => {
    const quiet = completed({ side: 'rust', lane: 'row', variant: 'a' }, [1, 1.01, 1, 1.01, 1, 1.01]);
    const noisy = completed({ side: 'js', lane: 'row', variant: 'b' }, [1, 2, 1.01, 2.01, 1, 2]);
    const rough = completed({ side: 'js', lane: 'columns', variant: 'c' }, [1, 2, 3]);
    const noise = noiseFloorsOf([quiet, noisy, rough], 0.05);
    expect(noise.map(({ numerator, denominator, verdict }) => [numerator, denominator, verdict])).toEqual([
      [quiet.id, quiet.id, 'equivalent'],
      [noisy.id, noisy.id, 'faster'],
    ]);
    const { document } = parseHTML(noisePlot(canvas, noise, 0.05).text);
    expect(document.querySelector('svg')?.getAttribute('aria-label')).toBe(
      '2 cells compared with themselves; 1 look faster or slower than themselves',
    );
    const dots = [...document.querySelectorAll('g.dot path')];
    expect(dots.map((dot) => dot.getAttribute('stroke'))).toEqual(['var(--quiet)', 'var(--bad)']);
  });
});

describe('the cost model', () => {
  /** A way with these costs of a call and of a byte. */
  const way = (variant: string, call: number, byte: number): MechanismCosts => ({
    what: 'bytes',
    direction: 'in',
    side: 'napi',
    lane: 'copy',
    variant,
    client: variant,
    costs: [
      { of: 'call', seconds: call, low: call, high: call },
      { of: 'byte', seconds: byte, low: byte, high: byte },
    ],
    knees: [],
    covariance: [
      [0, 0],
      [0, 0],
    ],
    inseparable: {},
    most: { call: 1, row: 0, number: 0, text: 0, byte: 1e6 },
    mostPerRow: { call: 0, row: 0, number: 0, text: 0, byte: 0 },
    deviation: 0,
    degrees: 3,
    worst: 0,
    fitted: [{ id: `${variant}/100`, measured: call + 100 * byte, predicted: call + 100 * byte }],
    heldOut: [{ id: `${variant}/1000`, measured: 2 * call, predicted: call + 1000 * byte }],
  });
  const model = { mechanisms: [way('copied', 1e-7, 1e-9), way('shared', 1e-6, 1e-11)], unfitted: [] };

  it('stands next to the measured time, and says from which size on a way is cheaper', () => {
    const [beside, bySize, ...others] = modelFigures(canvas, model, []);
    expect(others).toEqual([]);
    const titles = textsOf(beside!.picture, 'g.dot title');
    expect(titles).toContain('copied/1000\nmeasured 200 ns, predicted 1.10 µs');
    expect(titles.length).toBe(4);
    // 0.9 µs more per call are paid by 0.99 ns less per byte.
    expect(bySize!.note).toBe('predicted; dashed: from 910 bytes on, shared is cheaper than copied');
  });

  it('has the measured times on its lines, if the records know the sizes', () => {
    const crossing = { what: 'bytes', direction: 'in', rows: 0, numbers: 0, texts: 0, bytes: 100 } as const;
    const record = { ...completed({ side: 'napi', lane: 'copy', variant: 'copied' }, [1]), id: 'copied/100', crossing };
    const [, bySize] = modelFigures(canvas, model, [record]);
    expect(textsOf(bySize!.picture, 'g.dot title')).toEqual(['copied/100\nmeasured 200 ns']);
    expect(bySize!.note).toContain('lines: predicted, dots: measured; dashed: from 910 bytes on');
  });
});

describe('a picture', () => {
  const picture = timePlot(
    canvas,
    [completed({ side: 'napi', lane: 'row', variant: '<b>&' }, [1, 2])],
    ({ variant }) => variant,
    'times',
    () => undefined,
  );

  it('stands alone: no address, no link, its own colours', () => {
    const text = pictureText({ title: 'All & <more>', figures: [{ title: 'a', picture }], columns: 1, hollow: 'open' });
    expect(text.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(/http|href|<script|xlink/);
    expect(text).toContain('<title>All &amp; &lt;more&gt;</title>');
    expect(text).toContain('prefers-color-scheme:dark');
    expect(text).toContain('&lt;b&gt;&amp;');
    expect(text).toContain('hollow: open');
  });

  it('names the sides that it shows, and no other', () => {
    const dot = new Markup('<svg height="10"><path fill="var(--napi)"/></svg>');
    const text = pictureText({ title: 'One', figures: [{ title: 'a', picture: dot }], columns: 1 });
    expect(text).toContain('napi: from Node through the addon');
    expect(text).not.toContain('rust: in Rust alone');
  });

  it('breaks a long note into lines, and moves the figure below them', () => {
    const note = 'word '.repeat(30).trim();
    const text = pictureText({ title: 'One', figures: [{ title: 'a', note, picture }], columns: 1 });
    const lines = [...text.matchAll(/<text x="2" y="(\d+)" font-size="11"[^>]*>([^<]*)</g)];
    expect(lines.map(([, y, line]) => [y, line!.length <= 66])).toEqual([
      ['33', true],
      ['47', true],
      ['61', true],
    ]);
    expect(text).toContain('<g transform="translate(0 72)">');
  });
});

it('the charts are loaded by what makes a report alone', () => {
  const source = join(import.meta.dirname, '../../../src');
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    // Imports of types alone are erased, and dynamic ones wait until they are called.
    for (const [, address = ''] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type )[^;]*? from '([^']+)';/gm,
    )) {
      if (address.startsWith('.')) visit(join(dirname(file), address.replace(/\.js$/, '.ts')));
      else reached.add(address);
    }
  };
  for (const entry of ['index.ts', 'cli/cli.ts', 'fork-main.ts']) visit(join(source, entry));
  expect(reached).toContain('commander');
  expect([...reached].filter((name) => /plot|linkedom|report\/html/.test(name))).toEqual([]);
});
