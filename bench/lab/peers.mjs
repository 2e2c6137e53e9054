#!/usr/bin/env node
/**
 * Do cells use other clients by their fastest ways? `node bench/lab/peers.mjs [TASK...] [--seconds 30] [--out FILE]` measures the documented
 * ways of the other clients from npm, for tasks or groups of tasks. Cells are ways, and bench/lab/peer-ways.mjs has the others. All ways of a
 * task take turns in one process: slices of the work of a cell, in random order, for `--seconds` per task. It prints the median rate of
 * each way, and exits with 1 if all cells of a client for a task are more than 10 % slower than the client's fastest way. With `--out` it
 * writes the rates to a file, from which `bench/docs.mjs` makes the table, and exits with 0.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';

import { itemsOf } from '../../dist/records/record.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';
import { slicesInTurn } from './in-turn.mjs';
import { openTask, sampler, TASKS } from './peer-ways.mjs';
import { peersBlocks, unfairWays } from './tables.mjs';
import { optionsOf, origin, writeResult } from './frame.mjs';

const { values, positionals } = optionsOf({ seconds: '30', out: undefined, alone: false }, true);
const isMeant = (asked) => (task) => task === asked || task.startsWith(`${asked}-`);
const names = Object.keys(TASKS);
const tasks = names.filter((task) => positionals.length === 0 || positionals.some((asked) => isMeant(asked)(task)));
if (values.alone) await measure(positionals[0]);
else if (positionals.some((asked) => !names.some(isMeant(asked)))) {
  console.error(`Usage: node bench/lab/peers.mjs [TASK...] [--seconds 30] [--out FILE]. Tasks: ${names.join(', ')}`);
  process.exitCode = 2;
} else process.exitCode = await measureAll();

/** Measures a task in this process, and sends the results to its parent. */
async function measure(task) {
  const families = new Map();
  const { ways, versions } = await openTask(families, { task, ...TASKS[task] });
  const openCells = [];
  for (const { open } of ways) openCells.push(await open());
  const slices = ways.map(({ cell }, place) => sampler(openCells[place], itemsOf(cell)));
  const rates = ways.length === 0 ? [] : await slicesInTurn(slices, Number(values.seconds));
  const results = ways.map(({ peer, way, isCell }, place) => {
    return { task, peer, way, isCell, rate: median(rates[place]), slices: rates[place].length };
  });
  const message = { results, versions: await versions?.() };
  await new Promise((sent) => process.send(message, sent));
  for (const cell of openCells) await cell.close?.();
  for (const family of families.values()) await family.close();
  process.exit();
}

/** Measures all tasks, and prints the results. Returns the exit code. */
async function measureAll() {
  const from = await origin();
  const [results, versions] = [[], {}];
  for (const task of tasks) {
    const words = [task, '--alone', '--seconds', values.seconds];
    const child = fork(import.meta.filename, words);
    child.on('message', (message) => {
      results.push(...message.results);
      Object.assign(versions, message.versions);
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`the process of ${task} ended with the code ${code}`);
  }
  const missing = tasks.filter((name) => !results.some(({ task }) => task === name));
  for (const task of missing) console.error(`${task}: there are no cells.`);
  const measured = { results, versions, node: process.versions.node };
  console.log(renderMarkdown(peersBlocks(measured)));
  writeResult(values.out, { ...from, ...measured });
  return missing.length > 0 || (unfairWays(results).length > 0 && values.out === undefined) ? 1 : 0;
}
