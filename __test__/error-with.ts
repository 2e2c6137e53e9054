import { expect } from 'vitest';

import type { BoundaryError } from '../src/index.js';

/** Matches a `BoundaryError` with a code and, if one is given, with a text in its message. */
export function errorWith(code: string, message?: string | RegExp): Error {
  const text = typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message ?? /^/);
  return expect.objectContaining({ name: 'BoundaryError', code, message: text }) as Error;
}

/** The error that work rejects with. It must reject. */
export function failureOf(work: Promise<unknown>): Promise<BoundaryError> {
  return work.then(
    () => expect.fail('it must fail'),
    (thrown: unknown) => thrown as BoundaryError,
  );
}

/** The code of the error that work rejects with, or `resolved`. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'resolved',
    (thrown: unknown) => (thrown as BoundaryError).code,
  );
}
