#!/usr/bin/env node
/**
 * `insert.bulk` and `query.full_scan` in C, next to our lanes in Rust: `node bench/lab/c-reference.mjs [--rows 10000000] [--executions 15]
 * [--out FILE]` compiles `c-reference.c` by `cc` against the libduckdb that the addon uses. It lets the programs take turns, in an order that
 * changes at random: C that makes its input in memory that it reuses, C that makes it in fresh memory, and the lanes of Rust in both flavors.
 * It prints the seconds, the CPU seconds and the minor page faults of each execution, and their medians. `--out` writes them as JSON.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { duckdbLibrary } from '../../dist/duckdb-library.js';
import { startNative } from '../../dist/families/native-program.js';
import { INPUT_ROWS } from '../../dist/families/measurements/rows.js';
import { median } from '../../dist/stats/quantile.js';

/** The executions of each program that are not shown: its memory is fresh in the first. */
const WARM_UPS = 2;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    executions: { type: 'string', default: '15' },
    out: { type: 'string' },
  },
});
const [rows, executions] = [Number(values.rows), Number(values.executions)];
const folder = mkdtempSync(join(tmpdir(), 'bb-c-reference-'));
const results = [];
try {
  const program = compile();
  for (const workload of ['insert.bulk', 'query.full_scan']) await measure(workload, program);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify({ rows, results })}\n`);

/** Compiles the program, and returns its path. */
function compile() {
  const library = dirname(duckdbLibrary());
  const [source, program] = [fileURLToPath(new URL('c-reference.c', import.meta.url)), join(folder, 'c-reference')];
  const { status, error } = spawnSync(
    process.env.CC ?? 'cc',
    ['-O3', '-Wall', '-Wextra', '-o', program, source, `-L${library}`, '-lduckdb', `-Wl,-rpath,${library}`],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if (status !== 0) throw new Error(`the C compiler failed: ${error?.message ?? `exit code ${status}`}`);
  return program;
}

/** Lets the programs of a workload take turns, and prints the costs of each execution. */
async function measure(workload, program) {
  const isInsert = workload === 'insert.bulk';
  const opened = [];
  try {
    for (const memory of isInsert ? ['reused', 'fresh'] : ['reused']) {
      const name = isInsert ? `C, ${memory} input memory` : 'C';
      opened.push({ name, ...openC(program, [isInsert ? 'insert' : 'scan', `${rows}`, `${INPUT_ROWS}`, memory]) });
    }
    for (const flavor of ['sync', 'async'])
      opened.push({ name: `Rust, ${flavor}`, ...(await openRust(workload, flavor)) });
    const measured = new Map(opened.map(({ name }) => [name, []]));
    for (let round = 0; round < WARM_UPS + executions; round += 1) {
      for (const { name, execute } of shuffled(opened)) {
        const costs = await execute();
        if (round >= WARM_UPS) measured.get(name).push(costs);
      }
    }
    for (const [name, costs] of measured) print(workload, name, costs);
  } finally {
    for (const { close } of opened) await close();
  }
}

/** The program in C: a line asks it for an execution. */
function openC(program, args) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async execute() {
      child.stdin.write('\n');
      const { value, done } = await answers.next();
      if (done) throw new Error(`the program in C ended with ${(await ended)[0]}`);
      return JSON.parse(value);
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

/** The lane of Rust that inserts or reads columns. */
async function openRust(workload, flavor) {
  const isInsert = workload === 'insert.bulk';
  const spec = { table: 'measurements', rows, workers: 1, workload, lane: isInsert ? 'columns' : 'columnar', flavor };
  const native = await startNative({ kind: 'engine', uri: 'embedded:', isShared: false, spec });
  return {
    async execute() {
      const { seconds, cpuUserSeconds, cpuSystemSeconds, minorFaults, threads } = await native.sample(1);
      return { seconds, cpuSeconds: cpuUserSeconds + cpuSystemSeconds, minorFaults, threads };
    },
    close: () => native.close(),
  };
}

function shuffled(items) {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function print(workload, name, costs) {
  results.push({ workload, name, executions: costs });
  const list = (of, digits) => costs.map((cost) => of(cost).toFixed(digits)).join(' ');
  const middle = (of) => median(costs.map(of));
  const [seconds, cpu, faults] = [(cost) => cost.seconds, (cost) => cost.cpuSeconds, (cost) => cost.minorFaults];
  process.stdout.write(
    `${workload}, ${name}: ${middle(seconds).toFixed(3)} s, ${middle(cpu).toFixed(3)} s of CPU, ${middle(faults)} minor faults\n` +
      `  seconds: ${list(seconds, 3)}\n  CPU seconds: ${list(cpu, 3)}\n  minor faults: ${list(faults, 0)}\n`,
  );
}
