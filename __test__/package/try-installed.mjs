// Packs the package and the binaries of this platform, installs them in an empty project on a machine without Rust, and uses them there as
// others do. With the addon alone: `import`, `require`, own code, and programs in TypeScript without `@types/node`. With what only measuring
// needs: `npx boundary-bench`, a server, and the walks of new users.
import { execFileSync, execSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { isRequired } from '../needs.mjs';
import { WALKS, commandsOf, folderOf, follow } from './walks.mjs';

/**
 * The most MiB of a packed package, of the packed package with what measuring needs, and of the dependencies of an application: of the
 * profile that is published, and of the others, which optimize less across crates.
 */
const MOST_AS_PUBLISHED = { addon: 10, measuring: 26, installed: 110 };
const MOST_OTHERWISE = { addon: 12, measuring: 35, installed: 120 };

const IS_WINDOWS = process.platform === 'win32';

/** All that is found in the PATH of the project's machine; on Windows, whose programs need more around them, all that is there. */
const PROGRAMS = ['node', 'npm', 'npx', 'sh'];

/** The server that one of the walks needs. */
const REDIS = 'redis-server';

/** The options that return the output of a program, and show its errors. */
const PRINTED = { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'inherit'] };

/** The bytes of the tarballs, by their names. */
const sizes = new Map();

const root = path.join(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'boundary-bench-try-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The commands by which README packs and installs. The build that its first line begins with is there. */
const [making, packing, installing] = commandsOf('README.md', 'Until it is on npm');
shell(root, making.split(' && ').at(-1));
for (const place of ['.', ...readdirSync(path.join(root, 'npm')).map((name) => path.join('npm', name))]) {
  run(path.join(root, place), 'npm', 'publish', '--dry-run', '--ignore-scripts');
}
const tarballs = pack();

const bin = path.join(folder, 'bin');
const project = path.join(folder, 'project');
for (const place of [bin, project]) mkdirSync(place);
if (!IS_WINDOWS) {
  for (const name of PROGRAMS) symlinkSync(placeOf(name), path.join(bin, name));
  if (placeOf(REDIS) !== '') symlinkSync(placeOf(REDIS), path.join(bin, REDIS));
}
const env = IS_WINDOWS ? process.env : { ...process.env, PATH: bin };

write('package.json', '{ "private": true }');
install(...tarballs.filter((tarball) => !isForMeasuring(tarball) && !isOfAll(tarball)));
const installed = bytesOf(path.join(project, 'node_modules'));
console.log(`The dependencies of an application have ${(installed / 2 ** 20).toFixed(1)} MiB.`);

const QUERY = `const connection = await connect('embedded:');
  const [row] = await connection.executeQuery('SELECT 41 + 1 AS answer');
  await connection.close();
  if (row.answer !== 42) throw new Error('the answer is ' + row.answer);`;
write('import.mjs', `import { connect } from 'boundary-bench';\n${QUERY}\n`);
write('require.cjs', `const { connect } = require('boundary-bench');\nvoid (async () => {\n${QUERY}\n})();\n`);
for (const file of ['import.mjs', 'require.cjs']) {
  const said = step(file, 'node', file);
  if (said !== '') fail(`${file}: ${said}`);
}
const TYPED = `export async function sum(connection: boundary.Connection, signal: boundary.WorkOptions['signal']): Promise<bigint> {
  let total = 0n;
  for await (const row of connection.executeQueryStream('SELECT a FROM t', { signal })) total += row['a'] as bigint;
  for await (const chunk of connection.executeQueryColumnar('SELECT a FROM t')) total += BigInt(chunk.rowCount);
  return total;
}
export const client: Promise<boundary.KvClient> = boundary.KvClient.connect('redis://localhost');
export const work = bench.defineWorkload({
  family: 'mine', name: 'insert', rows: 10, lanes: [{ lane: 'row', side: 'napi', engine: 'embedded', variant: 'mine' }],
  open: () => ({ expected: { rows: 10, sums: {} }, sample: async (watch) => { watch.start(); watch.stop(); return { rows: 10, sums: {} }; } }),
});
`;
const IMPORTED = `import * as boundary from 'boundary-bench';\nimport * as bench from 'boundary-bench/bench';\n${TYPED}`;
write('module.mts', IMPORTED);
write(
  'common.cts',
  `import boundary = require('boundary-bench');\nimport bench = require('boundary-bench/bench');\n${TYPED}`,
);
write('bundled.ts', IMPORTED);
const strict = [
  '--noEmit',
  '--strict',
  '--types',
  '',
  '--skipLibCheck',
  'false',
  '--target',
  'es2022',
  '--lib',
  'es2022',
];
for (const module of ['node16', 'nodenext']) {
  for (const file of ['module.mts', 'common.cts']) compile(...strict, '--module', module, file);
}
compile(...strict, '--module', 'esnext', '--moduleResolution', 'bundler', 'bundled.ts');
write(
  'engine.mjs',
  "import { connect } from 'boundary-bench';\nawait connect('hyper://127.0.0.1:1').catch(({ code, hint }) => console.log(code, hint));\n",
);
const full = tarballs.filter(isOfAll);
if (full.length === 0) {
  console.log('The addon of this build has all engines: how it does without is not tried. npm run build:publish');
} else {
  const said = engineError();
  if (!/^BB_NOT_INSTALLED .*npm install boundary-bench-all-/.test(said)) {
    fail(`an engine that is not there does not say what to install: ${said}`);
  }
  install(...full);
  if (engineError().startsWith('BB_NOT_INSTALLED')) fail('the addon with all engines is not found');
}
/** Measures little, into the folder that is named next. */
const SMALL = ['--quiet', '--forks', '1', '--samples', '1', '--out'];

write(
  'own.bench.mjs',
  "import { workload } from 'boundary-bench/bench';\nexport default workload('own', { ways: { js: () => [...'text'].length, 'js, length': () => 'text'.length } });\n",
);
step('own code', 'npx', 'boundary-bench', 'run', 'own.bench.mjs', ...SMALL, 'own');
const missing = spawnSync('npx', ['boundary-bench', 'run', '3000', '--quick', '--side', 'rust', ...SMALL, 'none'], {
  cwd: project,
  env,
  encoding: 'utf8',
  shell: needsShell('npx'),
});
if (!/npm install --save-dev\s+boundary-bench-programs-/.test(missing.stdout + missing.stderr)) {
  fail(`a run of Rust without its program does not say what to install: ${missing.stdout}${missing.stderr}`);
}

install(...tarballs.filter(isForMeasuring));
step('npx', 'npx', 'boundary-bench', 'run', '3000', '--quick', ...SMALL, 'run');
const { context, records } = JSON.parse(readFileSync(path.join(project, 'run/run.json'), 'utf8'));
const other = records.filter(({ outcome }) => outcome !== 'completed');
if (records.length === 0 || other.length > 0) fail(`npx: not completed: ${JSON.stringify(other)}`);
if (!records.some(({ side }) => side === 'rust')) fail('npx: Rust was not measured');
const most = context.build.profile === 'dist' ? MOST_AS_PUBLISHED : MOST_OTHERWISE;
requireAtMost('the dependencies of an application', installed, most.installed);
for (const [name, size] of sizes) requireAtMost(name, size, isForMeasuring(name) ? most.measuring : most.addon);
// A workload over the program of the reference servers.
const ingest = ['--family', 'ingest', '--workload', 'soak_columnar', '--side', 'napi', '--rows', '2000'];
step('a server', 'npx', 'boundary-bench', 'run', ...ingest, ...SMALL, 'served');
console.log('The packed package works where there is no Rust.');
if (!IS_WINDOWS) for (const { who, stages } of WALKS) stages.forEach((stage, index) => walk(who, stage, index));

/** Follows a stage of a walk. A stage whose server is not there is skipped by name, unless it is required. */
function walk(who, stage, index) {
  const name = `${who}, ${stage.sections.map((section) => section.join(': ')).join(', ')}`;
  if (stage.need === 'redis' && placeOf(REDIS) === '') {
    if (isRequired(stage.need)) fail(`${name} needs ${REDIS}`);
    console.log(`skipped: ${name} needs ${REDIS}`);
    return;
  }
  const crossing = readdirSync(root).find((file) => /^boundary-bench-crossing\..*\.node$/.test(file));
  const number = `${WALKS.findIndex((each) => each.who === who)}-${index}`;
  const place = folderOf(stage.installs ? folder : project, number, stage, path.join(root, crossing));
  const startedAt = performance.now();
  try {
    if (stage.installs) {
      writeFileSync(path.join(place, 'package.json'), '{ "private": true }');
      const line = installing.replace('/your/project', place).replace('/path/to', folder);
      stepIn(place, line, 'sh', '-c', `export npm_config_prefer_offline=true npm_config_audit=false; ${line}`);
    }
    follow(stage, place, (line) => stepIn(place, line, 'sh', '-c', line));
  } catch (thrown) {
    fail(`${name}: ${thrown.message}`);
  }
  console.log(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
}

/** The path of a program. Empty if there is none. */
function placeOf(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
}

function install(...files) {
  step(
    'an installation',
    'npm',
    'install',
    '--prefer-offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    ...files,
  );
}

/** The code and the advice of the error of an engine whose server is not there. */
function engineError() {
  return step('an engine', 'node', 'engine.mjs');
}

function requireAtMost(what, bytes, mebibytes) {
  if (bytes > mebibytes * 2 ** 20) fail(`${what}: ${bytes} bytes, more than ${mebibytes} MiB`);
}

/** Whether a packed package has what only measuring needs. */
function isForMeasuring(tarball) {
  return path.basename(tarball).startsWith('boundary-bench-programs-');
}

/** Whether a packed package has the addon with all engines. */
function isOfAll(tarball) {
  return path.basename(tarball).startsWith('boundary-bench-all-');
}

/** The bytes of the files of a folder. */
function bytesOf(place) {
  const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0);
}

/** Packs the packages; returns the paths of their tarballs. */
function pack() {
  const printed = shell(root, packing, { npm_config_json: 'true', npm_config_pack_destination: folder });
  // The scripts of the package print before.
  return JSON.parse(printed.slice(printed.indexOf('[\n'))).map(({ filename, entryCount }) => {
    const tarball = path.join(folder, filename);
    const { size } = statSync(tarball);
    console.log(`${filename}: ${(size / 2 ** 20).toFixed(1)} MiB, ${entryCount} files`);
    sizes.set(filename, size);
    return tarball;
  });
}

function compile(...words) {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const tsc = path.join(path.dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc);
  step(`tsc ${words.slice(strict.length).join(' ')}`, 'node', tsc, ...words);
}

/** Runs a program in the project; returns what it printed. */
function step(name, program, ...words) {
  return stepIn(project, name, program, ...words);
}

/** The same in another folder. */
function stepIn(cwd, name, program, ...words) {
  const options = { cwd, env, encoding: 'utf8', shell: needsShell(program) };
  const { status, stdout, stderr, error } = spawnSync(program, words, options);
  if (status !== 0) fail(`${name}: exit code ${status}\n${error?.message ?? ''}${stdout}${stderr}`);
  return program === 'node' ? stdout + stderr : stdout;
}

/** Runs a line of a shell; returns what it printed. */
function shell(cwd, line, variables = {}) {
  return execSync(line, { cwd, env: { ...process.env, ...variables }, ...PRINTED });
}

function run(cwd, program, ...words) {
  return execFileSync(program, words, { cwd, ...PRINTED, shell: needsShell(program) });
}

/** Whether a program is a script that only the shell of Windows runs. */
function needsShell(program) {
  return IS_WINDOWS && (program === 'npm' || program === 'npx');
}

function write(name, text) {
  writeFileSync(path.join(project, name), text);
}

function fail(problem) {
  console.error(`The packed package does not work: ${problem}`);
  process.exit(1);
}
