import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { Run } from '../../src/records/record.js';
import { type Ended, type SpawnOptions, builtMain, spawnCli } from './spawn-cli.js';
import { folderOfSuite } from '../temporary-folder.js';

const BENCH = new URL('../../dist/bench.js', import.meta.url).href;
const FEW = ['--forks', '1', '--samples', '2', '--time-budget', '0.01'];

const folder = folderOfSuite();

const cli = (words: readonly string[], options: Partial<SpawnOptions> = {}): Promise<Ended> =>
  spawnCli(words, { cwd: folder, script: builtMain, ...options });

it('a run of files that was interrupted goes on with them, by the command that it prints', async () => {
  const file = join(folder, 'sums.bench.mjs');
  writeFileSync(
    file,
    `import { workload } from ${JSON.stringify(BENCH)};
     const sum = (count) => Array.from({ length: count }, (_, index) => index).reduce((a, b) => a + b);
     export default workload('sums', { sizes: [10, 100, 1000, 10000], ways: { js: sum, 'js, again': (count) => sum(count) } });`,
  );
  let isSent = false;
  const interrupted = await cli(['run', 'sums.bench.mjs', ...FEW, '--out', 'out'], {
    onStderr: (text, kill) => {
      if (isSent || !text.includes('[1/8]')) return;
      isSent = true;
      kill('SIGINT');
    },
  });
  expect(interrupted.exitCode).toBe(130);
  const [, command] = /^Resume it with: npx boundary-bench (.*)$/m.exec(interrupted.stderr)!;

  writeFileSync(join(folder, 'other.bench.mjs'), readFileSync(file, 'utf8').replace("'sums'", "'others'"));
  const mismatch = await cli(['run', '--resume', 'out', 'other.bench.mjs']);
  expect([mismatch.exitCode, mismatch.stderr]).toEqual([
    2,
    expect.stringContaining("can't be resumed with cells of others"),
  ]);

  const resumed = await cli(command!.split(' '));
  expect([resumed.exitCode, resumed.stderr]).toEqual([0, expect.stringMatching(/^8 cells, [1-7] of them done before/)]);
  const { records, context } = JSON.parse(readFileSync(join(folder, 'out/run.json'), 'utf8')) as Run;
  expect(records.map(({ family, outcome }) => `${family} ${outcome}`)).toEqual(Array(8).fill('sums completed'));
  expect(context.files).toEqual([file]);

  // A log of an earlier version does not name the files.
  const log = join(folder, 'out/run.jsonl');
  const named = readFileSync(log, 'utf8');
  writeFileSync(log, named.replace(/"files":\[[^\]]*\],/, ''));
  const unnamed = await cli(command!.split(' '));
  expect([unnamed.exitCode, unnamed.stderr]).toEqual([
    2,
    expect.stringContaining('the run measured cells of sums; it'),
  ]);
  writeFileSync(log, named);
  rmSync(file);
  const gone = await cli(command!.split(' '));
  expect([gone.exitCode, gone.stderr]).toEqual([2, expect.stringContaining('which is not there any more')]);
});
