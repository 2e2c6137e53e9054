import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { isLeftOut, lacks, lacksForFile, type Need } from './needs.js';
import { needs } from './needs.mjs';
import { countsOfCargo, failuresOfCargo, passedTests, report, skippedTests } from './test-report.mjs';
import type { VitestResult } from './vitest-reporter.js';
import { folderOfTest } from './temporary-folder.js';

const fixture = join(import.meta.dirname, 'fixtures/vitest');
let folder: string;
let list: string;

beforeEach(() => {
  folder = folderOfTest();
  list = join(folder, 'skipped');
  vi.stubEnv('BOUNDARY_BENCH_SKIPPED', list);
  vi.stubEnv('BOUNDARY_BENCH_REQUIRE', '');
  vi.stubEnv('HYPERD_PATH', '/no/such/hyperd');
});
afterEach(() => void vi.unstubAllEnvs());

describe('a need that is not there', () => {
  const why = 'HYPERD_PATH is /no/such/hyperd, but there is no hyperd';

  it.each(['', 'redis', 'redis, mysql,'])('leaves tests out, which is said and written down: %o', (required) => {
    vi.stubEnv('BOUNDARY_BENCH_REQUIRE', required);
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(lacks('hyperd')).toBe(true);
    expect(said).toHaveBeenCalledExactlyOnceWith(`SKIPPED: tests of ${import.meta.filename} (hyperd): ${why}\n`);
    expect(JSON.parse(readFileSync(list, 'utf8'))).toEqual({ need: 'hyperd', why, file: import.meta.filename });
  });

  it.each(['hyperd', 'redis, hyperd'])('fails if it is required: %o', (required) => {
    vi.stubEnv('BOUNDARY_BENCH_REQUIRE', required);
    expect(() => lacks('hyperd')).toThrow(`${why}\nget it by: node dist/cli/main.js setup hyperd`);
    expect(existsSync(list)).toBe(false);
  });
});

it('leaves nothing out that is there', () => {
  vi.stubEnv('HYPERD_PATH', process.execPath);
  for (const required of ['', 'hyperd', 'redis']) {
    vi.stubEnv('BOUNDARY_BENCH_REQUIRE', required);
    expect(lacks('hyperd')).toBe(false);
  }
  expect(isLeftOut('bun', null)).toBe(false);
  expect(existsSync(list)).toBe(false);
});

it('refuses words that nobody knows, whether or not anything is missing', () => {
  vi.stubEnv('BOUNDARY_BENCH_REQUIRE', 'redis,hyprd');
  const unknown = /names hyprd, which is none of bun, chromium, deno, git, hyperd, mysql/;
  expect(() => isLeftOut('bun', undefined)).toThrow(unknown);
  expect(() => lacks('hyperd')).toThrow(unknown);
  vi.stubEnv('BOUNDARY_BENCH_REQUIRE', '');
  expect(() => isLeftOut('hyprd' as Need, 'no')).toThrow('hyprd is no word');
});

it('says of each need what it is and the command that gets it', () => {
  for (const [word, { what, get, testAll }] of Object.entries(needs)) {
    expect([word, typeof what, typeof get, typeof testAll]).toEqual([word, 'string', 'string', 'boolean']);
  }
});

describe('what runs the tests', () => {
  it('refuses unknown words before it runs any', () => {
    const script = join(import.meta.dirname, 'run-tests.mjs');
    const env = { ...process.env, BOUNDARY_BENCH_REQUIRE: 'hyprd' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('names hyprd');
  });
});

describe('the last lines of a run', () => {
  const list = [
    { need: 'redis', why: 'no redis-server', crate: 'a', rust: 'one' },
    { need: 'redis', why: 'no redis-server', crate: 'b', rust: 'one' },
    { need: 'redis', why: 'no redis-server', file: '/kv.test.ts' },
    { need: 'hyperd', why: 'no hyperd', file: '/kv.test.ts' },
    { need: 'hyperd', why: 'no hyperd', file: '/kv.test.ts' },
  ];

  it('say what was not tested and how to get it, what failed, then how many tests there were', () => {
    const text = list.map((test) => `${JSON.stringify(test)}\n`).join('');
    const lines = Array.from({ length: 17 }, (_, line) => `line ${line}`).join('\n');
    const failures = [
      { test: 'short', why: '\nno\n' },
      { test: 'long', why: lines },
    ];
    expect(report(skippedTests(text), failures, { passed: 7, failed: 1, skipped: 5 })).toMatchInlineSnapshot(`
      "NOT TESTED: Tableau's hyperd (hyperd): tests of 1 file in TypeScript: no hyperd
        get it by: node dist/cli/main.js setup hyperd
      NOT TESTED: a Redis or Valkey server (redis): 2 tests in Rust, tests of 1 file in TypeScript: no redis-server
        get it by: apt-get install redis-server
      FAILED: short
        no
      FAILED: long
        line 0
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        line 8
        line 9
        line 10
        line 11
        line 12
        line 13
        line 14
        (2 more lines are above)
      7 passed, 1 failed, 5 skipped"
    `);
    expect(report([], [], { passed: 7, failed: 0, skipped: 0 })).toBe('7 passed, 0 failed, 0 skipped');
  });

  it('are made of what cargo prints', () => {
    const cargo = `running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
error: test failed

failures:

---- a::b stdout ----

thread 'a::b' panicked at a.rs:1:2:
not equal

---- c stdout ----

Error: "no"


failures:
    a::b
    c

test result: FAILED. 40 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.00s`;
    expect(countsOfCargo(cargo)).toEqual({ passed: 42, failed: 3, skipped: 0 });
    expect(failuresOfCargo(cargo)).toEqual([
      { test: 'a::b', why: "\nthread 'a::b' panicked at a.rs:1:2:\nnot equal\n" },
      { test: 'c', why: '\nError: "no"\n' },
    ]);
  });

  it('are made of what vitest says of tests, hooks, files and unhandled errors', () => {
    const { counts, failures, tests } = runFixture('failures.mjs', 'not-loaded.mjs');
    expect(counts).toEqual({ passed: 2, failed: 5, skipped: 2 });
    const told = failures.map(({ test, why }) => [test.replace(`${fixture}/`, ''), why.split('\n')[0]]);
    expect(new Set(told.map((line) => line.join(': ')))).toEqual(
      new Set([
        'failures.mjs: a suite: Error: no server',
        'failures.mjs: fails: AssertionError: not equal',
        'failures.mjs: fails once: AssertionError: expected 2 to be 1 // Object.is equality',
        'not-loaded.mjs: Error: no such engine',
        'vitest, outside of a test: Error: nobody waits',
      ]),
    );
    expect(tests.find(({ file }) => file === join(fixture, 'failures.mjs'))?.passed).toEqual(['passes']);
  });
});

describe('a run of what an earlier one skipped', () => {
  it('knows the tests that passed, but not of files that a need changes', () => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    lacksForFile('hyperd');
    const other = { need: 'redis', why: 'no redis-server', file: '/kv.test.ts' };
    const tests = [import.meta.filename, '/kv.test.ts'].map((file) => ({ file, passed: ['a > b'] }));
    const text = [readFileSync(list, 'utf8').trim(), ...[other, ...tests].map((line) => JSON.stringify(line))].join(
      '\n',
    );
    expect(passedTests(text)).toEqual({ '/kv.test.ts': ['a > b'] });
    expect(skippedTests(text).map(({ need }) => need)).toEqual(['hyperd', 'redis']);
  });

  it('leaves out the tests that passed, with the hooks of their suites', () => {
    const names = ['passed', 'all passed > 1', 'all passed > 2', 'some passed > passed'];
    vi.stubEnv('BOUNDARY_BENCH_PASSED', list);
    writeFileSync(list, JSON.stringify({ [join(fixture, 'passed-before.mjs')]: names }));
    expect(runFixture('passed-before.mjs').counts).toEqual({ passed: 1, failed: 0, skipped: 0 });
  });
});

/** The result of vitest for these files of the fixture. */
function runFixture(...files: readonly string[]): VitestResult {
  const result = join(folder, 'result.json');
  const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
  const reporter = `--reporter=${join(import.meta.dirname, 'vitest-reporter.ts')}`;
  const words = [vitest, 'run', '--config', join(fixture, 'vitest.config.mjs'), reporter, ...files];
  spawnSync(process.execPath, words, { env: { ...process.env, BOUNDARY_BENCH_RESULT: result } });
  return JSON.parse(readFileSync(result, 'utf8')) as VitestResult;
}
