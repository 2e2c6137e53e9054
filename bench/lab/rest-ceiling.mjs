// Checks if the Rust side of the family rest is a fair ceiling: our client next to wrk, with the same connections and the same
// pk-read, on one private server. Prints requests per second, the median of the rounds, and the ratio to wrk. Needs wrk on the
// PATH, and after --with the paths of other programs that take the arguments of native/clients/http/examples/speed.rs.
//
//   node bench/lab/rest-ceiling.mjs [ROUNDS] [SECONDS] [--with PROGRAM...]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { openTarget } from '../../dist/families/requests/target-server.js';
import { RestInput } from '../../dist/families/rest/data.js';
import { mediansInTurn, shownRate, shownRatio } from './in-turn.mjs';
import { builtExample, findProgram, outputOf } from './programs.mjs';

const CONNECTIONS = [1, 8, 32];

const [rounds = 3, seconds = 2] = process.argv.slice(2).map(Number).filter(Number.isInteger);
const others = process.argv.includes('--with') ? process.argv.slice(process.argv.indexOf('--with') + 1) : [];
const wrkPath = findProgram(['wrk'], 'wrk');
const speed = builtExample('boundary-bench-http', 'speed');

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
  for (const connections of CONNECTIONS) await compare(connections);
} finally {
  await server.close();
  rmSync(folder, { recursive: true });
}

async function compare(connections) {
  const programs = [speed, ...others].map((program, at) => [`${at} ${program}`, () => ours(program, connections)]);
  const rates = await mediansInTurn({ wrk: () => wrk(connections), ...Object.fromEntries(programs) }, rounds);
  const [theirs, ...own] = Object.values(rates);
  const cells = [connections, ...Object.values(rates).map(shownRate), ...own.map((rate) => shownRatio(rate, theirs))];
  console.log(`| ${cells.join(' | ')} |`);
}

function wrk(connections) {
  const output = outputOf(wrkPath, [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '-s',
    script,
    `${server.url}${input.path}`,
  ]);
  if (/Non-2xx/.test(output)) throw new Error(output);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)[1]);
}

function ours(program, connections) {
  return Number(outputOf(program, [server.url, connections, seconds, input.path, body].map(String)));
}
