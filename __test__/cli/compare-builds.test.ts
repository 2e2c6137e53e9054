import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import type { Run } from '../../src/records/record.js';
import { SMALL_ADDON_WORKLOAD, buildSmallAddon } from '../fixtures/small-addon.mjs';
import { lacks } from '../needs.js';
import { builtMain, type Ended, spawnCli } from './spawn-cli.js';
import { folderOfSuite } from '../temporary-folder.js';

const BENCH = new URL('../../dist/bench.js', import.meta.url).href;

const folder = folderOfSuite();
const pathOf = (name: string): string => join(folder, name);
const action = readFileSync(new URL('../../action.yml', import.meta.url), 'utf8');

beforeAll(() => {
  buildSmallAddon(pathOf('old.node'), 1);
  buildSmallAddon(pathOf('same.node'), 1);
  buildSmallAddon(pathOf('doubled.node'), 2);
  buildSmallAddon(pathOf('wrong.node'), 0);
  writeFileSync(pathOf('work.bench.mjs'), SMALL_ADDON_WORKLOAD);
});

describe.skipIf(process.platform === 'win32' || lacks('git'))('two commits of an addon', () => {
  const repository = pathOf('repository');
  const git = (...words: string[]): string =>
    execFileSync('git', ['-C', repository, '-c', 'user.name=Someone', '-c', 'user.email=nobody@localhost', ...words], {
      encoding: 'utf8',
    });
  /** Builds the addon, which is ignored by git, as often as a file that is not says. */
  const BUILD = `cc -O2 -shared -fPIC -DTIMES=$(cat times) ${process.platform === 'darwin' ? '-undefined dynamic_lookup' : ''} -o addon.node addon.c`;
  const compare = (range: string, words: readonly string[], file = 'work.bench.mjs'): Promise<Ended> =>
    spawnCli(['compare', '--git', range, '--decide-within', '20', '--json', file, ...words], {
      cwd: repository,
      script: builtMain,
    });

  beforeAll(() => {
    mkdirSync(repository);
    const write = (name: string, text: string): void => writeFileSync(join(repository, name), text);
    git('init', '--quiet', '--initial-branch', 'main');
    write('addon.c', readFileSync(new URL('../fixtures/small-addon.c', import.meta.url), 'utf8'));
    write('.gitignore', '*.node\n');
    write('times', '1');
    write('work.bench.mjs', SMALL_ADDON_WORKLOAD.replace('old.node', 'addon.node'));
    git('add', '.');
    git('commit', '--quiet', '-m', 'once');
    write('times', '2');
    git('commit', '--quiet', '-am', 'twice');
  });

  it('are built in checkouts of their own, which are removed again, and measured in turns', async () => {
    const { exitCode, stdout, stderr } = await compare('HEAD~1..HEAD', ['--build', BUILD]);
    expect(stderr).toContain('Building HEAD~1: cc');
    const pairs = JSON.parse(stdout) as { after: { id: string }; regressed: boolean }[];
    expect(pairs.map(({ after, regressed }) => [after.id, regressed])).toEqual([
      ['work/js/new', false],
      ['work/napi/new', true],
    ]);
    expect(exitCode).toBe(1);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });

  it('are measured by a file that is not committed, too, which loads the addon of its tree', async () => {
    execFileSync('sh', ['-c', BUILD], { cwd: repository });
    const text = readFileSync(join(repository, 'work.bench.mjs'), 'utf8');
    writeFileSync(join(repository, 'new.bench.mjs'), text.replace("workload('work'", "workload('newer'"));
    const { stdout } = await compare('HEAD~1..', ['--build', BUILD], 'new.bench.mjs');
    const pairs = JSON.parse(stdout) as { after: { id: string }; regressed: boolean }[];
    expect(pairs.map(({ after, regressed }) => [after.id, regressed])).toEqual([
      ['newer/js/new', false],
      ['newer/napi/new', true],
    ]);
  });

  it.each([
    [2, 'names no two commits', 'HEAD', []],
    [2, 'git worktree failed: ', 'nothing..HEAD', []],
    [1, 'the build of HEAD~1 ended with 3: exit 3', 'HEAD~1..HEAD', ['--build', 'exit 3']],
    [1, 'the build of HEAD~1 leaves no .node file', 'HEAD~1..HEAD', ['--build', 'true']],
    [1, 'several .node files: a.node, b.node', 'HEAD~1..HEAD', ['--build', 'touch a.node b.node']],
    [1, 'leaves no build/x.node', 'HEAD~1..HEAD', ['--build', 'true', '--addon', 'build/x.node']],
  ])('end with %i and say what is wrong: %s', async (code, message, range, words) => {
    const { exitCode, stderr } = await compare(range, words);
    expect(stderr).toContain(message);
    expect(exitCode).toBe(code);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });

  it('are compared by the action for GitHub, which leaves a table', () => {
    const clone = pathOf('clone');
    // Nothing is built there.
    execFileSync('git', ['clone', '--quiet', repository, clone]);
    mkdirSync(pathOf('bin'));
    writeFileSync(pathOf('bin/npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${builtMain}' "$@"\n`, {
      mode: 0o755,
    });
    const script = /run: \|\n([\s\S]*?)\n    - if:/.exec(action)![1]!.replaceAll(/^ {8}/gm, '');
    const result = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', script], {
      cwd: clone,
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${pathOf('bin')}:${process.env['PATH']}`,
        RUNNER_TEMP: pathOf('.'),
        GITHUB_OUTPUT: pathOf('output'),
        GITHUB_STEP_SUMMARY: pathOf('summary'),
        FILES: 'work.bench.mjs',
        BUILD,
        ADDON: 'addon.node',
        BASE: git('rev-parse', 'HEAD~1').trim(),
        THRESHOLD: '0.05',
        DECIDE_WITHIN: '60',
        STRICT: 'true',
      },
    });
    expect([result.status, result.stderr]).toEqual([1, expect.stringContaining('Building HEAD')]);
    const table = readFileSync(pathOf('boundary-bench.md'), 'utf8');
    expect(table).toMatch(/^<!-- boundary-bench -->\n## Boundary Bench\n\n1 of 1 ways slower by more than 5\.0%\./);
    expect(table.split('<details>').map((part) => part.includes('| work/napi |'))).toEqual([true, false]);
    expect(readFileSync(pathOf('summary'), 'utf8')).toBe(table);
    expect(readFileSync(pathOf('output'), 'utf8')).toBe(`table=${pathOf('boundary-bench.md')}\n`);
  });

  it.each([
    ['made if there is none', '', '--method POST repos/o/r/issues/7/comments'],
    ['found by its marker', 'https://api/comments/2', '--method PATCH https://api/comments/2'],
  ])('have a comment of the action, %s', (_, found, expected) => {
    const bin = mkdtempSync(pathOf('gh-'));
    const answers = `#!/bin/sh\ncase "$*" in *startswith*) echo '${found}';; *) echo "$*" > '${join(bin, 'asked')}';; esac\n`;
    writeFileSync(join(bin, 'gh'), answers, { mode: 0o755 });
    writeFileSync(join(bin, 'table'), '<!-- boundary-bench -->\n');
    const script = /- if: >-[\s\S]*run: \|\n([\s\S]*)$/.exec(action)![1]!.replaceAll(/^ {8}/gm, '');
    const env = {
      ...process.env,
      PATH: `${bin}:${process.env['PATH']}`,
      RUNNER_TEMP: bin,
      COMMENTS: 'repos/o/r/issues/7/comments',
      TABLE: join(bin, 'table'),
    };
    const { status, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', script], { encoding: 'utf8', env });
    expect([status, stderr]).toEqual([0, '']);
    expect(readFileSync(join(bin, 'answer.json'), 'utf8')).toBe('');
    expect(readFileSync(join(bin, 'asked'), 'utf8')).toBe(`api ${expected} --field body=@${join(bin, 'table')}\n`);
  });
});

describe.skipIf(process.platform === 'win32')('two builds of an addon', () => {
  const cli = (...words: string[]): Promise<Ended> => spawnCli(words, { cwd: folder, script: builtMain });
  const compare = (name: string): Promise<Ended> =>
    cli('compare', '--builds', 'old.node', name, 'work.bench.mjs', '--decide-within', '20', '--json');

  interface Pair {
    readonly after: { readonly id: string };
    readonly ratio: number;
    readonly regressed: boolean;
    readonly isControl: boolean;
  }

  it('that differ are found, and an unchanged control does not', async () => {
    const { exitCode, stdout } = await compare('doubled.node');
    const pairs = JSON.parse(stdout) as Pair[];
    expect(pairs.map(({ after, regressed, isControl }) => [after.id, regressed, isControl])).toEqual([
      ['work/js/new', false, true],
      ['work/napi/new', true, false],
    ]);
    expect(pairs[1]!.ratio).toBeGreaterThan(0.3);
    expect(pairs[1]!.ratio).toBeLessThan(0.8);
    expect(exitCode).toBe(1);
  });

  it('are named in the context, with their hashes', async () => {
    const few = ['--forks', '1', '--samples', '1', '--time-budget', '0.01', '--out', pathOf('context')];
    expect((await cli('run', 'work.bench.mjs', ...few)).exitCode).toBe(0);
    const { context } = JSON.parse(readFileSync(pathOf('context/run.json'), 'utf8')) as { context: Run['context'] };
    const hash = createHash('sha256')
      .update(readFileSync(pathOf('old.node')))
      .digest('hex');
    expect(context.versions['old.node']).toBe(hash.slice(0, 12));
    expect(Object.keys(context.versions).filter((name) => name.endsWith('.node'))).toEqual(['old.node']);
  });

  it('that are the same pass', async () => {
    const { exitCode, stdout } = await compare('same.node');
    expect((JSON.parse(stdout) as Pair[]).map(({ regressed }) => regressed)).toEqual([false, false]);
    expect(exitCode).toBe(0);
  });

  /** Where a file finds its addon: in a package, whose build the compared builds are copies of. */
  const IN_PACKAGE = `import { createRequire } from 'node:module';
    import { Worker } from 'node:worker_threads';
    const require = createRequire(import.meta.url);`;
  const THREAD = `const { parentPort } = require('node:worker_threads');
    parentPort.on('message', (limit) => parentPort.postMessage(require('counted').work(limit)));`;
  const LOADS = {
    'at its start': `const addon = require('counted');`,
    'when a way is called': `const addon = { work: (limit) => require('counted').work(limit) };`,
    'in a worker thread': `let worker;
      const addon = {
        work: (limit) => new Promise((resolve) => {
          worker ??= new Worker(${JSON.stringify(THREAD)}, { eval: true });
          worker.once('message', resolve);
          worker.postMessage(limit);
        }),
      };`,
    'next to another addon': `const addon = require('counted'); require('./same.node');`,
  };
  const writePackaged = (load: keyof typeof LOADS): void => {
    mkdirSync(pathOf('node_modules/counted/build'), { recursive: true });
    cpSync(pathOf('old.node'), pathOf('node_modules/counted/build/counted.node'));
    writeFileSync(pathOf('node_modules/counted/index.js'), `module.exports = require('./build/counted.node');`);
    const [, rest] = SMALL_ADDON_WORKLOAD.split("(import.meta.url)('./old.node');");
    const bench = `import { workload } from ${JSON.stringify(BENCH)};`;
    writeFileSync(pathOf('packaged.bench.mjs'), [IN_PACKAGE, bench, LOADS[load], rest].join('\n'));
  };
  /** The new build returns something else, which shows that it was loaded. */
  const comparePackaged = (...words: string[]): Promise<Ended> =>
    cli('compare', '--builds', 'old.node', 'wrong.node', 'packaged.bench.mjs', '--decide-within', '0', ...words);

  it.each([
    ['at its start', []],
    ['when a way is called', []],
    ['in a worker thread', []],
    ['next to another addon', ['--addon', 'node_modules/counted/build/counted.node']],
  ] as const)('replace the addon that a file loads from a package, %s', async (load, words) => {
    writePackaged(load);
    const { exitCode, stdout } = await comparePackaged(...words);
    expect(stdout).toMatch(/^- work\/napi\/new: BB_CHECKSUM_MISMATCH/m);
    expect(stdout).not.toContain('work/napi/old');
    expect(exitCode).toBe(1);
  });

  it('fail if a file loads several addons, or if the process of a way has not loaded its build', async () => {
    writePackaged('next to another addon');
    const several = await comparePackaged();
    expect(several.stderr).toContain('--addon FILE names the addon that the builds replace [BB_USAGE]');
    expect(several.exitCode).toBe(2);
    writeFileSync(
      pathOf('packaged.bench.mjs'),
      SMALL_ADDON_WORKLOAD.replace(/const addon.*/, '').replace('addon.work', 'plain'),
    );
    const none = await comparePackaged();
    expect(none.stdout).toContain(
      `work/napi/old: BB_BUILD_NOT_LOADED: the process of the way has loaded no addon instead of the build`,
    );
    expect(none.stdout).toContain('Could not tell: no ways were measured twice.');
    expect(none.exitCode).toBe(1);
  });

  it('are asked for by name', async () => {
    expect((await cli('compare', '--builds', 'none.node', 'old.node', 'work.bench.mjs')).stderr).toContain(
      'there is no build none.node',
    );
    expect((await cli('compare', '--builds', 'old.node', 'same.node')).stderr).toContain(
      'no file with a workload for the builds is named',
    );
  });
});

it('a file that keeps something open does not keep the program', async () => {
  writeFileSync(
    pathOf('open.bench.mjs'),
    `import { workload } from ${JSON.stringify(BENCH)};
     setInterval(() => {}, 1000);
     export default workload('open', { ways: { js: () => Math.random() < 2, 'js, again': () => Math.random() < 2 } });`,
  );
  const few = ['--forks', '1', '--samples', '1', '--time-budget', '0.01', '--out', pathOf('open')];
  const { exitCode, stdout } = await spawnCli(['run', 'open.bench.mjs', ...few], { cwd: folder, script: builtMain });
  expect(stdout).toContain('Report: ');
  expect(exitCode).toBe(0);
});
