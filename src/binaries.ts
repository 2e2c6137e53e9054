/**
 * The binaries that few applications need: the addon of crossings, the program of the side `rust`, the reference servers, and the addon with
 * all engines. In a clone they are at its top. For users they are a package of their own.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { platformName } from './addon-error.js';
import { duckdbLibrary } from './duckdb-library.js';
import { BoundaryError } from './errors.js';

const NAME = 'boundary-bench';

/** The folder of this package, with `index.cjs`: one up from `src` and from `dist`. */
export const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Whether the program of the side `rust` has all parts, once it was asked. */
let isAll: boolean | undefined;

/** The file of the addon of crossings, or the one that `BOUNDARY_BENCH_CROSSING` names. Throws `BB_NOT_INSTALLED` if it is not there. */
export function crossingFile(): string {
  return process.env['BOUNDARY_BENCH_CROSSING'] ?? benchFile('crossing', '.node');
}

/** The file of the program of the side `rust`. Throws `BB_NOT_INSTALLED` with what to do if it is not there. */
export function nativeFile(): string {
  return benchFile('native', process.platform === 'win32' ? '.exe' : '');
}

/** Asks the program of the side `rust` whether it has what only `npm run build:all` builds. Throws the errors of `nativeFile`. */
export function isAllNative(): boolean {
  isAll ??= (
    JSON.parse(
      execFileSync(nativeFile(), ['--features'], { encoding: 'utf8', env: nativeEnvironment() ?? process.env }),
    ) as { readonly all: boolean }
  ).all;
  return isAll;
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

/** The reason why a binary that only measuring needs is not there, with the remedy. `undefined` if it is. */
export function whyMissing(file: () => string): string | undefined {
  try {
    file();
    return undefined;
  } catch (error) {
    const { message, hint } = error as BoundaryError;
    return `${message}. ${hint}`;
  }
}

function benchFile(part: 'crossing' | 'native', extension: string): string {
  const file = `${NAME}-${part}.${platformName()}${extension}`;
  const built = join(PACKAGE_ROOT, file);
  if (existsSync(built)) return built;
  const folder = programsFolder();
  if (folder !== undefined) return join(folder, file);
  const hint = isClone()
    ? 'Build it: npm run build'
    : `Only measuring needs it: npm install --save-dev ${programsPackage()}@${ownVersion()}`;
  throw new BoundaryError('BB_NOT_INSTALLED', `${file} is not installed`, { hint });
}

/** The folder of the package of this platform that has these binaries; `undefined` if it is not installed in this package's version. */
export function programsFolder(): string | undefined {
  try {
    const require = createRequire(join(PACKAGE_ROOT, 'package.json'));
    const manifest = require.resolve(`${programsPackage()}/package.json`);
    return versionIn(manifest) === ownVersion() ? dirname(manifest) : undefined;
  } catch {
    return undefined;
  }
}

/** The file of the addon with all engines; `undefined` if it is not installed apart from the other one. */
export function fullAddonFile(): string | undefined {
  const file = `${NAME}-all.${platformName()}.node`;
  const folders = [PACKAGE_ROOT, programsFolder()].filter((folder) => folder !== undefined);
  return folders.map((folder) => join(folder, file)).find((path) => existsSync(path));
}

/** The command that brings all engines, shards, and the crates of others that ours are compared with. */
export function allCommand(): string {
  return isClone() ? 'npm run build:all' : `npm install ${programsPackage()}@${ownVersion()}`;
}

function isClone(): boolean {
  return existsSync(join(PACKAGE_ROOT, 'Cargo.toml'));
}

function programsPackage(): string {
  return `${NAME}-programs-${platformName()}`;
}

function ownVersion(): string {
  return versionIn(join(PACKAGE_ROOT, 'package.json'));
}

function versionIn(manifest: string): string {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}
