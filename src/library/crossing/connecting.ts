import { BoundaryError, TIMEOUT } from '../../errors.js';
import { describeValue } from './describe-value.js';

/** How long connecting and logging in may take where nothing else is said, in milliseconds. The clients in Rust take no longer. */
const CONNECT_TIMEOUT_MS = 10_000;

/** How much later than the clients in Rust give up by themselves, in milliseconds: their errors name the server. */
const GRACE_MS = 200;

/** How a client connects. */
export interface ConnectOptions {
  /**
   * The most milliseconds that connecting and logging in may take, 1 to 10000; then it is `BB_TIMEOUT`. 10000 where it is left
   * out, or `timeoutMs` where that is less.
   */
  readonly connectTimeoutMs?: number | undefined;
}

/** The time for connecting, checked. */
export function connectTimeoutOf(connectTimeoutMs: unknown, timeoutMs: number | undefined): number {
  if (connectTimeoutMs === undefined) return Math.min(CONNECT_TIMEOUT_MS, timeoutMs ?? CONNECT_TIMEOUT_MS);
  const isTime = Number.isInteger(connectTimeoutMs) && Number(connectTimeoutMs) >= 1;
  if (isTime && Number(connectTimeoutMs) <= CONNECT_TIMEOUT_MS) return Number(connectTimeoutMs);
  throw new BoundaryError(
    'BB_INVALID_ARGUMENT',
    `connectTimeoutMs must be an integer of 1 to ${CONNECT_TIMEOUT_MS}, not ${describeValue(connectTimeoutMs)}`,
  );
}

/** Waits for what is being opened for so many milliseconds; what is there only later is given to `discard`. */
export async function connecting<T>(opening: Promise<T>, ms: number, discard: (late: T) => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      opening.then(discard, () => {});
      reject(new BoundaryError(TIMEOUT, `connecting took longer than its ${ms} ms`));
    }, ms + GRACE_MS);
  });
  try {
    return await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}
