import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['__test__/**/*.test.ts', 'examples/**/*.test.ts'],
    // Some tests run the built command line or scan millions of rows; two cores run them beside each other.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
  },
});
