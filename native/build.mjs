// Builds the addon and the program of the reference servers, and puts both at the top of the package: `node native/build.mjs [PROFILE]`.
// Cargo runs once for both, so that the crates which they share are compiled once.
import { execFileSync } from 'node:child_process';
import { copyFileSync, renameSync } from 'node:fs';
import path from 'node:path';

import { NapiCli } from '@napi-rs/cli';

const PROGRAM = 'boundary-bench-server';

const root = path.join(import.meta.dirname, '..');
const profile = process.argv[2];

const { task } = await new NapiCli().build({
  cwd: root,
  manifestPath: 'native/addon/Cargo.toml',
  profile,
  cargoOptions: ['--package', 'boundary-bench-addon', '--package', PROGRAM],
  platform: true,
  format: 'commonjs',
  outputDir: '.',
  jsBinding: 'index.cjs',
  dts: 'index.d.cts',
});
const addon = (await task).find(({ kind }) => kind === 'node').path;

const { target_directory: target } = JSON.parse(outputOf('cargo', 'metadata', '--no-deps', '--format-version', '1'));
const host = /^host: (.*)$/m.exec(outputOf('rustc', '-vV'))[1];
const built = path.join(target, host, profile ?? 'debug', PROGRAM);
// The addon finds the program by its own name: it is `boundary-bench.linux-x64-gnu.node`, for example.
const beside = path.join(root, path.basename(addon, '.node').replace('boundary-bench', PROGRAM));
// Copied under another name first, since the file of a running program can be replaced but not be written.
copyFileSync(built, `${beside}.new`);
renameSync(`${beside}.new`, beside);

function outputOf(program, ...args) {
  return execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
}
