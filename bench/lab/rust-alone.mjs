#!/usr/bin/env node
/**
 * Is Rust within a Node process as fast as Rust in a process without JavaScript? `node bench/lab/rust-alone.mjs [--pairs N] [--out FILE]`
 * measures cells of the side `rust` by both: by the addon, as runs do, and by the program `boundary-bench-native`, which it builds. A
 * process of each is alive at a time, and they take turns. It prints the ratio of their times with its interval.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { addon } from '../../dist/addon.js';
import { RunningProgram } from '../../dist/families/own/program.js';
import { openTarget } from '../../dist/families/requests/target-server.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { ratioInTurns } from '../../dist/stats/ratio-in-turns.js';
import { origin, resultText } from './result-file.mjs';
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
  cell: { kind: 'requests', spec: { family: 'kv', workload: 'get', lane, connections: 32, batch, operations } },
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
    pairs: { type: 'string', default: '10' },
    out: { type: 'string' },
    // This script is also the program within Node.
    serve: { type: 'boolean' },
  },
});
async function compare() {
  const from = await origin();
  const programs = [
    { program: buildProgram(), arguments: [] },
    { program: process.execPath, arguments: [fileURLToPath(import.meta.url), '--serve'] },
  ];
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
    writeFileSync(values.out, resultText({ ...from, pairs: Number(values.pairs), results }));
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
  const running = [];
  try {
    for (const program of programs) {
      const spec = target
        ? { ...cell.spec, url: target.url, prefix: target.newPrefix(), serverProcesses: target.processIds }
        : cell.spec;
      const started = await RunningProgram.start(program, cell.kind, undefined, { ...cell, spec });
      running.push(started);
      for (let sample = 0; sample < WARM_UP; sample += 1) await started.sample(1);
    }
    const ratios = [];
    for (let block = 0; block < SAMPLES; block += 1) {
      const seconds = [];
      for (const index of Math.random() < 0.5 ? [0, 1] : [1, 0]) {
        seconds[index] = (await running[index].sample(1)).seconds;
      }
      ratios.push(seconds[0] / seconds[1]);
    }
    // Each checks its values first.
    for (const program of running) await program.result();
    return ratios;
  } finally {
    for (const program of running) await program.close();
    await target?.close();
  }
}

/** Answers the orders of docs/protocol.md by the addon. */
async function serve() {
  let cell;
  let sampled;
  const answers = {
    open: async ({ input }) => {
      cell = await openByAddon(input);
      return { type: 'ready' };
    },
    sample: async ({ repeats }) => {
      sampled = JSON.parse(await cell.sample(repeats));
      return { ...sampled, type: 'sample' };
    },
    result: async () => {
      await cell.verify();
      return { type: 'result', result: sampled.checksum };
    },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    if (order.type === 'close') break;
    const answer = await answers[order.type](order).catch(({ message }) => ({ type: 'failed', message }));
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
