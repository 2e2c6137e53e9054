// Runs the tests in Rust and in TypeScript, and reports at the end what was not tested and how many passed. Tests in Rust wait more than they
// compute, so both languages are tested at the same time; then what cargo prints is shown after its end.
//
//   node __test__/run-tests.mjs [rust | node] [--all] [--skipped-in FILE] [arguments of cargo or vitest]
//
// --all: requires every need that a command can get, and gets hyperd, Sail and Python's packages itself.
// --skipped-in: runs only the tests that an earlier run skipped, by the file that BOUNDARY_BENCH_SKIPPED named then, and the files in which
//   a need changes what all tests expect.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { needs, requiredNeeds } from './needs.mjs';
import { countsOfCargo, failuresOfCargo, passedTests, report, skippedTests } from './test-report.mjs';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-tests-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** No examples and no doc tests: lint compiles the examples, and no crate has tests in its documentation. */
const CARGO_TEST = [
  'test',
  '--workspace',
  ...['boundary-bench-addon', 'boundary-bench-crossing'].flatMap((name) => ['--exclude', name]),
  '--locked',
  '--no-fail-fast',
  '--lib',
  '--bins',
  '--tests',
];

/** The result of tests of which there are none. */
const NOTHING = { status: 0, printed: '', counts: { passed: 0, failed: 0, skipped: 0 }, failures: [] };

const words = process.argv.slice(2);
const only = ['rust', 'node'].includes(words[0]) ? words.shift() : undefined;
const all = takeFlag('--all');
const skippedBefore = takeValue('--skipped-in');

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function main() {
  const required = new Set(requiredNeeds());
  const text = skippedBefore === undefined ? undefined : readFileSync(skippedBefore, 'utf8');
  const before = text === undefined ? undefined : skippedTests(text);
  const passed = passedTests(text ?? '');
  if (text !== undefined) {
    process.env.BOUNDARY_BENCH_PASSED = join(folder, 'passed.json');
    writeFileSync(process.env.BOUNDARY_BENCH_PASSED, JSON.stringify(passed));
  }
  const list = process.env.BOUNDARY_BENCH_SKIPPED || join(folder, 'skipped');
  writeFileSync(list, '');
  process.env.BOUNDARY_BENCH_SKIPPED = list;
  if (all) {
    for (const [word, { testAll }] of Object.entries(needs)) if (testAll) required.add(word);
    process.env.BOUNDARY_BENCH_REQUIRE = [...required].join(',');
    if (!(await getAll())) return 1;
  }
  const rust = before?.filter((test) => 'rust' in test);
  const files = before && [...new Set(before.flatMap(({ file }) => file ?? []))];
  const runs = [];
  if (only === 'rust') {
    runs.push(await runCargo(rust));
  } else if (only === 'node') {
    runs.push(await runVitest(files));
  } else {
    // Compiling needs all cores.
    if (rust?.length !== 0) await run('cargo', [...CARGO_TEST, '--no-run']);
    const [cargo, node] = await Promise.all([
      runCargo(rust, true),
      runVitest(files, '--project=beside', '--passWithNoTests'),
    ]);
    process.stdout.write(cargo.printed);
    runs.push(cargo, node, await runVitest(files, '--project=alone', '--passWithNoTests'));
  }
  const skipped = skippedTests(readFileSync(list, 'utf8'));
  const partly = new Set(skipped.map(({ file }) => file));
  for (const tests of runs.flatMap(({ tests }) => tests ?? [])) {
    if (partly.has(tests.file)) appendFileSync(list, `${JSON.stringify(tests)}\n`);
  }
  const sum = (name) => runs.reduce((total, { counts }) => total + counts[name], 0);
  // For cargo, a test in Rust that ends early because its need is missing has passed.
  const ended = new Set(skipped.filter((test) => 'rust' in test).map((test) => `${test.crate} ${test.rust}`)).size;
  const again = Object.values(passed).flat().length;
  const counts = { passed: sum('passed') - ended, failed: sum('failed'), skipped: sum('skipped') + ended };
  if (again > 0) process.stdout.write(`\n${again} tests passed in the earlier run, and did not run again.\n`);
  process.stdout.write(
    `\n${report(
      skipped,
      runs.flatMap(({ failures }) => failures),
      counts,
    )}\n`,
  );
  return runs.every(({ status }) => status === 0) ? 0 : 1;
}

/** Gets the needs that can be had without root, then checks that all required needs are met. */
async function getAll() {
  const { findHyperd } = await import('../dist/host/hyperd.js');
  const { findSail } = await import('../dist/host/sail.js');
  // If the setup fails, the test below reports the missing need after the setup's own message.
  if ('missing' in findHyperd()) await run(process.execPath, [join(root, 'dist/cli/main.js'), 'setup', 'hyperd']);
  if ('missing' in findSail()) await run(process.execPath, [join(root, 'dist/cli/main.js'), 'setup', 'sail']);
  const { status } = await run(process.execPath, [vitest(), 'run', '__test__/required-needs.test.ts']);
  return status === 0;
}

/** Runs the tests in Rust. `before`: the tests of an earlier run that are to be run again; `isHeld`: prints nothing yet. */
async function runCargo(before, isHeld = false) {
  if (before?.length === 0) return NOTHING;
  const names = new Set(before?.map(({ rust }) => rust));
  // If tests run one after the other, their thread is the main thread, so their names are unknown.
  const exact = names.size === 0 || names.has('main') ? [] : ['--', '--exact', ...names];
  const told = only === 'rust' ? words : [];
  const { status, printed } = await run('cargo', [...CARGO_TEST, ...told, ...exact], true, isHeld);
  return {
    printed,
    ...result('cargo', status, { counts: countsOfCargo(printed), failures: failuresOfCargo(printed) }),
  };
}

/** Runs the tests in TypeScript. `files`: the files of an earlier run that are to be run again. */
async function runVitest(files, ...more) {
  if (files?.length === 0) return NOTHING;
  const file = join(folder, 'result.json');
  rmSync(file, { force: true });
  process.env.BOUNDARY_BENCH_RESULT = file;
  const given = only === 'node' ? words : [];
  const reporters = ['--reporter=default', `--reporter=${join(import.meta.dirname, 'vitest-reporter.ts')}`];
  const { status } = await run(process.execPath, [vitest(), 'run', ...reporters, ...more, ...given, ...(files ?? [])]);
  return result('vitest', status, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : NOTHING);
}

/** The result of a program that runs tests. A failure outside of a test, such as a compiler error, is one failed test. */
function result(program, status, told) {
  if (status === 0 || told.counts.failed > 0) return { ...told, status };
  const failure = {
    test: `${program} ended with status ${status}, outside of a test`,
    why: 'its own message is above',
  };
  return { ...told, status, counts: { ...told.counts, failed: 1 }, failures: [failure] };
}

function vitest() {
  return join(root, 'node_modules/vitest/vitest.mjs');
}

/** Runs a program to its end. `isPiped`: its standard output is returned, and printed too. `isHeld`: all output is returned, and not printed. */
function run(program, args, isPiped = false, isHeld = false) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ['inherit', isPiped ? 'pipe' : 'inherit', isHeld ? 'pipe' : 'inherit'],
    });
    let printed = '';
    for (const name of ['stdout', 'stderr']) {
      let rest = '';
      child[name]?.setEncoding('utf8').on('data', (text) => {
        // Each line stays whole, since the lines of cargo's results are counted.
        rest += text;
        const end = rest.lastIndexOf('\n') + 1;
        printed += rest.slice(0, end);
        rest = rest.slice(end);
        if (!isHeld) process[name].write(text);
      });
      child[name]?.on('end', () => {
        printed += rest;
      });
    }
    child.on('error', reject).on('close', (status) => resolve({ status: status ?? 1, printed }));
  });
}

function takeFlag(name) {
  const at = words.indexOf(name);
  if (at < 0) return false;
  words.splice(at, 1);
  return true;
}

function takeValue(name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}
