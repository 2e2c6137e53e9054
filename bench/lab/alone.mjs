// Checks whether a cell's figure depends on the other cells of a run: measures each cell of Node with one worker alone in a run of its own,
// next to the same cell in a whole run. Prints rates and their ratio, and the median and the largest of the differences.
//
//   node bench/lab/alone.mjs RUN.json [FAMILY]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { loadFamilies } from '../../dist/families/registry.js';
import { run } from '../../dist/runner/run.js';
import { median } from '../../dist/stats/quantile.js';
import { rateOf } from '../../dist/stats/summary.js';
import { shownRate, shownRatio } from './in-turn.mjs';

const [path, familyName = 'measurements'] = process.argv.slice(2);
const { context, records } = JSON.parse(readFileSync(path, 'utf8'));
const family = (await loadFamilies()).find(({ name }) => name === familyName);
const { forks, samples, timeBudgetSeconds, rows } = context.config;
const cells = records.filter(
  ({ family: name, side, workers = 1, outcome }) =>
    name === familyName && side !== 'rust' && workers === 1 && outcome === 'completed',
);
console.log('| Cell | whole | alone | alone / whole |');
console.log('| --- | ---: | ---: | ---: |');
const differences = [];
for (const record of cells) {
  const [whole, alone] = [rateOf(record), await rateAlone(record.id)];
  differences.push(Math.abs(alone / whole - 1));
  console.log(`| ${record.id} | ${shownRate(whole)} | ${shownRate(alone)} | ${shownRatio(alone, whole)} |`);
}
const percent = (part) => `${(part * 100).toFixed(1)}%`;
console.log(
  `\n${cells.length} cells: ${percent(median(differences))} apart in the median, ${percent(Math.max(...differences))} at most.`,
);

/** The rate of a cell in a run of its own, measured as the whole run has measured it. */
async function rateAlone(id) {
  const only = { ...family, plan: (options) => family.plan(options).filter(({ cell }) => cell.id === id) };
  const directory = mkdtempSync(join(tmpdir(), 'alone-'));
  try {
    const how = { forks, samples, timeBudgetSeconds, rows: rows[familyName], all: true };
    const { run: finished } = await run({ families: [only], directory: join(directory, 'run'), ...how });
    return rateOf(finished.records[0]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
