/**
 * The binaries that only measuring needs: the addon of crossings, the program of the side `rust`, and the reference servers. In a clone they
 * are at its top. For users they are a package of their own, which no application needs that imports the library.
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

/** The folder of this package: one up from `src` and from `dist`. */
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
  const platform = platformName();
  const file = `${NAME}-${part}.${platform}${extension}`;
  const built = join(PACKAGE_ROOT, file);
  if (existsSync(built)) return built;
  const folder = programsFolder();
  if (folder !== undefined) return join(folder, file);
  const hint = existsSync(join(PACKAGE_ROOT, 'Cargo.toml'))
    ? 'Build it: npm run build'
    : `Only measuring needs it: npm install --save-dev ${NAME}-programs-${platform}@${ownVersion()}`;
  throw new BoundaryError('BB_NOT_INSTALLED', `${file} is not installed`, { hint });
}

/** The folder of the package of this platform that has what only measuring needs; `undefined` if it is not installed. */
export function programsFolder(): string | undefined {
  try {
    const require = createRequire(join(PACKAGE_ROOT, 'package.json'));
    return dirname(require.resolve(`${NAME}-programs-${platformName()}/package.json`));
  } catch {
    return undefined;
  }
}

function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'));
  return (manifest as { readonly version: string }).version;
}
