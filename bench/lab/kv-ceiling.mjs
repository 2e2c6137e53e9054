// Checks if the Rust side of the family kv is a fair ceiling: our client next to redis-benchmark and the crate redis, with
// the same connections, pipelines and payload, on one private server. Prints operations per second, the median of the
// rounds, and the ratio to redis-benchmark. Needs redis-benchmark (or valkey-benchmark) on the PATH.
//
//   node bench/lab/kv-ceiling.mjs [ROUNDS]
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { accessSync, constants } from 'node:fs';

import { addon } from '../../dist/addon.js';

const VALUE_BYTES = 16;
const KEYS = 100_000;

/** The numbers of connections, of commands in a pipeline, and of operations in a round. */
const CELLS = [
  { connections: 1, pipeline: 1, operations: 20_000 },
  { connections: 32, pipeline: 1, operations: 80_000 },
  { connections: 1, pipeline: 64, operations: 600_000 },
  { connections: 32, pipeline: 64, operations: 1_500_000 },
];

const rounds = Number(process.argv[2] ?? 3);
const benchmark = findProgram(['redis-benchmark', 'valkey-benchmark']);
run('cargo', ['build', '--release', '--locked', '-p', 'boundary-bench-redis', '--example', 'speed'], 'inherit');
const metadata = JSON.parse(run('cargo', ['metadata', '--no-deps', '--format-version', '1']));
const speed = join(metadata.target_directory, 'release', 'examples', 'speed');

const server = await addon.PrivateServer.start('redis');
try {
  console.log('| Benchmark | Connections | Pipeline | redis-benchmark | ours | ours / it | crate redis | crate / it |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const cell of CELLS) for (const operation of ['get', 'set']) compare(cell, operation);
} finally {
  await server.stop();
}

function compare({ connections, pipeline, operations }, operation) {
  const sides = {
    theirs: () => redisBenchmark(operation, connections, pipeline, operations),
    ours: () => native('ours', operation, connections, pipeline, operations),
    crate: () => native('redis-crate', operation, connections, pipeline, operations),
  };
  const rates = { theirs: [], ours: [], crate: [] };
  // In alternating order, so that a machine that slows down favours none.
  for (let round = 0; round < rounds; round += 1) {
    const order = Object.keys(sides);
    if (round % 2 === 1) order.reverse();
    for (const side of order) rates[side].push(sides[side]());
  }
  const [theirs, ours, crate] = Object.values(rates).map(median);
  const ratio = (rate) => `${(rate / theirs).toFixed(2)}×`;
  const shown = (rate) => Math.round(rate).toLocaleString('en-US');
  console.log(
    `| ${operation} | ${connections} | ${pipeline} | ${shown(theirs)} | ${shown(ours)} | ${ratio(ours)} | ${shown(crate)} | ${ratio(crate)} |`,
  );
}

function redisBenchmark(operation, connections, pipeline, operations) {
  const { port, password } = new URL(server.url);
  const login = password === '' ? [] : ['-a', decodeURIComponent(password)];
  const sizes = ['-c', connections, '-P', pipeline, '-d', VALUE_BYTES, '-r', KEYS, '-n', operations].map(String);
  const output = run(benchmark, ['-p', port, ...login, ...sizes, '-t', operation, '--csv']);
  // The output's last line, such as "GET","95238.10",...
  return Number(output.trim().split('\n').at(-1).split(',')[1].replaceAll('"', ''));
}

function native(client, operation, connections, pipeline, operations) {
  return Number(run(speed, [server.url, client, operation, connections, pipeline, operations].map(String)));
}

function run(program, args, output = 'pipe') {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', output, output],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout;
}

function findProgram(names) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      try {
        const path = join(folder, name);
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not in this folder; the next one is tried.
      }
    }
  }
  console.error(`${names.join(' or ')} is not on the PATH (Debian: redis-tools)`);
  process.exit(2);
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
