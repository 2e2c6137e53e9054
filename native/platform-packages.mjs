// Makes the packages of binaries, `npm/<platform>/` as napi-rs lays them out, of what lies at the top of this package:
// `node native/platform-packages.mjs [--all]`. With `--all`, as for a release, each platform must be there, and package.json gets
// them all as optional dependencies. It refuses binaries that are older than their sources or still have their debug information.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { NapiCli } from '@napi-rs/cli';

const NAME = 'boundary-bench';

const root = path.join(import.meta.dirname, '..');
const folder = path.join(root, 'npm');
const isRelease = process.argv.includes('--all');
const manifest = readManifest(root);

rmSync(folder, { recursive: true, force: true });
await new NapiCli().createNpmDirs({ cwd: root, npmDir: 'npm' });
const all = readdirSync(folder).toSorted();
const made = all.filter(fill);
const missing = all.filter((platform) => !made.includes(platform));
if (made.length === 0) fail('there is no binary of any platform at the top of the package: npm run build:publish');
if (isRelease && missing.length > 0) fail(`there are no binaries for ${missing.join(', ')}`);
for (const platform of missing) rmSync(path.join(folder, platform), { recursive: true });
if (isRelease) {
  const words = all.map((platform) => `optionalDependencies.${NAME}-${platform}=${manifest.version}`);
  execFileSync('npm', ['pkg', 'set', ...words], { cwd: root, stdio: 'inherit' });
}
for (const platform of made) console.log(path.relative(process.cwd(), path.join(folder, platform)));

/** Completes the package of a platform. Returns whether its binaries are there. */
function fill(platform) {
  const addon = `${NAME}.${platform}.node`;
  const server = `${NAME}-server.${platform}${platform.startsWith('win32') ? '.exe' : ''}`;
  const files = [addon, server];
  if (files.every((file) => !existsSync(path.join(root, file)))) return false;
  const place = path.join(folder, platform);
  for (const file of files) {
    const from = path.join(root, file);
    if (!existsSync(from)) fail(`${addon} is there, but ${file} is not: npm run build:publish`);
    check(file, from);
    // Of the same file as far as the file system can, since they are large.
    cpSync(from, path.join(place, file), { mode: 2 });
  }
  copyFileSync(path.join(root, 'LICENSE'), path.join(place, 'LICENSE'));
  const own = readManifest(place);
  own.files = files;
  // The program of the servers looks for libduckdb beside itself and in the folder of this dependency.
  own.dependencies = { '@duckdb/node-bindings': manifest.dependencies['@duckdb/node-bindings'] };
  writeFileSync(path.join(place, 'package.json'), `${JSON.stringify(own, undefined, 2)}\n`);
  return true;
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
