import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['__test__/**/*.test.ts', 'examples/**/*.test.ts'],
    // Some tests run the built command line or scan millions of rows; two cores run them beside each other.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Another build of the addon than the one that is there; for the tests alone, since vitest's own addons read the same variable.
    env: process.env['BOUNDARY_BENCH_ADDON']
      ? { NAPI_RS_NATIVE_LIBRARY_PATH: process.env['BOUNDARY_BENCH_ADDON'] }
      : {},
  },
});
