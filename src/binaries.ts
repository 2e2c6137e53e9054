/**
 * The binaries that few applications need: the addon of crossings, the program of the side `rust`, the reference servers, and the addon with
 * all engines. In a clone they are at its top. For users the addon with all engines is a package of its own, and so are the others.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { platformName } from './addon-error.js';
import { duckdbLibrary } from './duckdb-library.js';
import { BoundaryError } from './errors.js';

const NAME = 'boundary-bench';

/** The packages of a platform: the addon with all engines, and what only measuring needs. */
const ALL = 'all';
const PROGRAMS = 'programs';
type PackageKind = typeof ALL | typeof PROGRAMS;

/** The folder of this package: one up from `src` and from `dist`. */
export const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The file of the addon of crossings, or the one that `BOUNDARY_BENCH_CROSSING` names. Throws `BB_NOT_INSTALLED` if it is not there. */
export function crossingFile(): string {
  return process.env['BOUNDARY_BENCH_CROSSING'] ?? benchFile('crossing', '.node');
}

/** The file of the program of the side `rust`. Throws `BB_NOT_INSTALLED` with what to do if it is not there. */
export function nativeFile(): string {
  return benchFile('native', process.platform === 'win32' ? '.exe' : '');
}

/**
 * The environment of the program of the side `rust`: Windows looks for libduckdb in the folders of PATH. `undefined` for the environment of
 * this process: elsewhere the program knows the folder.
 */
export function nativeEnvironment(): Record<string, string | undefined> | undefined {
  if (process.platform !== 'win32') return undefined;
  const library = duckdbLibrary();
  if (library === undefined) return undefined;
  return { ...process.env, PATH: `${dirname(library)};${process.env['PATH'] ?? ''}` };
}

/** The reason why a file that only measuring needs is not there, with the remedy. `undefined` if it is. */
export function whyMissing(file: () => string): string | undefined {
  try {
    file();
    return undefined;
  } catch (error) {
    const { message, hint } = error as BoundaryError;
    return hint === undefined ? message : `${message}. ${hint}`;
  }
}

function benchFile(part: 'crossing' | 'native', extension: string): string {
  const file = `${NAME}-${part}.${platformName()}${extension}`;
  const path = pathOf(file, PROGRAMS);
  if (path !== undefined) return path;
  const hint = isClone()
    ? 'Build it: npm run build'
    : `Only measuring needs it: npm install --save-dev ${packageOf(PROGRAMS)}@${ownVersion()}`;
  throw new BoundaryError('BB_NOT_INSTALLED', `${file} is not installed`, { hint });
}

/** The folder of the package that has what only measuring needs. `undefined` if it is not installed in this package's version. */
export function programsFolder(): string | undefined {
  return folderOf(PROGRAMS);
}

function folderOf(kind?: PackageKind): string | undefined {
  try {
    const require = createRequire(join(PACKAGE_ROOT, 'package.json'));
    const manifest = require.resolve(`${packageOf(kind)}/package.json`);
    return versionIn(manifest) === ownVersion() ? dirname(manifest) : undefined;
  } catch {
    return undefined;
  }
}

/** The file of the addon: the addon with all engines, if it is installed apart from the other one. Throws if there is none. */
export function addonFile(): string {
  const file = `${NAME}.${platformName()}.node`;
  const path = pathOf(`${NAME}-${ALL}.${platformName()}.node`, ALL) ?? pathOf(file);
  if (path === undefined) throw new Error(`there is no ${file}`);
  return path;
}

/** The path of a binary: at the top of this package, else in its package of this platform. `undefined` if it is in neither. */
function pathOf(file: string, kind?: PackageKind): string | undefined {
  const built = join(PACKAGE_ROOT, file);
  if (existsSync(built)) return built;
  const folder = folderOf(kind);
  const installed = folder === undefined ? undefined : join(folder, file);
  return installed !== undefined && existsSync(installed) ? installed : undefined;
}

/** The command that brings all engines and shards; in a clone also the crates of others that ours are compared with. */
export function allCommand(): string {
  return isClone() ? 'npm run build:all' : `npm install ${packageOf(ALL)}@${ownVersion()}`;
}

function isClone(): boolean {
  return existsSync(join(PACKAGE_ROOT, 'Cargo.toml'));
}

function packageOf(kind?: PackageKind): string {
  return [NAME, kind ?? [], platformName()].flat().join('-');
}

function ownVersion(): string {
  return versionIn(join(PACKAGE_ROOT, 'package.json'));
}

function versionIn(manifest: string): string {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}
