/** Whether `process.hrtime` is one clock for all threads. In Bun and Deno it counts from the start of each thread. */
const IS_HRTIME_SHARED = !('Bun' in globalThis || 'Deno' in globalThis);

/**
 * The time in milliseconds by a clock that all threads and processes of this machine share. `performance.now()` counts
 * from each thread's start.
 */
export function sharedNow(): number {
  return IS_HRTIME_SHARED ? Number(process.hrtime.bigint()) / 1e6 : performance.timeOrigin + performance.now();
}
