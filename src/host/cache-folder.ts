import { homedir } from 'node:os';
import { join } from 'node:path';

/** A program to find: its path, or the instructions for getting it. */
export type Found = { readonly path: string } | { readonly missing: string };

/**
 * The folder of everything that is installed in addition to this package: `$BOUNDARY_BENCH_CACHE`, else a folder in the
 * system's caches.
 */
export function cacheFolder(): string {
  const { BOUNDARY_BENCH_CACHE: own, XDG_CACHE_HOME: common } = process.env;
  if (own !== undefined && own !== '') return own;
  return join(common !== undefined && common !== '' ? common : join(homedir(), '.cache'), 'boundary-bench');
}
