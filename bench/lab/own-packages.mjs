// Measures packages of npm that are written in Rust next to packages in JavaScript that do the same, by the files of
// examples/packages. It installs the packages in a folder that it removes at the end, and starts a Redis.
//
//   node bench/lab/own-packages.mjs [--quick] [--out FILE]
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { openTarget } from '../../dist/families/requests/target-server.js';
import { optionsOf, origin, outputOf, temporaryFolder, writeResult } from './frame.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

/** The files, with the packages that they compare, at the versions that the pages speak of. */
const FILES = {
  'hash.bench.mjs': ['@node-rs/xxhash@1.7.8', 'xxhash-wasm@1.1.0', 'xxhashjs@0.2.2'],
  'parse.bench.mjs': ['oxc-parser@0.159.0', 'acorn@8.19.0'],
  'get.bench.mjs': ['@valkey/valkey-glide@2.5.2', 'ioredis@5'],
};

const { values } = optionsOf({ quick: false, out: undefined });
const from = await origin();
const folder = temporaryFolder();
const server = await openTarget('redis', {});
try {
  const install = ['install', '--silent', '--no-audit', '--no-fund', '--prefix', folder];
  outputOf('npm', [...install, ...Object.values(FILES).flat()]);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(ROOT, join(folder, 'node_modules', 'boundary-bench'));
  const runs = Object.entries(FILES).map(([file, packages]) => ({ file, packages, run: measured(file) }));
  writeResult(values.out, { ...from, runs });
} finally {
  await server.close();
}

/** Measures a file by the command line, and returns its run in the compact form. */
function measured(file) {
  cpSync(join(ROOT, 'examples', 'packages', file), join(folder, file));
  const [out, compact] = [join(folder, `${file}.run`), join(folder, `${file}.json`)];
  const words = [join(ROOT, 'dist/cli/main.js'), 'run', file, '--out', out, ...(values.quick ? ['--quick'] : [])];
  outputOf(process.execPath, words, { cwd: folder, output: 'inherit', environment: { REDIS_URL: server.url } });
  outputOf(process.execPath, [join(ROOT, 'bench/lab/compact-run.mjs'), join(out, 'run.json'), '--out', compact]);
  return JSON.parse(readFileSync(compact, 'utf8'));
}
