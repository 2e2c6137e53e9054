// Measures packages of npm that are written in Rust next to packages in JavaScript that do the same, by the files of
// examples/packages. It installs the packages in a folder that it removes at the end, and starts a Redis.
//
//   node bench/lab/own-packages.mjs [--quick] [--out FILE]
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { openTarget } from '../../dist/families/requests/target-server.js';
import { origin, resultText } from './result-file.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

/** The files, with the packages that they compare, at the versions that the pages speak of. */
const FILES = {
  'hash.bench.mjs': ['@node-rs/xxhash@1.7.8', 'xxhash-wasm@1.1.0', 'xxhashjs@0.2.2'],
  'parse.bench.mjs': ['oxc-parser@0.159.0', 'acorn@8.19.0'],
  'get.bench.mjs': ['@valkey/valkey-glide@2.5.2', 'ioredis@5'],
};

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, out: { type: 'string' } } });
const from = await origin();
const folder = mkdtempSync(join(tmpdir(), 'own-packages-'));
const server = await openTarget('redis', {});
try {
  execFileSync('npm', [
    'install',
    '--silent',
    '--no-audit',
    '--no-fund',
    '--prefix',
    folder,
    ...Object.values(FILES).flat(),
  ]);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(ROOT, join(folder, 'node_modules', 'boundary-bench'));
  const runs = Object.entries(FILES).map(([file, packages]) => ({ file, packages, run: measured(file) }));
  if (values.out !== undefined) writeFileSync(values.out, resultText({ ...from, runs }));
} finally {
  await server.close();
  rmSync(folder, { recursive: true });
}

/** Measures a file by the command line, and returns its run in the compact form. */
function measured(file) {
  cpSync(join(ROOT, 'examples', 'packages', file), join(folder, file));
  const out = join(folder, `${file}.run`);
  const cli = join(ROOT, 'dist', 'cli', 'main.js');
  execFileSync(process.execPath, [cli, 'run', file, '--out', out, ...(values.quick ? ['--quick'] : [])], {
    cwd: folder,
    stdio: 'inherit',
    env: { ...process.env, REDIS_URL: server.url },
  });
  const compact = join(folder, `${file}.json`);
  execFileSync(process.execPath, [
    join(ROOT, 'bench', 'lab', 'compact-run.mjs'),
    join(out, 'run.json'),
    '--out',
    compact,
  ]);
  return JSON.parse(readFileSync(compact, 'utf8'));
}
