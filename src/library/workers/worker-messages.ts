/** Messages between a pool and its threads. A thread has one call at a time, so that messages need no numbers. */

import type { SentError } from '../../errors.js';

/** The data with which a thread is started. */
export interface ThreadStart {
  /** The URL of the module whose functions the thread calls. */
  readonly module: string;
  /** The handle of the engine to attach to; absent: none. */
  readonly engine?: string | undefined;
  readonly index: number;
  readonly count: number;
}

/** Messages to a thread. `abort` is for the call under way, and does nothing if that has ended. */
export type ToThread =
  | { readonly type: 'call'; readonly name: string; readonly argument: unknown }
  | { readonly type: 'abort' }
  | { readonly type: 'close' };

/**
 * Messages of a thread: one once it has started, then one for each call. Their types have a prefix, since the module of the thread may
 * send messages of its own over the same port.
 */
export type FromThread =
  | { readonly type: 'boundary-bench:ready' }
  | { readonly type: 'boundary-bench:returned'; readonly value: unknown }
  | { readonly type: 'boundary-bench:failed'; readonly error: SentError };
