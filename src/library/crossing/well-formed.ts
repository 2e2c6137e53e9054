import { constants, isAscii } from 'node:buffer';

import { BoundaryError, invalidArgument } from '../../errors.js';
import type { NodeBuffer } from '../../platform-types.js';
import { describeValue } from './describe-value.js';
import { claimHeap } from './heap-room.js';

/** The problem of a text that is not well-formed, for the end of an error message. */
export const LONE_SURROGATE = 'has a lone surrogate, which UTF-8 cannot hold';

/** Whether a text is well-formed Unicode: without lone surrogates, which UTF-8 can't hold. */
export function isWellFormed(text: string): boolean {
  // The method exists in every supported version of Node, but only in later libraries of TypeScript than ours.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/**
 * Throws `BB_INVALID_ARGUMENT` for what is no string, and for a string with a lone surrogate: the addon would get U+FFFD in its place,
 * and two texts would become one. `name` names the text in the error, which does not quote it, since it may hold a password.
 */
export function checkText(name: string, text: unknown): asserts text is string {
  if (typeof text !== 'string') throw invalidArgument(`${name} must be a string, not ${describeValue(text)}`);
  if (!isWellFormed(text)) throw invalidArgument(`${name} ${LONE_SURROGATE}`);
}

/** The most bytes that are decoded together to be cut into texts: V8 has no string of much more, and the cuts keep all of it alive. */
export const MOST_DECODED_TOGETHER = 1 << 26;

/** The size of a text from which on Node keeps it outside of V8's heap, if it is decoded as Latin-1. */
export const EXTERNAL_BYTES = 1 << 20;

/**
 * The text of bytes. Throws `BB_TOO_LARGE` if V8 has no string of this length, and `BB_RESULT_TOO_LARGE` if its heap has no room for it.
 */
export function decodeText(bytes: NodeBuffer, encoding: 'utf8' | 'latin1', start: number, end: number): string {
  if (encoding === 'utf8' && end - start > EXTERNAL_BYTES) {
    if (isAscii(bytes.subarray(start, end))) return decodeText(bytes, 'latin1', start, end);
    // A character of two bytes or more may make V8 take two bytes for each character.
    if (end - start <= constants.MAX_STRING_LENGTH) claimHeap(2 * (end - start), 'a text', 'Read it as bytes');
  }
  try {
    return bytes.toString(encoding, start, end);
  } catch (cause) {
    throw new BoundaryError(
      'BB_TOO_LARGE',
      `a text of ${end - start} bytes is longer than the longest string, of ${constants.MAX_STRING_LENGTH} characters`,
      { hint: 'Read it as bytes', cause },
    );
  }
}

/** The text of a body: as `fetch` has it, without the byte order mark that the body may begin with. */
export function decodeBody(bytes: NodeBuffer, encoding: 'utf8' | 'latin1', start: number, end: number): string {
  const isMarked = end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf;
  return decodeText(bytes, encoding, isMarked ? start + 3 : start, end);
}
