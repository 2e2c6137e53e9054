#!/usr/bin/env node
/**
 * Do cells use other clients by their fastest ways? `node bench/lab/peers.mjs [TASK...] [--seconds 30] [--json FILE]` measures the documented
 * ways of the other clients from npm, for tasks or groups of tasks. Cells are ways, and bench/lab/peer-ways.mjs has the others. All ways of a
 * group take turns in one process: slices of the work of a cell, in random order, for `--seconds` per task. It prints the median rate of
 * each way, and exits with 1 if all cells of a client for a task are more than 10 % slower than the client's fastest way.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { groupBy } from '../../dist/compare/cell-groups.js';
import { itemsOf } from '../../dist/records/record.js';
import { median } from '../../dist/stats/quantile.js';
import { shownRate, shownRatio, slicesInTurn } from './in-turn.mjs';
import { AT_ONCE, openTask, sampler, TASKS } from './peer-ways.mjs';
import { origin, resultText } from './result-file.mjs';

/** The least part of the fastest rate that a cell must reach. */
const LEAST = 0.9;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '30' },
    json: { type: 'string' },
    group: { type: 'string' },
  },
});
const isMeant = (asked) => (task) => task === asked || task.startsWith(`${asked}-`);
const names = Object.keys(TASKS);
const tasks = names.filter((task) => positionals.length === 0 || positionals.some((asked) => isMeant(asked)(task)));
if (values.group !== undefined) await measureGroup();
else if (positionals.some((asked) => !names.some(isMeant(asked)))) {
  console.error(`Usage: node bench/lab/peers.mjs [TASK...] [--seconds 30] [--json FILE]. Tasks: ${names.join(', ')}`);
  process.exitCode = 2;
} else process.exitCode = await measureAll();

/** Measures the tasks of a group in this process, and sends the results to its parent. */
async function measureGroup() {
  const families = new Map();
  for (const task of tasks.filter(isMeant(values.group))) {
    const { ways, versions } = await openTask(families, { task, ...TASKS[task] });
    if (ways.length === 0) continue;
    const openCells = [];
    for (const { open } of ways) openCells.push(await open());
    const slices = ways.map(({ cell }, place) => sampler(openCells[place], itemsOf(cell)));
    const rates = await slicesInTurn(slices, Number(values.seconds));
    for (const cell of openCells) await cell.close?.();
    const results = ways.map(({ peer, way, isCell }, place) => {
      return { task, peer, way, isCell, rate: median(rates[place]), slices: rates[place].length };
    });
    const message = { results, versions: await versions() };
    await new Promise((sent) => process.send(message, sent));
  }
  for (const family of families.values()) await family.close();
  process.exit();
}

/** Measures all tasks, and prints the results. Returns the exit code. */
async function measureAll() {
  const [results, versions] = [[], {}];
  for (const group of new Set(tasks.map((task) => task.split('-')[0]))) {
    const words = [...tasks, '--group', group, '--seconds', values.seconds];
    const child = fork(import.meta.filename, words, { execArgv: ['--expose-gc'] });
    child.on('message', (message) => {
      results.push(...message.results);
      Object.assign(versions, message.versions);
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`the process of ${group} ended with the code ${code}`);
  }
  const fastest = (some) => some.reduce((best, one) => (one.rate > best.rate ? one : best));
  console.log('| Task | Client | Way | Items/s | / fastest | Slices | Cell |');
  console.log('| --- | --- | --- | ---: | ---: | ---: | --- |');
  for (const { task, peer, way, isCell, rate, slices } of results) {
    const ratio = shownRatio(rate, fastest(results.filter((other) => other.task === task)).rate);
    console.log(`| ${[task, peer, way, shownRate(rate), ratio, slices, isCell ? 'yes' : '—'].join(' | ')} |`);
  }
  const pairs = Object.entries(versions).map((version) => version.join(' '));
  console.log(`\nOn Node.js ${process.versions.node}: ${pairs.join(', ')}.\n`);
  for (const task of tasks.filter((name) => !results.some((result) => result.task === name)))
    console.log(`- ${task}: there are no cells.`);
  for (const [place, { task, way, rate }] of results.entries())
    if (way === AT_ONCE) console.log(`- ${task}: ${way} at ${shownRatio(rate, results[place - 1].rate)}.`);
  let slow = 0;
  for (const ways of groupBy(results, ({ task, peer }) => `${task} ${peer}`)) {
    const cells = ways.filter(({ isCell }) => isCell);
    const { task, peer, way, rate } = fastest(ways);
    if (cells.length === 0 || fastest(cells).rate >= LEAST * rate) continue;
    slow += 1;
    console.log(`- ${task}: the fastest cell of ${peer} is at ${shownRatio(fastest(cells).rate, rate)} of "${way}".`);
  }
  if (slow === 0) console.log('- Each client with cells has one within 10 % of its fastest way.');
  if (values.json !== undefined) writeFileSync(values.json, resultText({ ...(await origin()), results }));
  return slow > 0 ? 1 : 0;
}
