// Runs the Rust tests. Those of the engine hyper need its server: without that they are left out, and that is said;
// with BOUNDARY_BENCH_REQUIRE=hyperd they fail instead.
import { spawnSync } from 'node:child_process';

import { findHyperd } from '../dist/host/hyperd.js';

const hyperd = findHyperd();
const isRequired = (process.env.BOUNDARY_BENCH_REQUIRE ?? '').split(',').includes('hyperd');
const run = (...args) => {
  const { status } = spawnSync('cargo', ['test', '--locked', ...args], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

run('--workspace', '--exclude', 'boundary-bench-hyper');
if ('missing' in hyperd && !isRequired) {
  console.log(`SKIPPED: the Rust tests of the engine hyper: ${hyperd.missing}`);
} else {
  run('-p', 'boundary-bench-hyper');
}
