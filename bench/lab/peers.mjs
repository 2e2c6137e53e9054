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
import { loadFamilies } from '../../dist/families/registry.js';
import { verifyChecksum } from '../../dist/families/verify-checksum.js';
import { itemsOf } from '../../dist/records/record.js';
import { median } from '../../dist/stats/quantile.js';
import { shownRate, shownRatio, SLICE_MS, slicesInTurn } from './in-turn.mjs';
import { AT_ONCE, OTHER_CELLS, OTHER_SETTINGS } from './peer-ways.mjs';
import { origin, resultText } from './result-file.mjs';

/** The rows of a table, so few that a slice has several calls of most ways, and the requests of a sample. */
const [ROWS, REQUESTS] = [250_000, 1000];
const OPTIONS = { rows: ROWS, workers: 1, engines: {}, peers: true, scale: 1e-3 };
/** The least part of the fastest rate that a cell must reach. */
const LEAST = 0.9;

const measurements = (workload, lane, ...engines) => ({ family: 'measurements', engines, workload, lane });
const requests = (family, engine, workload, lane, connections, ...batches) => {
  return { family, engines: [engine], workload, lane, connections: [connections], batches };
};

/** The tasks: the cells that do each. The first word is the group. */
const TASKS = {
  'duckdb-rows-in': measurements('insert.bulk', 'row', 'embedded'),
  'duckdb-columns-in': measurements('insert.bulk', 'columns', 'embedded'),
  'duckdb-objects-out': measurements('query.full_scan', 'objects', 'embedded'),
  'duckdb-columns-out': measurements('query.full_scan', 'columnar', 'embedded'),
  'duckdb-texts-out': measurements('query.texts', 'columnar', 'embedded'),
  'redis-get': requests('kv', 'redis', 'get', 'call', 32, 1),
  'redis-get-64': requests('kv', 'redis', 'get', 'batch', 32, 64),
  'redis-mget-64': requests('kv', 'redis', 'mget', 'batch', 32, 64),
  'mysql-select': requests('sql', 'mysql', 'select_pk', 'call', 8, 1),
  'http-read': requests('rest', 'rest', 'pkread', 'call', 8, 1),
  'http-pipelining': requests('rest', 'rest', 'pkread.pipelined', 'batch', 1, 1, 8, 32),
  'grpc-get': requests('hybrid', 'shards', 'point_lookup', 'call', 8, 1),
  'arrow-objects': measurements('query.full_scan', 'objects', 'apache-arrow', 'flechette'),
  'arrow-columns': measurements('query.full_scan', 'columnar', 'apache-arrow', 'flechette'),
};

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
  const families = await loadFamilies();
  const opened = new Map();
  for (const task of tasks.filter(isMeant(values.group))) {
    const { family: name, ...meant } = TASKS[task];
    const family = families.find((one) => one.name === name);
    const cells = plannedCells(family, meant);
    if (cells.length === 0) continue;
    if (!opened.has(name)) opened.set(name, await family.open(OPTIONS, cells));
    const ways = waysOf(task, cells, (planned) => opened.get(name).openCell(planned));
    const openCells = [];
    for (const { open } of ways) openCells.push(await open());
    const rates = await slicesInTurn(
      ways.map(({ cell }, place) => slicer(openCells[place], itemsOf(cell))),
      Number(values.seconds),
    );
    for (const cell of openCells) await cell.close?.();
    const results = ways.map(({ peer, way, isCell }, place) => {
      return { task, peer, way, isCell, rate: median(rates[place]), slices: rates[place].length };
    });
    const versions = await opened.get(name).versions();
    await new Promise((sent) => process.send({ results, versions }, sent));
  }
  for (const family of opened.values()) await family.close();
  process.exit();
}

/** The cells of other clients that do a task. */
function plannedCells(family, { engines, workload, lane, connections, batches = [1] }) {
  const isMeantCell = ({ cell, skip }) =>
    cell.side === 'js' && cell.driver === undefined && skip === undefined && engines.includes(cell.engine);
  return batches
    .flatMap((batch) => family.plan({ ...OPTIONS, connections, batch: [batch], operations: REQUESTS * batch }))
    .filter((planned) => isMeantCell(planned) && planned.cell.workload === workload && planned.cell.lane === lane);
}

/** The ways of a task: its cells, and the other ways. */
function waysOf(task, cells, openCell) {
  const [{ cell }] = cells;
  const ofCells = cells.map((planned) => {
    const { variant, batch } = planned.cell;
    const way = TASKS[task].batches?.length > 1 ? `${variant}, ${batch} in flight` : variant;
    return { peer: peerOf(planned), way, isCell: true, cell: planned.cell, open: () => openCell(planned) };
  });
  const bySettings = (OTHER_SETTINGS[task] ?? []).map(([peer, way, change]) => {
    const planned = cells.find(({ client }) => client === peer) ?? cells[0];
    return { peer, way, isCell: false, cell, open: () => openCell({ ...planned, ...change }) };
  });
  const others = (OTHER_CELLS[task] ?? []).map(([peer, way, open]) => {
    return { peer, way, isCell: false, cell, open: () => open(cell) };
  });
  return [...ofCells, ...bySettings, ...others];
}

/** The name of the client of a cell. The two packages of DuckDB are one. */
function peerOf({ client }) {
  return client.startsWith('duckdb-') ? 'DuckDB' : client;
}

/** Returns a function that takes samples of an open cell until their time is a slice, and returns items per second. */
function slicer({ expected, sample }, items) {
  const { signal } = new AbortController();
  return async () => {
    let [milliseconds, started] = [0, 0];
    const clock = {
      start: () => (started = performance.now()),
      stop: () => (milliseconds += performance.now() - started),
      apart: (_, execute) => execute(),
      addRequests() {},
    };
    for (let samples = 1; ; samples += 1) {
      verifyChecksum(await sample(clock, signal), expected);
      if (milliseconds >= SLICE_MS) return (1000 * samples * items) / milliseconds;
    }
  };
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
