#!/usr/bin/env node
/**
 * Is a build slower than another one? `node bench/lab/lanes.mjs OLD NEW` compares two built checkouts on the headline lanes of the library and
 * of the families of requests. It exits with 1 if a lane is slower, fails, or is undecided at the end.
 *
 * In each round a lane gets two new processes of each build. They take samples of the same work in turns, in random order. A sample is so
 * short that what the machine does meanwhile is the same for the samples of a block. Servers run on one CPU and their clients on another
 * one, if `taskset` is installed: else a connection is fast or slow by where its two threads happen to run. Each block of samples has a
 * ratio NEW/OLD, and a ratio of the old build to itself as the control. A lane is slower if the whole interval of the ratio of its rates is
 * below 1, and the ratio is below 0.97. It is undecided if the interval is wider than 0.06 and not wholly above 0.97: it then gets more
 * rounds, while there is time. The intervals hold for all lanes together. A lane that the old build lacks, or the machine, is named and left out.
 *
 *   --lane A,B             only these lanes; `--list` prints their names
 *   --more                 the lanes of hyper, flight, sail, mysql, a Redis cluster and shards over gRPC instead
 *   --minutes 15           the time after which no round begins
 *   --rounds 6, --most 60  the fewest and the most rounds of a lane; --blocks 60: the blocks of a round
 *   --plant LANE=0.05      the new build does 5 % more of the same work in each sample: a test of this tool
 *   --build-seconds 60,62  the seconds of both builds, for the table of sizes
 *   --json FILE            a file for all samples and results
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { list, renderTerminal, tableBlock, tableOf } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';
import { seededDraws, shuffled } from '../../dist/stats/random.js';
import { optionsOf, startAsked } from './frame.mjs';
import { LANES, MORE, SHARD_ROWS } from './lanes-work.mjs';
import { intervalsOf, isUndecided, sizeOf, verdictOf } from './lanes-verdict.mjs';

const WORKER = fileURLToPath(new URL('lanes-work.mjs', import.meta.url));
const SAMPLE_SECONDS = 0.003;
/** The units of work of a sample are a multiple of this number. A planted slowdown of 5 % is a whole unit of 20. */
const unitsFor = (unitSeconds, multiple) => multiple * Math.max(1, Math.round(SAMPLE_SECONDS / unitSeconds / multiple));
/** The blocks from one collection of garbage to the next one. */
const COLLECTED_BLOCKS = 10;
/** The builds of the processes of a round. */
const SIDES = ['old', 'new', 'new', 'old'];

const DEFAULTS = { minutes: '15', rounds: '6', most: '60', blocks: '60', plant: '', 'build-seconds': '—,—' };
const OTHERS = { list: false, more: false, lane: undefined, json: undefined };
const { values, positionals } = optionsOf({ ...DEFAULTS, ...OTHERS }, true);
const all = values.more ? MORE : LANES;
if (values.list) {
  console.log(all.map(({ name }) => name).join('\n'));
  process.exit();
}
const names = values.lane?.split(',') ?? all.map(({ name }) => name);
const lanes = [...LANES, ...MORE].filter(({ name }) => names.includes(name)).map((lane) => ({ ...lane, rounds: [] }));
if (positionals.length !== 2 || lanes.length !== names.length) {
  console.error(
    'Usage: node bench/lab/lanes.mjs OLD NEW [--lane A,B]. --list prints the lanes, the script has the options.',
  );
  process.exit(2);
}
const [fewest, most, blocks, minutes] = ['rounds', 'most', 'blocks', 'minutes'].map((name) => Number(values[name]));
const roots = { old: resolve(positionals[0]), new: resolve(positionals[1]) };
const plants = new Map(values.plant.split(',').map((plant) => plant.split('=')));
const sizes = [sizeOf(roots.old), sizeOf(roots.new)];
const draw = seededDraws(Date.now());
const servers = new Map();
const lastCpu = availableParallelism() - 1;
// The servers run where the process runs that starts them.
const isPinned = lastCpu > 0 && spawnSync('taskset', ['-a', '-p', '-c', `${lastCpu}`, `${process.pid}`]).status === 0;
const end = performance.now() + minutes * 60_000;
try {
  let open = lanes;
  for (let round = 1; round <= most && open.length > 0 && performance.now() < end; round += 1) {
    for (const lane of open) if (performance.now() < end) await measure(lane);
    if (round >= fewest) open = judged().flatMap(({ lane, rate }) => (isUndecided(rate) ? [lane] : []));
    const left = ((end - performance.now()) / 60_000).toFixed(1);
    console.error(`round ${round} is over, ${left} minutes are left, ${open.length} lanes go on`);
  }
} finally {
  for (const server of servers.values()) await (await server).close?.();
}
for (const lane of lanes) if (lane.rounds.length === 0) fail(lane, 'no time was left');
process.exitCode = report(judged());

/** Leaves a lane out. It fails if the reason is not one that the old build or the machine has. */
function fail(lane, out, isExcused = false) {
  if (lane.out === undefined) Object.assign(lane, { out, hasFailed: !isExcused });
}

/** Measures one round of a lane, unless it is left out. */
async function measure(lane) {
  if (lane.out !== undefined) return;
  const workers = [];
  try {
    if (lane.server !== undefined && !servers.has(lane.server)) servers.set(lane.server, await started(lane.server));
    const { url } = servers.get(lane.server) ?? {};
    const cpus = lane.server === undefined ? `0-${lastCpu}` : '0';
    const answers = [];
    for (const at of shuffled([0, 1, 2, 3], draw)) {
      workers[at] = startWorker(`${lane.name} of the ${SIDES[at]} build`, cpus);
      const library = pathToFileURL(join(roots[SIDES[at]], 'dist/index.js')).href;
      answers[at] = workers[at].ask({ lane: lane.name, library, url, seconds: SAMPLE_SECONDS });
    }
    const opened = await Promise.all(answers);
    for (const [at, { lacks }] of opened.entries()) {
      if (lacks !== undefined) return fail(lane, `the ${SIDES[at]} build lacks it: ${lacks}`, SIDES[at] === 'old');
    }
    const plant = Number(plants.get(lane.name) ?? 0);
    const units = unitsFor(median(opened.map(({ unitSeconds }) => unitSeconds)), plant > 0 ? 20 : 1);
    const more = Math.round(units * plant);
    const samples = [];
    for (let block = 0; block < blocks; block += 1) {
      const ofBlock = [];
      const collects = block % COLLECTED_BLOCKS === 0;
      for (const index of shuffled([0, 1, 2, 3], draw)) {
        ofBlock[index] = await workers[index].ask({ units: units + (SIDES[index] === 'new' ? more : 0), collects });
      }
      samples.push(ofBlock);
    }
    lane.rounds.push(samples);
  } catch (error) {
    fail(lane, error.message, error.code === 'BB_NOT_INSTALLED');
  } finally {
    await Promise.all(workers.map(({ close }) => close()));
  }
}

/** Starts a process that measures a lane, on these CPUs. */
function startWorker(what, cpus) {
  const words = [...(isPinned ? ['taskset', '-c', cpus] : []), process.execPath, '--expose-gc', WORKER, 'worker'];
  return startAsked(what, words, 60_000);
}

/** Starts a server for both builds, by the old build, so that only the clients differ. */
async function started(kind) {
  const from = (path) => import(pathToFileURL(join(roots.old, 'dist', path)).href);
  if (kind === 'shards') {
    const { crossing } = await from('crossing-addon.js');
    const shards = await crossing.PrivateShards.start(3);
    const client = await (await from('index.js')).ShardClient.connect(shards.urls);
    await client.populate(SHARD_ROWS);
    await client.close();
    return { url: shards.urls, close: () => shards.stop() };
  }
  if (['hyper', 'flight', 'sail'].includes(kind)) {
    const { connect, engineOf } = await from('library/engine/connection.js');
    const connection = await connect(`${kind}:`);
    return { url: engineOf(connection).address ?? undefined, close: () => connection.close() };
  }
  const { openTarget } = await from('families/requests/target-server.js');
  const server = await openTarget(kind, {});
  if (kind === 'mysql')
    return { ...server, url: await (await from('families/sql/database.js')).ownDatabase(server.url) };
  if (kind !== 'rest') return server;
  const { RestInput } = await from('families/rest/data.js');
  const input = new RestInput('pkread');
  // Numbers of the same length, so that all answers have the same length.
  const bodies = Array.from({ length: 64 }, (_, index) => input.read(100 + index));
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(server.url + input.path, { method: 'POST', headers, body: bodies[0] });
  const bytes = (await answer.arrayBuffer()).byteLength;
  return { ...server, url: { url: server.url, path: input.path, bodies, bytes } };
}

/** The intervals of all lanes so far: of the ratios of rates, of rates by CPU time, and of the old build to itself. */
function judged() {
  const measured = lanes.filter((lane) => lane.rounds.length > 0);
  const rounds = measured.map((lane) => lane.rounds);
  const intervals = (ratioOf) => intervalsOf(rounds.map((each) => each.map((blocks) => blocks.map(ratioOf))));
  const rates = intervals(([a, b, c, d]) => Math.sqrt((a.seconds * d.seconds) / (b.seconds * c.seconds)));
  const cpus = intervals(([a, b, c, d]) => Math.sqrt((a.cpu * d.cpu) / (b.cpu * c.cpu)));
  const controls = intervals(([a, , , d]) => a.seconds / d.seconds);
  return measured.map((lane, index) => {
    return { lane, rate: rates[index], cpu: cpus[index], control: controls[index], verdict: verdictOf(rates[index]) };
  });
}

/** Prints the results. Returns the exit code. */
function report(results) {
  const shown = ({ ratio, low, high }) => `${ratio.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`;
  const table = tableOf(results, [
    { title: 'Lane', of: ({ lane }) => lane.name },
    { title: '>New / old', of: ({ rate }) => shown(rate) },
    { title: '>By CPU time', of: ({ cpu }) => shown(cpu) },
    { title: '>Old / old', of: ({ control }) => shown(control) },
    { title: '>Rounds', of: ({ lane }) => String(lane.rounds.length) },
    { title: 'Verdict', of: ({ verdict, cpu }) => verdict + (verdictOf(cpu) === 'slower' ? ', more CPU time' : '') },
  ]);
  const figures = Object.keys(Object.assign({}, ...sizes)).map((name) => [
    name,
    sizes.map((size) => size[name] ?? '—'),
  ]);
  figures.push(['seconds of the build', values['build-seconds'].split(',')]);
  const left = lanes.filter(({ out }) => out !== undefined).map(({ name, out }) => `${name} is left out: ${out}`);
  const bad = results.filter(({ verdict }) => ['slower', 'undecided'].includes(verdict));
  const wrong = results.filter(({ control }) => ['slower', 'faster'].includes(verdictOf(control)));
  const findings = [
    `slower or undecided: ${bad.map(({ lane, verdict }) => `${lane.name} (${verdict})`).join(', ') || 'no lane'}`,
    `the control, which is never slower or faster, is called so in ${wrong.length} of ${results.length} lanes`,
    `servers, which the old build starts for both builds: ${[...servers.keys()].join(', ') || 'none'}`,
  ];
  const size = list(figures.map(([name, both]) => `${name}: ${both.join(' → ')}`));
  process.stdout.write(renderTerminal([...tableBlock(table), ...list([...findings, ...left]), ...size]));
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ roots, results, left, sizes }));
  return bad.length > 0 || lanes.some(({ hasFailed }) => hasFailed) ? 1 : 0;
}
