import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of what is installed beside this package: `$BOUNDARY_BENCH_CACHE`, else that of the system's caches. */
export function cacheFolder(): string {
  const { BOUNDARY_BENCH_CACHE: own, XDG_CACHE_HOME: common } = process.env;
  if (own !== undefined && own !== '') return own;
  return join(common !== undefined && common !== '' ? common : join(homedir(), '.cache'), 'boundary-bench');
}
