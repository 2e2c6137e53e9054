/** The package without the packages that it is compared with. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Cell, Run } from '../../src/records/record.js';
import { InstalledPackage, MANIFEST } from './installed.js';

const SMALL = ['--forks', '1', '--samples', '1', '--time-budget', '0', '--quiet', '--workers', '1'];

interface Planned extends Cell {
  readonly client?: string;
  readonly skip?: string;
}

let installed: InstalledPackage;
beforeAll(() => {
  installed = new InstalledPackage();
});
afterAll(() => installed[Symbol.dispose]());

function node(cwd: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });
  expect(status, stderr).toBe(0);
  return stdout;
}

function runIn(cwd: string, ...words: readonly string[]): Run {
  node(cwd, installed.cli, 'run', ...words, ...SMALL, '--out', join(cwd, 'run'));
  return JSON.parse(readFileSync(join(cwd, 'run/run.json'), 'utf8')) as Run;
}

describe('a program that uses the library', () => {
  const query = `.connect('embedded:').then(async (connection) => {
    console.log((await connection.executeQuery('SELECT 41 + 1 AS answer'))[0].answer);
    await connection.close();
  })`;

  it.each([
    ['imports it', ['--input-type=module', '--eval', `(await import('boundary-bench'))${query}`]],
    ['requires it', ['--input-type=commonjs', '--eval', `require('boundary-bench')${query}`]],
  ])('%s', (_, words) => {
    expect(node(installed.folder, ...words)).toBe('42\n');
  });
});

/** Servers that nothing asks for while cells are listed: without them cells would be skipped for that first. */
const SERVERS = ['--redis-url', 'redis://127.0.0.1:1', '--mysql-url', 'mysql://root@127.0.0.1:1'];

describe('the command line', () => {
  it('skips the cells that need a package, with the command that installs it', () => {
    const families = 'measurements,kv,sql,rest,ingest,hybrid,boundary,codec';
    const cells = JSON.parse(
      node(installed.folder, installed.cli, 'list', '--all', '--json', '--family', families, ...SERVERS),
    ) as Planned[];
    const missing = Object.keys(MANIFEST.peerDependencies).map(
      (name) => `${name} is not installed: npm install ${name}@${MANIFEST.devDependencies[name]}`,
    );
    const skips = new Set(cells.flatMap(({ skip }) => skip ?? []));
    // The second package of a client is missing with its first one.
    const seconds = ['@grpc/proto-loader', 'msgpackr'].filter(
      (name) => ![...skips].some((skip) => skip.startsWith(name)),
    );
    expect(seconds).toEqual(['@grpc/proto-loader']);
    for (const reason of missing.filter((text) => !text.startsWith('@grpc/proto-loader'))) {
      expect([...skips]).toContain(reason);
    }
    const unskipped = cells.filter(
      ({ side, client, skip }) => side === 'js' && client !== undefined && skip === undefined,
    );
    expect(new Set(unskipped.map(({ client }) => client))).toEqual(
      new Set(['duckdb-node-bindings', 'process', 'wasm', 'worker']),
    );
  });

  it('measures all else', () => {
    const { records } = runIn(installed.folder, '3000', '--engine', 'embedded', '--workload', 'insert.bulk');
    const completed = records.filter(({ outcome }) => outcome === 'completed');
    const outcomes = new Set(records.filter(({ side }) => side === 'rust').map(({ outcome }) => outcome));
    expect(outcomes).toEqual(new Set(['completed']));
    // This package brings the package with DuckDB itself.
    expect(new Set(completed.filter(({ side }) => side === 'js').map(({ variant }) => variant))).toEqual(
      new Set(['@duckdb/node-bindings, rows', '@duckdb/node-bindings, columns']),
    );
    const skipped = records.filter(({ side, outcome }) => side === 'napi' && outcome !== 'completed');
    expect(skipped.map(({ lane, outcome }) => [lane, outcome])).toEqual([['arrow-ipc', 'skipped']]);
  });

  it('finds packages in the project that runs it', () => {
    const project = join(installed.folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{}');
    installed.install('apache-arrow', project);
    const { records, context } = runIn(project, '3000', '--engine', 'apache-arrow', '--workload', 'insert.bulk');
    expect(records.map(({ variant, outcome }) => [variant, outcome])).toEqual([
      ['rows into typed arrays, apache-arrow', 'completed'],
      ['columns copied, apache-arrow', 'completed'],
    ]);
    expect(context.versions['apache-arrow']).toBe(MANIFEST.devDependencies['apache-arrow']);
  });

  it('fails if nothing of a client can be measured, with the command that installs what is missing', () => {
    using project = new InstalledPackage();
    const home = join(project.folder, 'node_modules/boundary-bench');
    for (const file of readdirSync(home)) if (file.startsWith('boundary-bench-')) rmSync(join(home, file));
    const run = (client: string) =>
      spawnSync(process.execPath, [project.cli, 'run', '--family', 'kv', '--client', client, ...SMALL], {
        cwd: project.folder,
        encoding: 'utf8',
      });
    writeFileSync(join(project.folder, 'mine.mjs'), 'export default { connect() {} };');
    const { status, stderr } = run('./mine.mjs');
    expect(stderr).toMatch(/^error: nothing of the client mine was measured: \d+ cells failed or were skipped\.$/m);
    expect(stderr).toMatch(/^- .* is not installed\. .*: npm install --save-dev boundary-bench-programs-/m);
    expect(status).toBe(1);
    const none = run('./none.mjs');
    expect(none.stderr).toMatch(/^error: --client .*none\.mjs: there is no such file \[BB_USAGE\]$/m);
    expect(none.status).toBe(2);
  });

  it('says what the soak needs', () => {
    const words = [installed.cli, 'soak', '--client', 'undici', '--duration-secs', '1'];
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: installed.folder, encoding: 'utf8' });
    expect(stderr).toContain(`undici is not installed: npm install undici@${MANIFEST.devDependencies['undici']}`);
    expect(status).toBe(1);
  });
});
