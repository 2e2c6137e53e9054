// Runs the Rust tests. Those that need a server are left out where it is not installed, and that is said; with
// BOUNDARY_BENCH_REQUIRE=hyperd,mysql they fail instead.
import { spawnSync } from 'node:child_process';

import { addon } from '../dist/addon.js';
import { findHyperd } from '../dist/host/hyperd.js';

const required = (process.env.BOUNDARY_BENCH_REQUIRE ?? '').split(',');
const run = (...args) => {
  const { status } = spawnSync('cargo', ['test', '--locked', ...args], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

/** Why the private server of a wire can't be started; undefined where it can, or must. */
const missing = (kind) => {
  try {
    addon.PrivateServer.find(kind);
    return undefined;
  } catch (error) {
    return required.includes(kind) ? undefined : error.message;
  }
};

const mysql = missing('mysql');
const others = ['--workspace', '--exclude', 'boundary-bench-hyper', '--exclude', 'boundary-bench-mysql'];
if (mysql === undefined) {
  run(...others);
  run('-p', 'boundary-bench-mysql');
} else {
  console.log(`SKIPPED: the Rust tests of the MySQL wire: ${mysql}`);
  run(...others, '--', '--skip', 'on_mysql::');
  run('-p', 'boundary-bench-mysql', '--lib');
}

const hyperd = findHyperd();
if ('missing' in hyperd && !required.includes('hyperd')) {
  console.log(`SKIPPED: the Rust tests of the engine hyper: ${hyperd.missing}`);
} else {
  run('-p', 'boundary-bench-hyper');
}
