/** The place of libduckdb. It comes with `@duckdb/node-bindings`, in a package per platform. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { platformName } from './addon-error.js';

/** The names of the library's file on other systems than Linux. */
const FILES: Readonly<Record<string, string>> = { darwin: 'libduckdb.dylib', win32: 'duckdb.dll' };

/** The path, once it was found: each engine that is opened asks for it. */
let known: string | undefined;

/** The path of libduckdb, wherever npm put it. `undefined` if it is not installed. */
export function duckdbLibrary(): string | undefined {
  known ??= findLibrary();
  return known;
}

function findLibrary(): string | undefined {
  const libc = platformName().endsWith('-musl') ? '-musl' : '';
  try {
    const bindings = createRequire(createRequire(import.meta.url).resolve('@duckdb/node-bindings/package.json'));
    const platform = `@duckdb/node-bindings-${process.platform}-${process.arch}${libc}`;
    return join(dirname(bindings.resolve(`${platform}/package.json`)), FILES[process.platform] ?? 'libduckdb.so');
  } catch {
    return undefined;
  }
}
