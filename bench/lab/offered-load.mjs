#!/usr/bin/env node
/**
 * Latency against offered load: `node bench/lab/offered-load.mjs [--minutes 30] [--processes 5] [--out FILE]` sends get, select_pk and pkread
 * to private servers at rising rates, whether answers come or not. They are sent from Rust, by the addon and by the best JavaScript client,
 * until each has broken twice. All have the same strategy: as many connections, each with one request in flight, driven by one thread. Each
 * point is measured by several processes. The rates are parts of the fastest client's closed loop. That loop also shows which client of a
 * side is the best. It prints the latencies at each rate. `--out` writes FILE. `bench/docs.mjs` makes the table from FILE.
 */
import { join } from 'node:path';

import { run } from '../../dist/bench.js';
import { fastestOf } from '../../dist/compare/cell-groups.js';
import { loadFamilies } from '../../dist/families/registry.js';
import { openTarget } from '../../dist/families/requests/target-server.js';
import { heading, list, paragraph, renderMarkdown, tableBlock } from '../../dist/report/document.js';
import { hostLines } from '../../dist/report/host-block.js';
import { rateOf } from '../../dist/stats/summary.js';
import { isBroken, offeredLoadFindings, offeredLoadTable, stepOf } from './offered-load-table.mjs';
import { optionsOf, originOf, writeResult, temporaryFolder } from './frame.mjs';

const BENCHMARKS = [
  { family: 'kv', workload: 'get', server: 'redis' },
  { family: 'sql', workload: 'select_pk', server: 'mysql' },
  { family: 'rest', workload: 'pkread', server: 'rest' },
];
const SIDES = ['rust', 'napi', 'js'];
const CONNECTIONS = 32;

/** The settings in which all requests share one connection, with several in flight: another strategy. */
const SHARED_SETTINGS = new Set(['auto', 'shared']);

/** The offered rates, as parts of the rate of the fastest client's closed loop. */
const PARTS = [0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.1];

/** The broken steps in a row after which a client is offered no more: the first may be a pause of the machine. */
const BREAKS = 2;

/** The seconds of one execution, and the samples of a process. */
const SECONDS = 0.75;
const SAMPLES = 1;

const { values } = optionsOf({ minutes: '30', processes: '5', out: undefined });
const deadline = performance.now() + Number(values.minutes) * 60_000;
const families = await loadFamilies();
const folder = temporaryFolder();
const steps = [];
const notReached = [];
let context;
let runs = 0;
for (const [index, benchmark] of BENCHMARKS.entries()) {
  const share = (deadline - performance.now()) / (BENCHMARKS.length - index);
  await measure(benchmark, performance.now() + share);
}
const { table, notes } = offeredLoadTable(steps);
const document = renderMarkdown([
  heading(1, 'Latency against offered load'),
  paragraph(
    `\`node bench/lab/offered-load.mjs\`: ${CONNECTIONS} connections, each with one request in flight, driven by one thread. ${values.processes} ` +
      'processes measure each point.',
  ),
  ...list(hostLines(context)),
  ...tableBlock(table),
  ...notes.map(paragraph),
  ...list([...offeredLoadFindings(steps), ...notReached]),
]);
process.stdout.write(document);
writeResult(values.out, { ...originOf(context), steps });

/** Offers rising rates to the clients of one workload until all have broken, or until its time is over. */
async function measure({ family: name, workload, server: kind }, end) {
  const server = await openTarget(kind, {});
  try {
    const family = families.find((candidate) => candidate.name === name);
    const target = { family, workload, kind, server };
    const closed = await recordsOf(target, {}, hasOneStrategy);
    let clients = SIDES.map((side) => fastestOf(closed.filter((record) => record.side === side)).id);
    const fastest = Math.max(...closed.map(rateOf));
    /** How many of the last steps of each client were broken. */
    const breaks = new Map();
    let longest = 0;
    for (const part of PARTS) {
      const started = performance.now();
      const rate = Number((part * fastest).toPrecision(2));
      if (clients.length === 0) return;
      if (started + longest > end) {
        notReached.push(`${name} ${workload}: the time was over before ${rate} requests per second.`);
        return;
      }
      const load = { rate, operations: Math.round(rate * SECONDS) };
      const records = await recordsOf(target, load, ({ cell }) => clients.includes(cell.id));
      for (const record of records) {
        const step = stepOf(record);
        steps.push(step);
        breaks.set(record.id, isBroken(step) ? (breaks.get(record.id) ?? 0) + 1 : 0);
      }
      clients = clients.filter((id) => breaks.get(id) < BREAKS);
      process.stderr.write(`${name} ${workload}: ${rate} requests per second\n`);
      longest = Math.max(longest, performance.now() - started);
    }
  } finally {
    await server.close();
  }
}

/** Whether a cell has one connection per request in flight, all driven by one thread. */
function hasOneStrategy({ cell, setting }) {
  return !SHARED_SETTINGS.has(setting) && cell.driver === (cell.side === 'rust' ? 'one-thread' : undefined);
}

/** The records of the chosen cells of single operations, each measured by the processes against the server. */
async function recordsOf({ family, workload, kind, server }, load, isChosen) {
  const { url, processIds } = server;
  const only = {
    ...family,
    onlyIfNamed: false,
    plan: (options) =>
      family
        .plan(options)
        .filter((planned) => planned.cell.workload === workload && planned.cell.lane === 'call' && isChosen(planned)),
    // The server's processes are known, although the run has not started them: their CPU time is counted.
    open: (options, cells) =>
      family.open({ ...options, shared: { servers: { [kind]: { isPrivate: true, processIds } } } }, cells),
  };
  const { run: measured } = await run({
    families: [only],
    directory: join(folder, String((runs += 1))),
    engines: { [kind]: url },
    connections: [CONNECTIONS],
    batch: [1],
    forks: Number(values.processes),
    samples: SAMPLES,
    timeBudgetSeconds: SECONDS * 1.5,
    ...load,
  });
  context = { ...measured.context, versions: { ...context?.versions, ...measured.context.versions } };
  const failed = measured.records.find(({ outcome }) => outcome !== 'completed');
  if (failed !== undefined)
    throw new Error(`${failed.id} ${failed.outcome}: ${failed.error?.message ?? failed.reason}`);
  return measured.records;
}
