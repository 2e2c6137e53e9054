import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { isLeftOut, lacks, lacksForFile, type Need } from './needs.js';
import { needs } from './needs.mjs';
import { countsOfCargo, countsOfVitest, passedOfVitest, passedTests, report, skippedTests } from './test-report.mjs';

let folder: string;
let list: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'boundary-bench-needs-'));
  list = join(folder, 'skipped');
  vi.stubEnv('BOUNDARY_BENCH_SKIPPED', list);
  vi.stubEnv('BOUNDARY_BENCH_REQUIRE', '');
  vi.stubEnv('HYPERD_PATH', '/no/such/hyperd');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

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

  it('say what was not tested and how to get it, then how many tests there were', () => {
    const text = list.map((test) => `${JSON.stringify(test)}\n`).join('');
    expect(report(skippedTests(text), { passed: 7, failed: 1, skipped: 5 })).toMatchInlineSnapshot(`
      "NOT TESTED: Tableau's hyperd (hyperd): tests of 1 file in TypeScript: no hyperd
        get it by: node dist/cli/main.js setup hyperd
      NOT TESTED: a Redis or Valkey server (redis): 2 tests in Rust, tests of 1 file in TypeScript: no redis-server
        get it by: apt-get install redis-server
      7 passed, 1 failed, 5 skipped"
    `);
    expect(report([], { passed: 7, failed: 0, skipped: 0 })).toBe('7 passed, 0 failed, 0 skipped');
  });

  it('count what cargo and vitest tell', () => {
    const cargo = `running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
error: test failed
test result: FAILED. 40 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.00s`;
    expect(countsOfCargo(cargo)).toEqual({ passed: 42, failed: 3, skipped: 0 });
    const testResults = [
      { name: '/a', status: 'failed', assertionResults: [{ fullName: 'one', status: 'failed' }] },
      { name: '/b', status: 'failed', assertionResults: [] },
      { name: '/c', status: 'passed', assertionResults: [] },
    ];
    const vitest = { numPassedTests: 5, numFailedTests: 1, numPendingTests: 3, numTodoTests: 1, testResults };
    expect(countsOfVitest(vitest)).toEqual({ passed: 5, failed: 2, skipped: 4 });
  });
});

describe('a run of what an earlier one skipped', () => {
  it('knows the tests that passed, but not of files that a need changes', () => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    lacksForFile('hyperd');
    const other = { need: 'redis', why: 'no redis-server', file: '/kv.test.ts' };
    const test = (fullName: string, status: string): { fullName: string; status: string } => ({ fullName, status });
    const tests = passedOfVitest({
      testResults: [import.meta.filename, '/kv.test.ts'].map((name) => ({
        name,
        status: 'passed',
        assertionResults: [test('a b', 'passed'), test('a c', 'skipped'), test('d', 'passed'), test('d', 'skipped')],
      })),
    });
    const text = [readFileSync(list, 'utf8').trim(), ...[other, ...tests].map((line) => JSON.stringify(line))].join(
      '\n',
    );
    expect(passedTests(text)).toEqual({ '/kv.test.ts': ['a b'] });
    expect(skippedTests(text).map(({ need }) => need)).toEqual(['hyperd', 'redis']);
  });

  it('leaves out the tests that passed, with the hooks of their suites', () => {
    const fixture = join(import.meta.dirname, 'fixtures/passed-before');
    const passed = { [join(fixture, 'example.mjs')]: ['passed', 'all passed 1', 'all passed 2', 'some passed passed'] };
    writeFileSync(list, JSON.stringify(passed));
    const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
    const words = [vitest, 'run', '--config', join(fixture, 'vitest.config.mjs'), '--reporter=json'];
    const { stdout } = spawnSync(process.execPath, words, {
      encoding: 'utf8',
      env: { ...process.env, BOUNDARY_BENCH_PASSED: list },
    });
    const { numTotalTests, numPassedTests, numFailedTests } = JSON.parse(stdout) as Record<string, number>;
    expect([numTotalTests, numPassedTests, numFailedTests]).toEqual([5, 1, 0]);
  });
});
