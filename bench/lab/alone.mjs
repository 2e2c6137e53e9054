#!/usr/bin/env node
/**
 * Does a process that waits for its turn disturb the process that has it? `node bench/lab/alone.mjs [--rows N] [--cycles N] [--samples N]
 * [--out FILE]` opens each cell of Node of the main job in a process. The process takes samples alone. Then three processes of other cells
 * are opened. It takes samples while these wait, and samples in turns with them. Then they end. Such cycles follow one another, and at the
 * end the process is alone once more. So each time beside others has a time alone before and after it, between which the machine drifts
 * little. It prints how far apart the times are. The samples of one process are compared, since two processes of the same cell differ by
 * more.
 */

import { loadFamilies } from '../../dist/families/registry.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { openInFork } from '../../dist/runner/fork.js';
import { median } from '../../dist/stats/quantile.js';
import { aloneTable } from './tables.mjs';
import { optionsOf, origin, writeResult } from './frame.mjs';

/** The processes that wait. */
const OTHERS = 3;

const { values } = optionsOf({ rows: '1000000', cycles: '6', samples: '5', out: undefined });
const [rows, cycles, samples] = [values.rows, values.cycles, values.samples].map(Number);
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
writeResult(values.out, { ...from, rows, cycles, samples, cells });

/** The median seconds of a cell's samples in each cycle: alone, while others wait, and in turns with them. The last is alone. */
async function measure(each, others) {
  const one = await open(each);
  const times = { id: each.cell.id, alone: [], whileOthersWait: [], inTurns: [] };
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    times.alone.push(await secondsOf(one));
    const waiting = [];
    for (const other of others) waiting.push(await open(other));
    const phases = [
      async () => times.whileOthersWait.push(await secondsOf(one)),
      async () => times.inTurns.push(await secondsOf(one, () => takeEach(waiting))),
    ];
    for (const phase of Math.random() < 0.5 ? phases : phases.toReversed()) await phase();
    for (const other of waiting) await other.close();
  }
  times.alone.push(await secondsOf(one));
  await one.close();
  return times;
}

async function takeEach(samplers) {
  for (const sampler of samplers) await sampler.take();
}

function open(each) {
  const policy = { samples: 4 * cycles * samples, budgetSeconds: 0.3 };
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
