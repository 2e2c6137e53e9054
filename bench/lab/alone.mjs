#!/usr/bin/env node
/**
 * Does a process that waits for its turn disturb the process that has it? `node bench/lab/alone.mjs [--rows N] [--forks N] [--out FILE]`
 * measures the main job in turns, then each of its cells of Node in a run of its own, then the main job again. It prints how far apart
 * the rates are, and how far apart the two whole runs are, which is the drift of the machine.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { loadFamilies } from '../../dist/families/registry.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { run } from '../../dist/run.js';
import { rateOf } from '../../dist/stats/summary.js';
import { aloneTable } from './alone-table.mjs';
import { origin, resultText } from './result-file.mjs';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    forks: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
});
const [rows, forks] = [Number(values.rows), Number(values.forks)];
const from = await origin();
const family = (await loadFamilies()).find(({ name }) => name === 'measurements');
const before = await rates(family);
const cells = [];
for (const id of before.keys()) {
  const only = { ...family, plan: (options) => family.plan(options).filter(({ cell }) => cell.id === id) };
  cells.push({ id, before: before.get(id), alone: (await rates(only)).get(id) });
}
const after = await rates(family);
for (const cell of cells) cell.after = after.get(cell.id);
process.stdout.write(renderMarkdown(aloneTable(cells)));
if (values.out !== undefined) writeFileSync(values.out, resultText({ ...from, rows, forks, cells }));

/** The rates of the cells of Node in one run, by their ids. */
async function rates(measured) {
  const directory = mkdtempSync(join(tmpdir(), 'alone-'));
  try {
    const { run: finished } = await run({
      families: [measured],
      directory: join(directory, 'run'),
      rows,
      forks,
    });
    const completed = finished.records.filter(({ outcome, side }) => outcome === 'completed' && side !== 'rust');
    return new Map(completed.map((record) => [record.id, rateOf(record)]));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
