// Makes the packages of binaries of what lies at the top of this package: `node native/platform-packages.mjs [--all]`. A platform has three:
// `npm/<platform>/`, as napi-rs lays it out, has the addon, `npm/all-<platform>/` the addon with all engines if there is one apart, and
// `npm/programs-<platform>/` what only measuring needs. With `--all`, as for a release, each platform must be there, and package.json gets
// their addons as optional dependencies. It refuses binaries that are older than their sources or still have their debug information.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

import { NapiCli } from '@napi-rs/cli';

const NAME = 'boundary-bench';

const root = path.join(import.meta.dirname, '..');
const folder = path.join(root, 'npm');
const isRelease = process.argv.includes('--all');
const manifest = readManifest(root);

/** The packages that are compared, with the versions that are tested. */
const compared = Object.fromEntries(
  Object.keys(manifest.peerDependencies).map((name) => [name, manifest.devDependencies[name]]),
);

rmSync(folder, { recursive: true, force: true });
await new NapiCli().createNpmDirs({ cwd: root, npmDir: 'npm' });
const all = readdirSync(folder).toSorted();
const made = all.filter(fillPackages);
const missing = all.filter((platform) => !made.includes(platform));
if (made.length === 0) fail('there is no binary of any platform at the top of the package: npm run build:publish');
if (isRelease && missing.length > 0) fail(`there are no binaries for ${missing.join(', ')}`);
for (const platform of missing) rmSync(path.join(folder, platform), { recursive: true });
if (isRelease) {
  const words = all.map((platform) => `optionalDependencies.${NAME}-${platform}=${manifest.version}`);
  execFileSync('npm', ['pkg', 'set', ...words], { cwd: root, stdio: 'inherit' });
}
for (const each of readdirSync(folder)) console.log(path.relative(process.cwd(), path.join(folder, each)));

/** Completes the packages of a platform. Returns whether its binaries are there. */
function fillPackages(platform) {
  const addon = `${NAME}.${platform}.node`;
  if (!existsSync(path.join(root, addon))) return false;
  const place = path.join(folder, platform);
  fill(place, [addon], readManifest(place));
  const extension = platform.startsWith('win32') ? '.exe' : '';
  const full = `${NAME}-all.${platform}.node`;
  const isSplit = existsSync(path.join(root, full));
  if (isRelease && !isSplit) fail(`${full} is not there: npm run build:publish`);
  const programs = [
    `${NAME}-crossing.${platform}.node`,
    `${NAME}-native.${platform}${extension}`,
    `${NAME}-server.${platform}${extension}`,
  ];
  const { main: _, ...own } = readManifest(place);
  const nameOfAll = `${NAME}-all-${platform}`;
  if (isSplit) fill(path.join(folder, `all-${platform}`), [full], { ...own, name: nameOfAll });
  fill(path.join(folder, `programs-${platform}`), programs, {
    ...own,
    name: `${NAME}-programs-${platform}`,
    dependencies: {
      // The programs look for libduckdb beside themselves and in the folder of this dependency.
      '@duckdb/node-bindings': manifest.dependencies['@duckdb/node-bindings'],
      ...compared,
      ...(isSplit && { [nameOfAll]: manifest.version }),
    },
  });
  return true;
}

/** Puts binaries into the folder of a package, with its manifest. */
function fill(place, files, own) {
  mkdirSync(place, { recursive: true });
  for (const file of files) {
    const from = path.join(root, file);
    if (!existsSync(from)) fail(`${file} is not there: npm run build:publish`);
    check(file, from);
    // Of the same file as far as the file system can, since they are large.
    cpSync(from, path.join(place, file), { mode: 2 });
  }
  copyFileSync(path.join(root, 'LICENSE'), path.join(place, 'LICENSE'));
  writeFileSync(path.join(place, 'package.json'), `${JSON.stringify({ ...own, files }, undefined, 2)}\n`);
}

function check(name, file) {
  if (sectionsOf(readFileSync(file)).some((section) => section.startsWith('.debug_'))) {
    fail(`${name} has its debug information in it: npm run build:publish, or node native/split-debug.mjs ${name}`);
  }
  const built = statSync(file).mtimeMs;
  const newer = sources().find((source) => statSync(path.join(root, source)).mtimeMs > built);
  if (newer !== undefined) fail(`${name} is older than ${newer}: npm run build:publish`);
}

/** The parts of the binaries. */
function sources() {
  const native = readdirSync(path.join(root, 'native'), { recursive: true, encoding: 'utf8' });
  const code = native.filter((file) => /\.(rs|toml)$/.test(file) && !/(^|\/)(fuzz|tests)\//.test(file));
  return ['Cargo.toml', 'Cargo.lock', ...code.map((file) => path.join('native', file))];
}

/** The names of the sections of an ELF file, or none for a file of another format. Such a file keeps its debug information apart anyway. */
function sectionsOf(bytes) {
  if (bytes.readUInt32BE(0) !== 0x7f454c46) return [];
  const table = Number(bytes.readBigUInt64LE(0x28));
  const [size, count, names] = [0x3a, 0x3c, 0x3e].map((offset) => bytes.readUInt16LE(offset));
  const text = Number(bytes.readBigUInt64LE(table + names * size + 0x18));
  return Array.from({ length: count }, (_, section) => {
    const start = text + bytes.readUInt32LE(table + section * size);
    return bytes.toString('latin1', start, bytes.indexOf(0, start));
  });
}

function readManifest(place) {
  return JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8'));
}

function fail(problem) {
  console.error(`The packages of binaries were not made: ${problem}`);
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
