import { BoundaryError, splitMessage } from '../../errors.js';

/**
 * Words at the head of each result of a frame, as `native/kernel/src/frame.rs` describes: the id, the status, the count, the
 * number of bytes of the data, and the flags.
 */
export const RESULT_WORDS = 5;

/** Statuses of results: that of an answered request, and that of a lost connection, whose number is the result's id. */
export const ANSWERED = 0;
export const GONE = 2;

/** The flag of a result whose bytes are all ASCII. */
export const ASCII = 1;

/** Bytes of a buffer that small results share, as `native/addon/src/shared_memory.rs` makes it. */
export const SHARED_BYTES = 64 << 10;

/** The error of a text that begins with its code in brackets. */
export function errorOf(text: string): BoundaryError {
  const { code, text: message } = splitMessage(text) ?? { code: 'BB_INTERNAL', text };
  return new BoundaryError(code, message);
}
