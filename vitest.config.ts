import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { configDefaults, defineConfig } from 'vitest/config';

/** The files that no other file may run beside, and the reason of each. */
const reasons = JSON.parse(readFileSync(join(import.meta.dirname, '__test__/alone.json'), 'utf8')) as object;
const alone = Object.keys(reasons).map((file) => `__test__/${file}`);
const missing = alone.filter((file) => !existsSync(join(import.meta.dirname, file)));
if (missing.length > 0) throw new Error(`__test__/alone.json names what is not there: ${missing.join(', ')}`);

const common = {
  // Some tests run the built command line or scan millions of rows; two cores run them beside each other.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A test that runs beside others may have to wait for more than vitest's second.
  expect: { poll: { timeout: 60_000 } },
  pool: 'forks',
  restoreMocks: true,
  ...(process.env['BOUNDARY_BENCH_PASSED'] ? { runner: './__test__/vitest-runner.ts' } : {}),
  // Another build of the addon than the one that is there; for the tests alone, since vitest's own addons read the same variable.
  env: process.env['BOUNDARY_BENCH_ADDON'] ? { NAPI_RS_NATIVE_LIBRARY_PATH: process.env['BOUNDARY_BENCH_ADDON'] } : {},
} as const;

export default defineConfig({
  test: {
    // Many tests wait for servers and for processes of their own, so that two files at once pay off on two cores too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        test: {
          ...common,
          name: 'beside',
          include: ['__test__/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone],
        },
      },
      // vitest runs these when all others have ended.
      { test: { ...common, name: 'alone', include: alone, fileParallelism: false } },
    ],
  },
});
