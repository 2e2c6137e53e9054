import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const LAB = join(import.meta.dirname, '../bench/lab');

it.each(readdirSync(LAB))('bench/lab/%s imports what is there', (name) => {
  const text = readFileSync(join(LAB, name), 'utf8');
  const missing = [...text.matchAll(/from '(\.[^']+)'/g)]
    .map(([, path]) => join(LAB, path!))
    .filter((path) => !existsSync(path));
  expect(missing).toEqual([]);
});
