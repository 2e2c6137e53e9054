/** Values that no function expects, for tests of what functions do with them. */
import { expect } from 'vitest';

import { detached } from '../detached.js';

/** Matches the error of a wrong argument. */
export const invalid = expect.objectContaining({ message: expect.stringContaining('[BB_INVALID_ARGUMENT]') });

/** Odd values, new ones for each call. */
export function oddValues(): unknown[] {
  return [
    undefined,
    null,
    Number.NaN,
    -1,
    0.5,
    2 ** 31,
    2 ** 53,
    Infinity,
    '',
    'ä'.repeat(300),
    '\uD800',
    2n ** 80n,
    Symbol('odd'),
    true,
    {},
    [],
    [undefined],
    { length: 2 ** 32 },
    detached(new Uint8Array(8)),
    new Uint8Array(0),
    new Uint8Array(new SharedArrayBuffer(8)),
    new Float64Array(1),
    new DataView(new ArrayBuffer(8)),
    new Proxy(new Uint8Array(8), {}),
    Object.create(null),
    () => {
      throw new Error('from a callback');
    },
  ];
}

/** The value that a call throws if it is no error; undefined for a call that throws an error, or returns. */
export function noError(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return unlessError(error);
  }
}

/** The same for a call that may return a promise: the reason of a rejection counts as thrown. */
export async function noErrorAwaited(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return unlessError(error);
  }
}

function unlessError(thrown: unknown): unknown {
  return thrown instanceof Error ? undefined : (thrown ?? 'nothing was thrown');
}
