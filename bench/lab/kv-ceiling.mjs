// Checks if the Rust side of the family kv is a fair ceiling: our client next to redis-benchmark and the crate redis, with
// the same connections, pipelines and payload, on one private server. Prints operations per second, the median of the
// rounds, and the ratio to redis-benchmark. Needs redis-benchmark (or valkey-benchmark) on the PATH.
//
//   node bench/lab/kv-ceiling.mjs [ROUNDS]
import { addon } from '../../dist/addon.js';
import { mediansInTurn, shownRate, shownRatio } from './in-turn.mjs';
import { builtExample, findProgram, outputOf } from './programs.mjs';

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
const benchmark = findProgram(['redis-benchmark', 'valkey-benchmark'], 'redis-tools');
const speed = builtExample('boundary-bench-redis', 'speed');

const server = await addon.PrivateServer.start('redis');
try {
  console.log('| Benchmark | Connections | Pipeline | redis-benchmark | ours | ours / it | crate redis | crate / it |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const cell of CELLS) for (const operation of ['get', 'set']) await compare(cell, operation);
} finally {
  await server.stop();
}

async function compare({ connections, pipeline, operations }, operation) {
  const { theirs, ours, crate } = await mediansInTurn(
    {
      theirs: () => redisBenchmark(operation, connections, pipeline, operations),
      ours: () => native('ours', operation, connections, pipeline, operations),
      crate: () => native('redis-crate', operation, connections, pipeline, operations),
    },
    rounds,
  );
  console.log(
    `| ${operation} | ${connections} | ${pipeline} | ${shownRate(theirs)} | ${shownRate(ours)} | ${shownRatio(ours, theirs)} | ${shownRate(crate)} | ${shownRatio(crate, theirs)} |`,
  );
}

function redisBenchmark(operation, connections, pipeline, operations) {
  const { port, password } = new URL(server.url);
  const login = password === '' ? [] : ['-a', decodeURIComponent(password)];
  const sizes = ['-c', connections, '-P', pipeline, '-d', VALUE_BYTES, '-r', KEYS, '-n', operations].map(String);
  const output = outputOf(benchmark, ['-p', port, ...login, ...sizes, '-t', operation, '--csv']);
  // The output's last line, such as "GET","95238.10",...
  return Number(output.trim().split('\n').at(-1).split(',')[1].replaceAll('"', ''));
}

function native(client, operation, connections, pipeline, operations) {
  return Number(outputOf(speed, [server.url, client, operation, connections, pipeline, operations].map(String)));
}
