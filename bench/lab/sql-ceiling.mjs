// Checks if the Rust side of the family sql is a fair ceiling: its cell oltp_point_select next to sysbench's test of that
// name, with the same connections, statement, rows and private server. Prints queries per second, the median of the rounds,
// and the ratio to sysbench. Needs sysbench on the PATH.
//
//   node bench/lab/sql-ceiling.mjs [ROUNDS]
import { addon } from '../../dist/addon.js';
import { mediansInTurn, shownRate, shownRatio } from './in-turn.mjs';
import { findProgram, outputOf } from './programs.mjs';

const ROWS = 10_000;

/** The numbers of connections, and of queries in a round. */
const CELLS = [
  { threads: 1, operations: 30_000 },
  { threads: 8, operations: 120_000 },
  { threads: 32, operations: 120_000 },
];

const rounds = Number(process.argv[2] ?? 3);
const mariadb = findProgram(['mariadb', 'mysql'], 'mariadb-client');
const benchmark = findProgram(['sysbench'], 'sysbench');
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
    await native.sample();
    const { theirs, ours } = await mediansInTurn(
      {
        theirs: () => sysbench(threads, operations, 'run'),
        ours: async () => operations / JSON.parse(await native.sample()).seconds,
      },
      rounds,
    );
    console.log(`| ${threads} | ${shownRate(theirs)} | ${shownRate(ours)} | ${shownRatio(ours, theirs)} |`);
  } finally {
    await native.close();
  }
}

function sysbench(threads, events, command) {
  const output = outputOf(benchmark, [
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
  const environment = { MYSQL_PWD: decodeURIComponent(url.password) };
  outputOf(mariadb, [...args, '-e', statements.join('; ')], { environment });
}
