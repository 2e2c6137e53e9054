// Checks if the Rust side of the family rest is a fair ceiling: our client next to wrk, with the same connections and the same
// pk-read, on one private server. Prints requests per second, the median of the rounds, and the ratio to wrk. Needs wrk on the
// PATH, and after --with the paths of other programs that take the arguments of native/clients/http/examples/speed.rs.
//
//   node bench/lab/rest-ceiling.mjs [ROUNDS] [SECONDS] [--with PROGRAM...]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { openTarget } from '../../dist/families/requests/target-server.js';
import { RestInput } from '../../dist/families/rest/data.js';

const CONNECTIONS = [1, 8, 32];

const [rounds = 3, seconds = 2] = process.argv.slice(2).map(Number).filter(Number.isInteger);
const others = process.argv.includes('--with') ? process.argv.slice(process.argv.indexOf('--with') + 1) : [];
run('cargo', ['build', '--release', '--locked', '-p', 'boundary-bench-http', '--example', 'speed'], 'inherit');
const metadata = JSON.parse(run('cargo', ['metadata', '--no-deps', '--format-version', '1']));
const speed = join(metadata.target_directory, 'release', 'examples', 'speed');

const input = new RestInput('pkread');
const body = input.read(7);
const folder = mkdtempSync(join(tmpdir(), 'rest-ceiling-'));
const script = join(folder, 'pkread.lua');
writeFileSync(
  script,
  `wrk.method = "POST"\nwrk.body = ${JSON.stringify(body)}\nwrk.headers["content-type"] = "application/json"\n`,
);
const server = await openTarget('rest', {});
try {
  const names = ['wrk', 'ours', ...others.map((program) => basename(program))];
  console.log(
    `| Connections | ${names.join(' | ')} | ${names
      .slice(1)
      .map((name) => `${name} / wrk`)
      .join(' | ')} |`,
  );
  console.log(`| ${Array.from({ length: names.length * 2 }, () => '---:').join(' | ')} |`);
  for (const connections of CONNECTIONS) compare(connections);
} finally {
  await server.close();
  rmSync(folder, { recursive: true });
}

function compare(connections) {
  const programs = [speed, ...others];
  const sides = [() => wrk(connections), ...programs.map((program) => () => ours(program, connections))];
  const rates = sides.map(() => []);
  // In alternating order, so that a machine that slows down favours none.
  for (let round = 0; round < rounds; round += 1) {
    const order = [...sides.keys()];
    if (round % 2 === 1) order.reverse();
    for (const side of order) rates[side].push(sides[side]());
  }
  const [theirs, ...own] = rates.map(median);
  const shown = [theirs, ...own].map((rate) => Math.round(rate).toLocaleString('en-US'));
  const ratios = own.map((rate) => `${(rate / theirs).toFixed(2)}×`);
  console.log(`| ${[connections, ...shown, ...ratios].join(' | ')} |`);
}

function wrk(connections) {
  const output = run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, `${server.url}${input.path}`]);
  if (/Non-2xx/.test(output)) throw new Error(output);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)[1]);
}

function ours(program, connections) {
  return Number(run(program, [server.url, connections, seconds, input.path, body].map(String)));
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

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
