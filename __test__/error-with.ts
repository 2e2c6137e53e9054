import { expect } from 'vitest';

/** Matches a `BoundaryError` with a code and, if one is given, with a text in its message. */
export function errorWith(code: string, message?: string | RegExp): Error {
  const text = typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message ?? /^/);
  return expect.objectContaining({ name: 'BoundaryError', code, message: text }) as Error;
}
