import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

import type { Run } from '../../src/records/record.js';
import { builtMain, spawnCli } from '../cli/spawn-cli.js';
import { folderOfSuite } from '../temporary-folder.js';

const FILE = fileURLToPath(new URL('../families/own/sum.bench.mjs', import.meta.url));

const folder = folderOfSuite();

it('profiles each cell after its measurement, and links the files', async () => {
  const words = ['run', FILE, '--workload', 'sum.10000', '--side', 'js', '--lane', '*thrice', '--out', 'out'];
  const short = ['--forks', '1', '--samples', '1', '--time-budget', '0', '--quiet', '--profile'];
  const { exitCode, stderr } = await spawnCli([...words, ...short], { cwd: folder, script: builtMain });
  expect(exitCode, stderr).toBe(0);
  const textOf = (file: string): string => readFileSync(join(folder, 'out', file), 'utf8');
  const { profiles = [], records } = JSON.parse(textOf('run.json')) as Run;
  expect(profiles.map(({ id }) => id)).toEqual(records.map(({ id }) => id));
  const [{ flameGraph, cpuProfile }] = profiles as [(typeof profiles)[0] & { cpuProfile: string }];
  // `perf` sees no function that V8 has inlined into its caller.
  expect(textOf(flameGraph)).toMatch(/\b(?:sum\.bench\.mjs|calls\.js):\d+/);
  expect(textOf(cpuProfile)).toContain('"functionName":"twice"');
  expect(textOf('run.html')).toContain(`href="${flameGraph}"`);
});
