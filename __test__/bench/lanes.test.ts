import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { intervalsOf, verdictOf } from '../../bench/lab/lanes-verdict.mjs';
import { folderOfTest } from '../temporary-folder.js';

const ROOT = join(import.meta.dirname, '../..');
const lanes = (...words: string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'bench/lab/lanes.mjs'), ...words], { encoding: 'utf8' });

/** Twelve rounds of ratios around `ratio`, which are as far apart as `spread` says. */
const rounds = (ratio: number, spread: number) =>
  Array.from({ length: 12 }, (_, round) =>
    Array.from({ length: 6 }, () => ratio * (1 + spread * Math.sin(round * 2.4))),
  );

test('a lane is slower, undecided, faster or the same', () => {
  const made = [
    rounds(0.95, 0.01),
    rounds(0.95, 0.2),
    rounds(1, 0.01),
    rounds(0.98, 0.01),
    rounds(1.2, 0.2),
    rounds(1.05, 0.08),
  ];
  const verdicts = intervalsOf(made).map(verdictOf);
  expect(verdicts).toEqual(['slower', 'undecided', 'same', 'same', 'faster', 'not slower']);
  // The same rounds decide less if they are a lane of many.
  const among = intervalsOf([rounds(0.96, 0.055), ...Array.from({ length: 200 }, () => rounds(1, 0.055))]);
  expect(verdictOf(intervalsOf([rounds(0.96, 0.055)])[0]!)).toBe('slower');
  expect(verdictOf(among[0]!)).toBe('undecided');
});

test('--list prints the names of at least 25 lanes', () => {
  const names = lanes('--list').stdout.trim().split('\n');
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(25);
  expect(names).toEqual(expect.arrayContaining(['memory-rows-in', 'embedded-arrow-out', 'kv-get', 'sql-insert-rows']));
});

test('a lane of this checkout against itself, whose work is checked, and the same with twice the work', () => {
  const folder = folderOfTest();
  const file = join(folder, 'lanes.json');
  const few = ['--rounds', '3', '--most', '3', '--blocks', '11', '--json', file];
  const { stdout, stderr } = lanes(
    ROOT,
    ROOT,
    '--lane',
    'memory-columns-out',
    '--plant',
    'memory-columns-out=1',
    ...few,
  );
  expect(stderr).toContain('round 3 is over');
  expect(stdout).toMatch(/^memory-columns-out /m);
  expect(stdout).toMatch(/^- crates: \d+ → \d+$/m);
  const { results } = JSON.parse(readFileSync(file, 'utf8')) as {
    results: { lane: { rounds: { units: number; seconds: number; cpu: number }[][][] } }[];
  };
  const { rounds: taken } = results[0]!.lane;
  expect(taken.flat()).toHaveLength(3 * 11);
  for (const [old, current, again, other] of taken.flat() as Required<typeof taken>[number]) {
    const { units } = old!;
    expect([current!.units, again!.units, other!.units]).toEqual([2 * units, 2 * units, units]);
    expect(Math.min(old!.seconds, current!.seconds, old!.cpu, current!.cpu)).toBeGreaterThan(0);
  }
});
