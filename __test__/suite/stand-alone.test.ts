/**
 * The native suite inside Node and as a program of its own: the same code must do the same work. Their speeds are
 * printed for a reader to compare, but not tested, because of the noise of a shared machine.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { addon } from '../../src/addon.js';

const ROWS = 2_000_000;
const SAMPLES = 7;
const LANES = [
  { workload: 'insert.bulk', lane: 'columns' },
  { workload: 'query.full_scan', lane: 'columnar' },
];

interface Sample {
  readonly seconds: number;
  readonly checksum: unknown;
}

/** Builds the program for the target of the addon, so that the crates that they share are built already. */
function standAloneProgram(): string {
  const host = /^host: (.+)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))?.[1] ?? '';
  const build = ['build', '--release', '--locked', '--target', host, '--package', 'boundary-bench-suite'];
  execFileSync('cargo', [...build, '--quiet'], { stdio: ['ignore', 'inherit', 'inherit'] });
  const metadata = execFileSync('cargo', ['metadata', '--format-version=1', '--no-deps'], { encoding: 'utf8' });
  const { target_directory: target } = JSON.parse(metadata) as { target_directory: string };
  return join(target, host, 'release', 'boundary-bench-native');
}

function fastest(samples: readonly Sample[]): string {
  return `${(ROWS / Math.min(...samples.map(({ seconds }) => seconds)) / 1e6).toFixed(1)} M rows/s`;
}

test('the stand-alone program does what the suite does inside Node', { timeout: 1_800_000 }, async () => {
  const program = standAloneProgram();
  const engine = await addon.Engine.open('memory:');
  await engine.loadNative(JSON.stringify({ table: 'measurements', rows: ROWS, workers: 1 }));
  for (const { workload, lane } of LANES) {
    const options = ['--engine', 'memory:', '--rows', `${ROWS}`, '--workers', '1', '--samples', `${SAMPLES}`];
    const printed = execFileSync(program, [...options, '--workload', workload, '--lane', lane, '--flavor', 'sync'], {
      encoding: 'utf8',
    });
    const alone = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Sample);
    const inside: Sample[] = [];
    const table = workload === 'insert.bulk' ? 'inserted' : 'measurements';
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const spec = { workload, lane, flavor: 'sync', workers: 1, rows: ROWS, table };
      inside.push(JSON.parse(await engine.runNative(JSON.stringify(spec))) as Sample);
    }
    console.log(`${workload} ${lane}: ${fastest(alone)} alone, ${fastest(inside)} inside Node`);
    expect(alone).toHaveLength(SAMPLES);
    for (const { checksum } of alone) expect(checksum).toEqual(inside[0]?.checksum);
  }
  engine.close();
});
