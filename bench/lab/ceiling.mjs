#!/usr/bin/env node
/**
 * Is the `rust` side of the families of requests a fair ceiling? `node bench/lab/ceiling.mjs [kv sql rest] [--rounds 8] [--out FILE]`
 * measures our client, by each of its drivers, and the independent crate next to the load tool of the server's own project, with the
 * same connections, work and private server: redis-benchmark for kv, sysbench for sql, wrk for rest. It prints operations per second
 * and their ratios to the load tool's. `--out` writes them to a file, from which `bench/docs.mjs` makes the tables.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { startNative } from '../../dist/families/native-program.js';
import { count } from '../../dist/families/option-values.js';
import { openTarget } from '../../dist/families/requests/target-server.js';
import { RestInput } from '../../dist/families/rest/data.js';
import { KvClient } from '../../dist/index.js';
import { list, paragraph, renderTerminal, tableBlock } from '../../dist/report/document.js';
import { ceilingFindings, ceilingTable } from './ceiling-table.mjs';
import { ratesInTurn } from './in-turn.mjs';
import { findProgram, optionsOf, origin, outputOf, temporaryFolder, versionLine, writeResult } from './frame.mjs';

/** Rows of sysbench's table. */
const ROWS = 10_000;

/** The keys that one request sets before redis-benchmark asks for them. */
const KEYS_AT_ONCE = 1000;

/** The seconds of each measurement with a load tool that counts seconds. */
const SECONDS = 2;

const call = (workload, connections, operations) => ({ workload, lane: 'call', connections, batch: 1, operations });
const batch = (workload, connections, size, operations) => ({
  workload,
  lane: 'batch',
  connections,
  batch: size,
  operations,
});

/**
 * For each family its server, its load tool, the crate to compare with, the cells, and the programs that the tool
 * needs: their names and the package that has them.
 */
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
    programs: [[['redis-benchmark', 'valkey-benchmark'], 'redis-tools']],
  },
  sql: {
    server: 'mysql',
    crate: 'mysql_async',
    cells: [1, 8, 32].map((connections) =>
      call('oltp_point_select', connections, connections === 1 ? 30_000 : 120_000),
    ),
    tool: sysbench,
    programs: [
      [['sysbench'], 'sysbench'],
      [['mariadb', 'mysql'], 'mariadb-client'],
    ],
  },
  rest: {
    server: 'rest',
    crate: 'reqwest',
    cells: [1, 8, 32].map((connections) => call('pkread', connections, connections === 1 ? 30_000 : 120_000)),
    tool: wrk,
    programs: [[['wrk'], 'wrk']],
  },
};

const { values, positionals } = optionsOf({ rounds: '8', out: undefined }, true);
const unknown = positionals.find((family) => !Object.hasOwn(FAMILIES, family));
if (unknown !== undefined) {
  console.error('Usage: node bench/lab/ceiling.mjs [kv sql rest] [--rounds 8] [--out FILE]');
  process.exit(2);
}
const rounds = count.parse(values.rounds);
const names = positionals.length === 0 ? Object.keys(FAMILIES) : positionals;
// All are found before the first family is measured for minutes.
const programs = new Map(names.map((name) => [name, FAMILIES[name].programs.map((each) => findProgram(...each))]));
const from = await origin();
const versions = { ...from.versions };
const measurements = [];
for (const name of names) {
  const ofFamily = await measure(name);
  const { table, notes } = ceilingTable(ofFamily);
  process.stdout.write(
    renderTerminal([...tableBlock(table), ...notes.map(paragraph), ...list(ceilingFindings(ofFamily))]),
  );
  measurements.push(...ofFamily);
}
writeResult(values.out, { ...from, versions, measurements });

async function measure(family) {
  const { server: kind, crate, cells, tool: toolOf } = FAMILIES[family];
  const clients = {
    ours: {},
    'ours, one thread': { driver: 'one-thread' },
    'ours, all cores': { driver: 'all-cores' },
    [`crate ${crate}`]: { client: crate },
    [`crate ${crate}, all cores`]: { client: crate, driver: 'all-cores' },
  };
  const server = await openTarget(kind, {});
  try {
    const tool = await toolOf(server, cells, ...programs.get(family));
    versions[kind] = server.version;
    versions[tool.name] = tool.version;
    const measured = [];
    for (const cell of cells) {
      const { workload, connections, batch: size } = cell;
      const rates = await ratesOf({ family, ...cell }, { server, tool, clients });
      measured.push({ family, workload, connections, batch: size, tool: tool.name, rates });
      process.stderr.write(`${family} ${workload}, ${connections} connections, batches of ${size}\n`);
    }
    return measured;
  } finally {
    await server.close();
  }
}

/** Operations per second of the load tool and of each client, one value per round, with six digits. */
async function ratesOf(cell, { server, tool, clients }) {
  const open = Object.entries(clients).map(async ([client, how]) => {
    const spec = { ...cell, ...how, url: server.url, prefix: server.newPrefix() };
    return [client, await startNative({ kind: 'requests', spec })];
  });
  const opened = await Promise.all(open);
  try {
    const rate = async (native) => cell.operations / (await native.sample(1)).seconds;
    for (const [, native] of opened) await rate(native);
    const own = Object.fromEntries(opened.map(([client, native]) => [client, () => rate(native)]));
    const rates = await ratesInTurn({ [tool.name]: () => tool.rateOf(cell), ...own }, rounds);
    return Object.fromEntries(
      Object.entries(rates).map(([name, each]) => [name, each.map((value) => Number(value.toPrecision(6)))]),
    );
  } finally {
    for (const [, native] of opened) await native.close();
  }
}

async function redisBenchmark({ url }, cells, program) {
  const { port, password } = new URL(url);
  const login = password === '' ? [] : ['-a', decodeURIComponent(password)];
  await setKeys(url, Math.max(...cells.map(({ operations }) => operations)));
  const rateOf = ({ workload, connections, batch: pipeline, operations }) => {
    // Values of 16 bytes, and as many keys as operations, as the family has: few keys would all be in the server's caches.
    const sizes = ['-c', connections, '-P', pipeline, '-d', 16, '-r', operations, '-n', operations].map(String);
    const output = outputOf(program, ['-p', port, ...login, ...sizes, '-t', workload, '--csv']);
    // The output's last line, such as "GET","95238.10",...
    return Number(output.trim().split('\n').at(-1).split(',')[1].replaceAll('"', ''));
  };
  return { name: 'redis-benchmark', version: versionLine(program), rateOf };
}

/** Sets the keys that redis-benchmark asks for: a GET of a missing key has a shorter answer. */
async function setKeys(url, count) {
  const client = await KvClient.connect(url);
  try {
    for (let start = 0; start < count; start += KEYS_AT_ONCE) {
      const numbers = Array.from({ length: Math.min(KEYS_AT_ONCE, count - start) }, (_, index) => start + index);
      await client.mset(
        numbers.map((number) => {
          const digits = String(number);
          return [`key:${digits.padStart(12, '0')}`, digits.padStart(16, '0')];
        }),
      );
    }
  } finally {
    await client.close();
  }
}

function sysbench({ url }, cells, program, mariadb) {
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
  const work = (connections, events, command) => {
    const load = [`--threads=${connections}`, `--events=${events}`, '--time=0', command];
    return outputOf(program, ['oltp_point_select', '--db-driver=mysql', ...login, ...table, ...load]);
  };
  work(1, 1, 'prepare');
  const rateOf = ({ connections, operations }) =>
    Number(/queries:\s+\d+\s+\(([\d.]+) per sec/.exec(work(connections, operations, 'run'))?.[1]);
  return { name: 'sysbench', version: versionLine(program), rateOf };
}

function wrk({ url }, cells, program) {
  const input = new RestInput('pkread');
  const script = join(temporaryFolder(), 'pkread.lua');
  const request = `wrk.method = "POST"\nwrk.body = ${JSON.stringify(input.read(7))}\n`;
  writeFileSync(script, `${request}wrk.headers["content-type"] = "application/json"\n`);
  const rateOf = ({ connections }) => {
    const load = ['-t1', `-c${connections}`, `-d${SECONDS}s`, '-s', script, `${url}${input.path}`];
    const output = outputOf(program, load);
    if (/Non-2xx/.test(output)) throw new Error(output);
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)[1]);
  };
  return { name: 'wrk', version: versionLine(program), rateOf };
}
