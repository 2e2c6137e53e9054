/** The threads of this process that worked during a timed span. `native/kernel/src/used.rs` counts the same in Rust. */
import { readFileSync, readdirSync } from 'node:fs';

/** The share of a span that a thread has run for, if it counts as one that worked. */
const WORKING_SHARE = 0.05;

/**
 * The length of a span in seconds below which threads are not counted. The kernel updates the account of a running
 * thread only at each tick of its scheduler.
 */
const SHORTEST_SECONDS = 0.02;

/** The most seconds by which the accounts of running threads lag behind the account of the process. */
const LAG_SECONDS = 0.01;

const NANOSECONDS_PER_SECOND = 1e9;
const MICROSECONDS_PER_SECOND = 1e6;

/** The CPU time in seconds until now: of the process, and of each of its threads by its number. */
export interface ThreadTimes {
  readonly process: number;
  readonly threads: ReadonlyMap<string, number>;
}

/** Reads the CPU times of the threads; `undefined` if the platform does not provide them. */
export function threadTimes(): ThreadTimes | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const { user, system } = process.cpuUsage();
    const threads = readdirSync('/proc/self/task').flatMap((thread) => timeOf(thread));
    return { process: (user + system) / MICROSECONDS_PER_SECOND, threads: new Map(threads) };
  } catch {
    return undefined;
  }
}

/** The time of a thread; none of one that has ended meanwhile. */
function timeOf(thread: string): readonly (readonly [string, number])[] {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ');
    return [[thread, Number(nanoseconds) / NANOSECONDS_PER_SECOND]];
  } catch {
    return [];
  }
}

/**
 * The number of threads that ran for at least `WORKING_SHARE` of a span of `seconds` seconds; `undefined` if the span
 * is too short to tell. Threads that have ended since `before` count as one, if all of them together did.
 */
export function workingThreads(
  before: ThreadTimes | undefined,
  after: ThreadTimes | undefined,
  seconds: number,
): number | undefined {
  if (before === undefined || after === undefined || !(seconds >= SHORTEST_SECONDS)) return undefined;
  const least = seconds * WORKING_SHARE;
  let [working, alive] = [0, 0];
  for (const [thread, time] of after.threads) {
    const ran = time - (before.threads.get(thread) ?? 0);
    alive += ran;
    if (ran >= least) working += 1;
  }
  const ended = after.process - before.process - alive;
  return working + (ended >= Math.max(least, LAG_SECONDS) ? 1 : 0);
}

/** Whether `process.hrtime` is one clock for all threads. In Bun and Deno it counts from the start of each thread. */
const IS_HRTIME_SHARED = !('Bun' in globalThis || 'Deno' in globalThis);

/**
 * The time in milliseconds by a clock that all threads and processes of this machine share. `performance.now()` counts
 * from each thread's start.
 */
export function sharedNow(): number {
  return IS_HRTIME_SHARED ? Number(process.hrtime.bigint()) / 1e6 : performance.timeOrigin + performance.now();
}
