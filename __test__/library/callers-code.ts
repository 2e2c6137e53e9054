/**
 * Getters, proxies and iterators among the values of a call run the caller's code while the library reads them. At any such
 * place that code may make another request, throw or close: no request is mixed with another, sent in half or lost without an
 * error.
 */
import { describe, expect, test } from 'vitest';

import { BoundaryError } from '../../src/index.js';
import { type Watch, watching } from './watched-values.js';

/** A part of the library that takes values of a caller. */
export interface Taker {
  /** Makes a call with values that hold the mark, wrapped by `watch`; resolves to its result, which holds the mark. */
  call(mark: string, watch: Watch): unknown;
  close(): unknown;
}

/** The result that a call with a mark must have. */
export type Expected = (mark: string) => unknown;

export const asGiven: Watch = (value) => value;

/** The result of a call as a promise: a call that throws counts as one that rejects. */
function outcome(work: () => unknown): Promise<unknown> {
  const done = new Promise((resolve) => resolve(work()));
  // If an expectation fails first, no caller awaits the promise.
  done.catch(() => {});
  return done;
}

/**
 * The number, roughly, of a call's reads at which the caller's code acts, evenly spaced; with fewer reads, it acts at
 * each.
 */
const MOST_PLACES = 24;

/** Runs `act` at places at which a call reads a value, about `MOST_PLACES` of them, each with a new taker of `open`. */
async function atEveryRead(
  open: () => Promise<Taker>,
  act: (taker: Taker, outer: (act: () => void) => Promise<unknown>, place: number) => Promise<void>,
): Promise<void> {
  let reads = 0;
  const first = await open();
  await outcome(() =>
    first.call(
      'c',
      watching(() => (reads += 1)),
    ),
  );
  await first.close();
  const step = Math.max(1, Math.floor(reads / MOST_PLACES));
  for (let place = 1; place <= reads; place += step) {
    const taker = await open();
    const outer = (inside: () => void): Promise<unknown> => {
      let read = 0;
      return outcome(() =>
        taker.call(
          'o',
          watching(() => void ((read += 1) === place && inside())),
        ),
      );
    };
    await act(taker, outer, place);
    await taker.close();
  }
}

/** The tests that all takers share, for the takers that `open` makes. */
export function takesCodeOfItsCaller(name: string, open: () => Promise<Taker>, expected: Expected): void {
  describe(`${name}`, () => {
    testsOf(open, expected);
  });
}

function testsOf(open: () => Promise<Taker>, expected: Expected): void {
  test('a getter that asks for something else mixes nothing', async () => {
    const other = await open();
    await atEveryRead(open, async (taker, outer) => {
      const inner: Promise<unknown>[] = [];
      const outerDone = outer(() => {
        inner.push(
          outcome(() => taker.call('i', asGiven)),
          outcome(() => other.call('j', asGiven)),
        );
      });
      expect(await outerDone).toEqual(expected('o'));
      expect(await Promise.all(inner)).toEqual([expected('i'), expected('j')]);
    });
    expect(await outcome(() => other.call('k', asGiven))).toEqual(expected('k'));
    await other.close();
  });

  test('a getter that throws leaves nothing behind', async () => {
    const other = await open();
    await atEveryRead(open, async (taker, outer) => {
      const reason = new Error('no');
      await expect(
        outer(() => {
          throw reason;
        }),
      ).rejects.toSatisfy((thrown) => thrown === reason || (thrown as Error).cause === reason);
      expect(await outcome(() => taker.call('a', asGiven))).toEqual(expected('a'));
      expect(await outcome(() => other.call('b', asGiven))).toEqual(expected('b'));
    });
    await other.close();
  });

  test('a getter that closes loses nothing without a word', async () => {
    const other = await open();
    await atEveryRead(open, async (taker, outer) => {
      const settled = await outer(() => void taker.close()).catch((thrown: unknown) => thrown);
      const code = settled instanceof BoundaryError ? settled.code : settled;
      expect([expected('o'), 'BB_CLOSED']).toContainEqual(code);
      expect(await outcome(() => other.call('b', asGiven))).toEqual(expected('b'));
    });
    await other.close();
  });
}

export const text = (value: string): Uint8Array => new TextEncoder().encode(value);
