import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { type Found, cacheFolder } from './cache-folder.js';

/** The Python package that has Sail, of which `boundary-bench setup sail` installs this version. */
export const SAIL_PACKAGE = { name: 'pysail', version: '0.7.2' };

/** The name of the program in the cache. */
export const SAIL_PROGRAM = 'sail';

/** Searches `sail`: the program that `SAIL_PATH` names, else the one that `boundary-bench setup sail` puts into the cache. */
export function findSail(): Found {
  const named = process.env['SAIL_PATH'];
  if (named !== undefined && named !== '') {
    return isFile(named) ? { path: named } : { missing: `SAIL_PATH is ${named}, but there is no such file` };
  }
  const path = join(sailCache(), SAIL_PROGRAM);
  return isFile(path)
    ? { path }
    : { missing: 'Sail is not installed: run `npx boundary-bench setup sail`, or set SAIL_PATH to a program `sail`' };
}

/** The folder that `boundary-bench setup sail` fills. */
export function sailCache(): string {
  return join(cacheFolder(), 'sail');
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
