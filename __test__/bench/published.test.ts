/** The commands by which committed runs are measured again. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { PUBLISHED } from '../../bench/docs/published.mjs';

const ROOT = join(import.meta.dirname, '../..');

const kinds = Object.entries(PUBLISHED);

it.each(kinds.filter(([, { script }]) => script === undefined))(
  '%s names cells',
  (_kind, { arguments: words = [] }) => {
    // `list` has the options that choose cells.
    const chosen = words.filter((word, index) => word !== '--decide-within' && words[index - 1] !== '--decide-within');
    const program = [join(ROOT, 'dist/cli/main.js'), 'list', ...chosen];
    const { status, stdout, stderr } = spawnSync(process.execPath, program, { cwd: ROOT, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/\b[1-9]\d* cells\b/);
  },
);

it.each(kinds.filter(([, { script }]) => script !== undefined))('%s has a script', (_kind, { script }) => {
  expect(existsSync(join(ROOT, script!))).toBe(true);
});
