#!/usr/bin/env node
/**
 * Is Rust within a Node process as fast as Rust in a process without JavaScript? `node bench/lab/rust-alone.mjs [--pairs N] [--out FILE]`
 * measures cells of the side `rust` by both: by the addon, as runs do, and by the program `boundary-bench-native`, which it builds. A
 * process of each is alive at a time, and they take turns. It prints the ratio of their times with its interval.
 */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { addon } from '../../dist/addon.js';
import { openTarget } from '../../dist/families/requests/target-server.js';
import { runContext } from '../../dist/host/provenance.js';
import { loadNativeBuild } from '../../dist/native-build.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { ratioInTurns } from '../../dist/stats/ratio-in-turns.js';
import { rustAloneTable } from './rust-alone-table.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

/** The samples of a process before those that count, and those that count. */
const WARM_UP = 5;
const SAMPLES = 9;

const onEngine = (workload, lane, rows, flavor = 'sync') => ({
  name: `${workload} · ${lane} · ${flavor}`,
  cell: { kind: 'engine', uri: 'embedded:', spec: { workload, lane, flavor, workers: 1, rows, table: 'alone' } },
});
const inProcess = (family, workload, lane, calls, batch = 1) => ({
  name: `${family} · ${workload} · ${lane}`,
  cell: { kind: 'inProcess', spec: { family, workload, lane, batch, calls } },
});
const keys = (lane, batch, operations) => ({
  name: `kv · get · ${lane}`,
  server: 'redis',
  cell: { kind: 'requests', spec: { family: 'kv', workload: 'get', lane, threads: 32, batch, operations } },
});

const CELLS = [
  onEngine('insert.bulk', 'row', 2_000_000),
  onEngine('insert.bulk', 'columns', 2_000_000),
  onEngine('query.full_scan', 'objects', 2_000_000),
  onEngine('query.full_scan', 'stream', 4_000_000, 'async'),
  onEngine('query.full_scan', 'columnar', 4_000_000),
  onEngine('query.filtered', 'columnar', 4_000_000),
  onEngine('query.aggregation', 'columnar', 4_000_000),
  keys('call', 1, 40_000),
  keys('batch', 64, 400_000),
  inProcess('boundary', 'record_in', 'frame', 500_000),
  inProcess('codec', 'json_parse', 'call', 20_000),
];

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    out: { type: 'string' },
    // This script is also the program within Node.
    serve: { type: 'boolean' },
  },
});
async function compare() {
  const { startedAt, host, versions, git } = await runContext({
    startedAt: new Date(),
    config: {},
    build: await loadNativeBuild(),
  });
  const programs = [[buildProgram()], [process.execPath, fileURLToPath(import.meta.url), '--serve']];
  const results = [];
  for (const { name, cell, server } of CELLS) {
    const pairs = [];
    for (let pair = 0; pair < Number(values.pairs); pair += 1) pairs.push(await pairOf(programs, cell, server));
    const { ratio, low, high } = ratioInTurns(pairs);
    results.push({ name, ratio, low, high });
    process.stderr.write(`${name}: ${ratio.toFixed(3)} (${low.toFixed(3)}-${high.toFixed(3)})\n`);
  }
  process.stdout.write(renderMarkdown(rustAloneTable(results)));
  if (values.out !== undefined) {
    const head = JSON.stringify({ startedAt, host, versions, git, pairs: Number(values.pairs) }).slice(0, -1);
    writeFileSync(
      values.out,
      `${head},\n"results":[\n${results.map((result) => JSON.stringify(result)).join(',\n')}\n]}\n`,
    );
  }
}

/** Builds the program, and returns its path. */
function buildProgram() {
  // As the addon is built, so that their crates are compiled once.
  const target = /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1];
  const words = [
    '-p',
    'boundary-bench-program',
    '--release',
    '--target',
    target,
    '--features',
    'references',
    '--locked',
  ];
  execFileSync('cargo', ['build', ...words], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  const metadata = execFileSync('cargo', ['metadata', '--no-deps', '--format-version', '1'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return join(JSON.parse(metadata).target_directory, target, 'release', 'boundary-bench-native');
}

/** The ratios of a pair of processes: the seconds of the first within each block, divided by the seconds of the second. */
async function pairOf(programs, cell, server) {
  const target = server && (await openTarget(server, {}));
  const running = programs.map((words) => new Running(words));
  try {
    for (const program of running) {
      const spec = target
        ? { ...cell.spec, url: target.url, prefix: target.newPrefix(), serverProcesses: target.processIds }
        : cell.spec;
      await program.ask({ type: 'open', protocol: 1, cell: { ...cell, spec } });
      for (let sample = 0; sample < WARM_UP; sample += 1) await program.ask({ type: 'sample' });
    }
    const ratios = [];
    for (let block = 0; block < SAMPLES; block += 1) {
      const seconds = [];
      for (const index of Math.random() < 0.5 ? [0, 1] : [1, 0]) {
        seconds[index] = (await running[index].ask({ type: 'sample' })).seconds;
      }
      ratios.push(seconds[0] / seconds[1]);
    }
    for (const program of running) await program.ask({ type: 'verify' });
    return ratios;
  } finally {
    for (const program of running) await program.close();
    await target?.close();
  }
}

/** A program that runs. */
class Running {
  #child;
  #lines;

  constructor([path, ...words]) {
    this.#child = spawn(path, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async ask(order) {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the program ended');
    const answer = JSON.parse(value);
    if (answer.type === 'failed') throw new Error(`${answer.message} [${answer.code}]`);
    return answer;
  }

  async close() {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin.end(`${JSON.stringify({ type: 'close' })}\n`);
    await ended;
  }
}

/** Answers the orders of the protocol by the addon. */
async function serve() {
  let cell;
  const answers = {
    open: async (order) => {
      cell = await openByAddon(order.cell);
      return { type: 'ready' };
    },
    sample: async ({ repeats = 1 }) => ({ type: 'sample', ...JSON.parse(await cell.sample(repeats)) }),
    verify: async () => {
      await cell.verify();
      return { type: 'verified' };
    },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    if (order.type === 'close') break;
    const answer = await answers[order.type](order).catch(({ code, message }) => ({ type: 'failed', code, message }));
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  await cell?.close();
  process.stdin.destroy();
}

/** Opens a cell in this process. */
async function openByAddon({ kind, uri, spec }) {
  const text = JSON.stringify(spec);
  if (kind === 'inProcess') {
    const sample = async (repeats) => addon.runInProcess(JSON.stringify({ ...spec, repeats }));
    return { sample, verify: () => sample(1), close: async () => {} };
  }
  if (kind === 'requests') {
    const requests = await addon.NativeRequests.open(text);
    return { sample: () => requests.sample(), verify: () => requests.verify(), close: () => requests.close() };
  }
  const engine = await addon.Engine.open(uri);
  const tables = JSON.stringify({ table: spec.table, rows: spec.rows, workers: spec.workers });
  const isRead = spec.workload !== 'insert.bulk';
  if (isRead) await engine.loadNative(tables);
  return {
    sample: () => engine.runNative(text),
    verify: () => engine.verifyNative(text),
    close: async () => {
      if (isRead) await engine.unloadNative(tables);
      await engine.close();
    },
  };
}

if (values.serve) await serve();
else await compare();
