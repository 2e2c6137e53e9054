import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { builtMain, type Ended, spawnCli } from './spawn-cli.js';

const SOURCE = fileURLToPath(new URL('../fixtures/small-addon.c', import.meta.url));
const BENCH = new URL('../../dist/bench.js', import.meta.url).href;

const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-builds-'));
const pathOf = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Builds the addon of one function, which does its work so many times. */
function build(name: string, times: number): void {
  const undefinedSymbols = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const words = ['-O2', '-shared', '-fPIC', `-DTIMES=${times}`, ...undefinedSymbols, '-o', pathOf(name), SOURCE];
  execFileSync('cc', words);
}

beforeAll(() => {
  build('old.node', 1);
  build('same.node', 1);
  build('doubled.node', 2);
  writeFileSync(
    pathOf('work.bench.mjs'),
    `import { createRequire } from 'node:module';
     import { workload } from ${JSON.stringify(BENCH)};
     const addon = createRequire(import.meta.url)('./old.node');
     const plain = (limit) => {
       let sum = 0;
       for (let number = 0; number < limit; number += 1) sum += number % 7;
       return sum;
     };
     export default workload('work', { input: () => 20_000, ways: { js: plain, napi: (limit) => addon.work(limit) } });`,
  );
});

describe.skipIf(process.platform === 'win32')('two builds of an addon', () => {
  const cli = (...words: string[]): Promise<Ended> => spawnCli(words, { cwd: folder, script: builtMain });
  const compare = (name: string): Promise<Ended> =>
    cli('compare', '--builds', 'old.node', name, 'work.bench.mjs', '--decide-within', '60', '--json');

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

  it('that are the same pass', async () => {
    const { exitCode, stdout } = await compare('same.node');
    expect((JSON.parse(stdout) as Pair[]).map(({ regressed }) => regressed)).toEqual([false, false]);
    expect(exitCode).toBe(0);
  });

  it('are asked for by name', async () => {
    expect((await cli('compare', '--builds', 'none.node', 'old.node', 'work.bench.mjs')).stderr).toContain(
      'there is no build none.node',
    );
    expect((await cli('compare', '--builds', 'old.node', 'same.node')).stderr).toContain(
      'no file says what the builds are to do',
    );
  });
});
