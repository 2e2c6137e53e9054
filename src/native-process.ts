/** What the program of the side `rust` is asked and given. It starts processes, so the library does not load it. */
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';

import { nativeFile } from './binaries.js';
import { duckdbLibrary } from './duckdb-library.js';

/** Whether the program of the side `rust` has all parts, once it was asked. */
let isAll: boolean | undefined;

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
