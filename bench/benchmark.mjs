#!/usr/bin/env node
/**
 * The benchmark: `node bench/benchmark.mjs [ROWS] [options]` measures the `measurements` family, by default with
 * 1,000,000 rows. `--family kv` or `--family sql` measures requests to a server. It takes every option of
 * `boundary-bench run`. `--help` shows them.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cli = new URL('../dist/cli/main.js', import.meta.url);

if (existsSync(fileURLToPath(cli))) {
  process.argv.splice(2, 0, 'run');
  await import(cli.href);
} else {
  process.stderr.write('boundary-bench is not built yet; run this first:\n\n  npm ci && npm run build\n\n');
  process.exitCode = 2;
}
