// Checks if the side `rust` of a family of requests is a fair ceiling: our client, by each of its drivers, and the independent crate
// next to the load tool of the server's own project, with the same connections, work and private server: redis-benchmark for kv,
// sysbench for sql, wrk for rest. Prints operations per second, the median of the rounds, and the ratios to the load tool, whose
// clients do less: they leave unread what our cells add up.
//
//   node bench/lab/ceiling.mjs kv|sql|rest [ROUNDS]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { addon } from '../../dist/addon.js';
import { openTarget } from '../../dist/families/requests/target-server.js';
import { RestInput } from '../../dist/families/rest/data.js';
import { mediansInTurn, shownRate, shownRatio } from './in-turn.mjs';
import { findProgram, outputOf } from './programs.mjs';

/** Rows of sysbench's table, and keys of redis-benchmark. */
const ROWS = 10_000;

/** The seconds of each measurement with a load tool that counts seconds. */
const SECONDS = 2;

const call = (workload, threads, operations) => ({ workload, lane: 'call', threads, batch: 1, operations });
const batch = (workload, threads, size, operations) => ({ workload, lane: 'batch', threads, batch: size, operations });

/** For each family its server, its load tool, the crate to compare with, and the cells. */
const FAMILIES = {
  kv: {
    server: 'redis',
    crate: 'redis',
    cells: ['get', 'set'].flatMap((workload) => [
      call(workload, 1, 20_000),
      call(workload, 32, 80_000),
      batch(workload, 1, 64, 600_000),
      batch(workload, 32, 64, 1_500_000),
    ]),
    tool: redisBenchmark,
  },
  sql: {
    server: 'mysql',
    crate: 'mysql_async',
    cells: [1, 8, 32].map((threads) => call('oltp_point_select', threads, threads === 1 ? 30_000 : 120_000)),
    tool: sysbench,
  },
  rest: {
    server: 'rest',
    crate: 'reqwest',
    cells: [1, 8, 32].map((threads) => call('pkread', threads, threads === 1 ? 30_000 : 120_000)),
    tool: wrk,
  },
};

const [family, rounds = '5'] = process.argv.slice(2);
if (FAMILIES[family] === undefined) {
  console.error('Usage: node bench/lab/ceiling.mjs kv|sql|rest [ROUNDS]');
  process.exit(2);
}
const { server: kind, crate, cells, tool } = FAMILIES[family];
const clients = {
  ours: {},
  'ours, one thread': { setting: 'one-thread' },
  'ours, all cores': { setting: 'all-cores' },
  [`crate ${crate}`]: { client: crate },
};
const server = await openTarget(kind, {});
try {
  const { name, rateOf, close } = tool(server);
  const titles = [
    'Work',
    'Connections',
    'Batch',
    name,
    ...Object.keys(clients).map((client) => `${client} (/ ${name})`),
  ];
  console.log(`| ${titles.join(' | ')} |`);
  console.log(`| --- |${' ---: |'.repeat(titles.length - 1)}`);
  for (const cell of cells) await compare(cell, rateOf);
  close?.();
} finally {
  await server.close();
}

async function compare(cell, rateOf) {
  const open = Object.entries(clients).map(async ([client, how]) => {
    const spec = { family, ...cell, ...how, url: server.url, prefix: server.newPrefix() };
    return [client, await addon.NativeRequests.open(JSON.stringify(spec))];
  });
  const opened = await Promise.all(open);
  try {
    const rate = async (native) => cell.operations / JSON.parse(await native.sample()).seconds;
    for (const [, native] of opened) await rate(native);
    const own = Object.fromEntries(opened.map(([client, native]) => [client, () => rate(native)]));
    const { theirs, ...rates } = await mediansInTurn({ theirs: () => rateOf(cell), ...own }, Number(rounds));
    const shown = Object.values(rates).map((of) => `${shownRate(of)} (${shownRatio(of, theirs)})`);
    console.log(`| ${[cell.workload, cell.threads, cell.batch, shownRate(theirs), ...shown].join(' | ')} |`);
  } finally {
    for (const [, native] of opened) await native.close();
  }
}

function redisBenchmark({ url }) {
  const program = findProgram(['redis-benchmark', 'valkey-benchmark'], 'redis-tools');
  const { port, password } = new URL(url);
  const login = password === '' ? [] : ['-a', decodeURIComponent(password)];
  const rateOf = ({ workload, threads, batch: pipeline, operations }) => {
    // Values of 16 bytes, as the family has.
    const sizes = ['-c', threads, '-P', pipeline, '-d', 16, '-r', ROWS, '-n', operations].map(String);
    const output = outputOf(program, ['-p', port, ...login, ...sizes, '-t', workload, '--csv']);
    // The output's last line, such as "GET","95238.10",...
    return Number(output.trim().split('\n').at(-1).split(',')[1].replaceAll('"', ''));
  };
  return { name: 'redis-benchmark', rateOf };
}

function sysbench({ url }) {
  const mariadb = findProgram(['mariadb', 'mysql'], 'mariadb-client');
  const program = findProgram(['sysbench'], 'sysbench');
  const { hostname, port, username, password } = new URL(url);
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  const environment = { MYSQL_PWD: secret };
  const sql = ['-h', hostname, '-P', port, '-u', user, '--protocol=tcp', '-e', 'CREATE DATABASE sbtest'];
  outputOf(mariadb, sql, { environment });
  const login = [
    `--mysql-host=${hostname}`,
    `--mysql-port=${port}`,
    `--mysql-user=${user}`,
    `--mysql-password=${secret}`,
  ];
  const table = ['--mysql-db=sbtest', '--tables=1', `--table-size=${ROWS}`, '--rand-type=uniform'];
  const work = (threads, events, command) => {
    const load = [`--threads=${threads}`, `--events=${events}`, '--time=0', command];
    return outputOf(program, ['oltp_point_select', '--db-driver=mysql', ...login, ...table, ...load]);
  };
  work(1, 1, 'prepare');
  const rateOf = ({ threads, operations }) =>
    Number(/queries:\s+\d+\s+\(([\d.]+) per sec/.exec(work(threads, operations, 'run'))?.[1]);
  return { name: 'sysbench', rateOf };
}

function wrk({ url }) {
  const program = findProgram(['wrk'], 'wrk');
  const input = new RestInput('pkread');
  const folder = mkdtempSync(join(tmpdir(), 'ceiling-'));
  const script = join(folder, 'pkread.lua');
  const request = `wrk.method = "POST"\nwrk.body = ${JSON.stringify(input.read(7))}\n`;
  writeFileSync(script, `${request}wrk.headers["content-type"] = "application/json"\n`);
  const rateOf = ({ threads }) => {
    const load = ['-t1', `-c${threads}`, `-d${SECONDS}s`, '-s', script, `${url}${input.path}`];
    const output = outputOf(program, load);
    if (/Non-2xx/.test(output)) throw new Error(output);
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)[1]);
  };
  return { name: 'wrk', rateOf, close: () => rmSync(folder, { recursive: true }) };
}
