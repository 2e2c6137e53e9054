// Checks if the Rust side of the family sql is a fair ceiling: its cell oltp_point_select next to sysbench's test of that
// name, with the same connections, statement, rows and private server. Prints queries per second, the median of the rounds,
// and the ratio to sysbench. Needs sysbench on the PATH.
//
//   node bench/lab/sql-ceiling.mjs [ROUNDS]
import { spawnSync } from 'node:child_process';

import { addon } from '../../dist/addon.js';

const ROWS = 10_000;

/** The numbers of connections, and of queries in a round. */
const CELLS = [
  { threads: 1, operations: 30_000 },
  { threads: 8, operations: 120_000 },
  { threads: 32, operations: 120_000 },
];

const rounds = Number(process.argv[2] ?? 3);
const server = await addon.PrivateServer.start('mysql');
const url = new URL(server.url);
try {
  client(['CREATE DATABASE sbtest']);
  sysbench(1, 1, 'prepare');
  console.log('| Threads | sysbench | ours | ours / it |');
  console.log('| ---: | ---: | ---: | ---: |');
  for (const cell of CELLS) await compare(cell);
} finally {
  await server.stop();
}

async function compare({ threads, operations }) {
  const spec = {
    family: 'sql',
    workload: 'oltp_point_select',
    lane: 'call',
    url: server.url,
    threads,
    batch: 1,
    operations,
  };
  const native = await addon.NativeRequests.open(JSON.stringify({ ...spec, prefix: `bb_ceiling_${threads}` }));
  try {
    const sides = {
      theirs: () => sysbench(threads, operations, 'run'),
      ours: async () => operations / JSON.parse(await native.sample()).seconds,
    };
    await native.sample();
    const rates = { theirs: [], ours: [] };
    // In alternating order, so that a machine that slows down favours none.
    for (let round = 0; round < rounds; round += 1) {
      const order = round % 2 === 1 ? ['ours', 'theirs'] : ['theirs', 'ours'];
      for (const side of order) rates[side].push(await sides[side]());
    }
    const [theirs, ours] = Object.values(rates).map(median);
    const shown = (rate) => Math.round(rate).toLocaleString('en-US');
    console.log(`| ${threads} | ${shown(theirs)} | ${shown(ours)} | ${(ours / theirs).toFixed(2)}× |`);
  } finally {
    await native.close();
  }
}

function sysbench(threads, events, command) {
  const output = run('sysbench', [
    'oltp_point_select',
    '--db-driver=mysql',
    `--mysql-host=${url.hostname}`,
    `--mysql-port=${url.port}`,
    `--mysql-user=${decodeURIComponent(url.username)}`,
    `--mysql-password=${decodeURIComponent(url.password)}`,
    '--mysql-db=sbtest',
    '--tables=1',
    `--table-size=${ROWS}`,
    '--rand-type=uniform',
    `--threads=${threads}`,
    `--events=${events}`,
    '--time=0',
    command,
  ]);
  return Number(/queries:\s+\d+\s+\(([\d.]+) per sec/.exec(output)?.[1]);
}

function client(statements) {
  const args = ['-h', url.hostname, '-P', url.port, '-u', decodeURIComponent(url.username), '--protocol=tcp'];
  run('mariadb', [...args, '-e', statements.join('; ')], { MYSQL_PWD: decodeURIComponent(url.password) });
}

function run(program, args, environment = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  if (error?.code === 'ENOENT') {
    console.error(`${program} is not on the PATH (Debian: sysbench, mariadb-client)`);
    process.exit(2);
  }
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} failed: ${stderr}${stdout}`);
  return stdout;
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
