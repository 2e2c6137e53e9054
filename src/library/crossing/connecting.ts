import { timedOut } from './cancellation.js';
import { integerIn } from './options.js';

/** The default time-out for connecting and logging in, in milliseconds, which is also the longest that the clients in Rust allow. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Delay in milliseconds after the time-out of the clients in Rust, so that their errors, which name the server, come first. */
const GRACE_MS = 200;

/** Options for connecting. */
export interface ConnectOptions {
  /**
   * The time-out for connecting and logging in, in milliseconds, 1 to 10000, after which it fails with `BB_TIMEOUT`. Default:
   * 10000, or `timeoutMs` if that is less.
   */
  readonly connectTimeoutMs?: number | undefined;
}

/** A check of `connectTimeoutMs`. */
export const checkConnectTimeout = integerIn(1, CONNECT_TIMEOUT_MS);

/** The time-out for connecting, in milliseconds, of options that were checked. */
export function connectTimeoutOf(connectTimeoutMs: number | undefined, timeoutMs: number | undefined): number {
  return connectTimeoutMs ?? Math.min(CONNECT_TIMEOUT_MS, timeoutMs ?? CONNECT_TIMEOUT_MS);
}

/** Waits at most `ms` milliseconds, and a grace period, for `opening`. A connection that opens later is given to `discard`. */
export async function connecting<T>(opening: Promise<T>, ms: number, discard: (late: T) => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      opening.then(discard, () => {});
      reject(timedOut(ms, 'connecting'));
    }, ms + GRACE_MS);
  });
  try {
    return await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}
