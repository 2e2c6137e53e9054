#!/usr/bin/env node
/**
 * Does a process that waits for its turn disturb the process that has it? `node bench/lab/alone.mjs [--rows N] [--samples N] [--out FILE]`
 * opens each cell of Node of the main job in a process. The process takes samples alone, then while processes of other cells wait, then in
 * turns with them, and alone again once they have ended. It prints how far apart the times are. The samples of one process are compared, since
 * two processes of the same cell differ by more.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { loadFamilies } from '../../dist/families/registry.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { openInFork } from '../../dist/runner/fork.js';
import { median } from '../../dist/stats/quantile.js';
import { aloneTable } from './alone-table.mjs';
import { origin, resultText } from './result-file.mjs';

/** The processes that wait. */
const OTHERS = 3;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    samples: { type: 'string', default: '7' },
    out: { type: 'string' },
  },
});
const [rows, samples] = [Number(values.rows), Number(values.samples)];
const from = await origin();
const family = (await loadFamilies()).find(({ name }) => name === 'measurements');
const options = { rows, workers: 1, engines: {} };
const planned = family
  .plan(options)
  .filter(({ cell, skip, askedBy }) => cell.engine === 'embedded' && skip === undefined && askedBy === undefined);
const cells = [];
for (const each of planned.filter(({ cell }) => cell.side !== 'rust')) {
  const rivals = planned.filter((other) => other.group === each.group && other !== each);
  cells.push(await measure(each, rivals.toSorted(() => Math.random() - 0.5).slice(0, OTHERS)));
  process.stderr.write(`${each.cell.id}\n`);
}
process.stdout.write(renderMarkdown(aloneTable(cells)));
if (values.out !== undefined) writeFileSync(values.out, resultText({ ...from, rows, samples, cells }));

/** The median seconds of a cell's samples: alone, while others wait, in turns with them, and alone again. */
async function measure(each, others) {
  const one = await open(each);
  const alone = await secondsOf(one);
  const waiting = [];
  for (const other of others) waiting.push(await open(other));
  const whileOthersWait = await secondsOf(one);
  const inTurns = await secondsOf(one, async () => {
    for (const other of waiting) await other.take();
  });
  for (const other of waiting) await other.finish(false);
  const aloneAgain = await secondsOf(one);
  await one.finish(false);
  return { id: each.cell.id, alone, whileOthersWait, inTurns, aloneAgain };
}

function open(each) {
  const policy = { samples: 4 * samples, budgetSeconds: 0.3 };
  const task = { module: family.module, family: family.name, options, planned: each, policy, leaveGarbage: false };
  const watch = { signal: new AbortController().signal, timeoutSeconds: 600, onStep: () => {} };
  return openInFork(task, watch);
}

/** The median seconds of a cell's samples. Before each, `turnOfOthers` is awaited. */
async function secondsOf(sampler, turnOfOthers = async () => {}) {
  const seconds = [];
  for (let sample = 0; sample < samples; sample += 1) {
    await turnOfOthers();
    seconds.push((await sampler.take()).seconds);
  }
  return median(seconds);
}
