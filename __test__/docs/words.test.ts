import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { variantOf } from '../../src/report/labels.js';

const ROOT = join(import.meta.dirname, '../..');

it.each(['README.md', 'package.json', 'docs/glossary.md', 'docs/quick-start.md', 'src/cli/cli.ts', 'CHANGELOG.md'])(
  '%s does not call other clients from npm pure JavaScript, since some are native addons',
  (file) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).not.toMatch(/pure.JavaScript|JavaScript alone/i);
  },
);

it('a client from npm that is a native addon is marked so, by its name', () => {
  const nameOf = (variant: string, side: 'js' | 'rust' = 'js'): string => variantOf({ side, variant });
  expect(nameOf('@duckdb/node-bindings, columns')).toBe('@duckdb/node-bindings, columns (native)');
  expect(nameOf('@valkey/valkey-glide Batch')).toBe('@valkey/valkey-glide Batch (native)');
  expect([nameOf('ioredis'), nameOf('crate nodejs-polars', 'rust')]).toEqual(['ioredis', 'crate nodejs-polars']);
});
