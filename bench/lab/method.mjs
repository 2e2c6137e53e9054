// Tests the method on cells whose ratios are known: how often it gives a wrong verdict, how often it finds a difference, how wide its
// intervals are, and how long it takes; on a quiet machine, and beside programs that disturb it. Beside it the old method on the same cells:
// processes one after the other, five of each, whose samples are pooled.
//
//   node bench/lab/method.mjs [RUNS] [quiet|disturbed ...]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { run } from '../../dist/runner/run.js';
import { median } from '../../dist/stats/quantile.js';
import { DEFAULT_MARGIN, verdictOf } from '../../dist/stats/ratio-interval.js';
import { KINDS, methodFamily } from './method-family.mjs';

const OLD_FORKS = 5;
const [runs = '5', ...conditions] = process.argv.slice(2);

/** The methods: how the cells are planned, and how a cell is compared with the reference. */
const METHODS = {
  turns: {
    options: {},
    plan: (cells) => cells,
    ratio: (reference, cell) => rateRatio(reference, cell, { risk: RISK }),
  },
  'one after the other': {
    options: { forks: OLD_FORKS },
    plan: (cells) => cells.map((planned) => ({ ...planned, isExclusive: true })),
    ratio: (reference, cell) => rateRatio(reference, cell, { isApart: true }),
  },
};
/** The risk of each look of the new method: `riskOf` in rate-ratio.ts. */
const RISK = 0.0182;

console.log(
  '| Machine | Method | Seconds | Processes | Equal: wrong | equivalent | width | +3 %: found | +10 %: found | ×2: found | Bimodal: wrong | Warming, empty |',
);
console.log('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |');
for (const condition of conditions.length > 0 ? conditions : ['quiet', 'disturbed']) {
  const disturbers = condition === 'disturbed' ? ['cpu', 'memory'].map(disturb) : [];
  try {
    for (const [name, method] of Object.entries(METHODS)) {
      const results = [];
      for (let number = 0; number < Number(runs); number += 1) results.push(await measure(method));
      console.log(`| ${condition} | ${name} | ${rowOf(results)} |`);
    }
  } finally {
    for (const child of disturbers) child.kill();
  }
}

function disturb(what) {
  return spawn(process.execPath, [fileURLToPath(new URL('disturber.mjs', import.meta.url)), what], { stdio: 'ignore' });
}

/** What one run found of each kind of cells. */
async function measure({ options, plan, ratio }) {
  const directory = mkdtempSync(join(tmpdir(), 'method-'));
  const family = { ...methodFamily, plan: (given) => plan(methodFamily.plan(given)) };
  const startedAt = performance.now();
  try {
    const { run: finished } = await run({ families: [family], directory: join(directory, 'run'), ...options });
    const seconds = (performance.now() - startedAt) / 1000;
    const byId = new Map(finished.records.map((record) => [record.id, record]));
    const reference = byId.get('reference');
    const found = Object.entries(KINDS).map(([kind, { cells }]) => [
      kind,
      Array.from({ length: cells }, (_, number) => {
        const record = byId.get(`${kind} ${number + 1}`);
        if (record.outcome !== 'completed') return { outcome: record.error.code };
        if (record.noVerdict !== undefined) return { outcome: record.noVerdict };
        // The reference's rate over that of the cell: above 1, the cell takes longer.
        const interval = ratio(reference, record);
        return { outcome: verdictOf(interval, DEFAULT_MARGIN), width: Math.log(interval.high / interval.low) };
      }),
    ]);
    const samples = finished.records.flatMap((record) => record.samples ?? []);
    const processes = new Set(
      finished.records.flatMap(({ id, samples = [] }) => samples.map(({ fork }) => `${id} ${fork}`)),
    );
    return { seconds, processes: processes.size, samples, found: Object.fromEntries(found) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function rowOf(results) {
  const all = (kind) => results.flatMap(({ found }) => found[kind]);
  const of = (kind, ...outcomes) => {
    const each = all(kind);
    return `${each.filter(({ outcome }) => outcomes.includes(outcome)).length} of ${each.length}`;
  };
  const widths = all('equal').flatMap(({ width }) => width ?? []);
  return [
    median(results.map(({ seconds }) => seconds)).toFixed(0),
    median(results.map(({ processes }) => processes)),
    of('equal', 'faster', 'slower'),
    of('equal', 'equivalent'),
    `${((Math.exp(median(widths)) - 1) * 100).toFixed(1)} %`,
    of('plus 3 %', 'faster'),
    of('plus 10 %', 'faster'),
    of('times 2', 'faster'),
    of('bimodal', 'faster', 'slower'),
    [...all('warming'), ...all('empty')].map(({ outcome }) => outcome).join(', '),
  ].join(' | ');
}
