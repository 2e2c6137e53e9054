import { describe, expect, it } from 'vitest';
import { addon } from '../../src/addon.js';

type Call = (...values: unknown[]) => unknown;

const { BoundaryCounter, ThreadCaller, ...napiRs } = addon.napiRs;
const byHand = addon.boundaryByHand() as unknown as Record<string, Call>;

/** Values that no function expects. */
function oddValues(): unknown[] {
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  return [
    undefined,
    null,
    Number.NaN,
    -1,
    2 ** 53,
    Infinity,
    '',
    'ä'.repeat(300),
    '\uD800',
    2n ** 80n,
    Symbol('odd'),
    {},
    [undefined],
    { length: 2 ** 32 },
    detached,
    new Uint8Array(new SharedArrayBuffer(8)),
    new Float64Array(0),
    new BoundaryCounter(),
    byHand['makeCounter']!(),
    Object.create(BoundaryCounter.prototype),
    () => {
      throw new Error('from the callback');
    },
  ];
}

/** What a call throws or rejects with, that is no error; a call that returns is as good. */
async function noError(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error instanceof Error ? undefined : error;
  }
}

describe.each([
  ['napi-rs', napiRs as unknown as Record<string, Call>],
  ['Node-API by hand', byHand],
  ['the event loop', addon.eventLoop as unknown as Record<string, Call>],
])('the functions by %s', (_, functions) => {
  it.each(Object.keys(functions))('%s throws or returns for any values', async (name) => {
    const call = functions[name]!;
    const thrown = [await noError(() => call())];
    for (const value of oddValues()) {
      thrown.push(await noError(() => call(value)), await noError(() => call(value, value)));
      thrown.push(await noError(() => call.call(value, 1, value)));
    }
    expect(thrown.filter((value) => value !== undefined)).toEqual([]);
  });
});

it('an object that wraps no counter is refused', () => {
  const [makeCounter, addTo] = [byHand['makeCounter']!, byHand['addTo']!];
  const counter = makeCounter();
  expect([addTo(counter, 1), addTo(counter, 2)]).toEqual([1, 3]);
  for (const other of [1, {}, new BoundaryCounter(), Object.create(counter as object)]) {
    expect(addTo(other, 1)).toBeUndefined();
  }
  expect(() => addTo(undefined, 1)).toThrow(TypeError);
  const unmade: unknown = Object.create(BoundaryCounter.prototype);
  expect(() => BoundaryCounter.prototype.add.call(unmade as never, 1)).toThrow(
    /recover|Illegal|InvalidArg|unwrap|BoundaryCounter/i,
  );
});

describe('a text', () => {
  it.each([0, 1, 249, 250, 251, 252, 253, 254, 255, 256, 257, 5000])(
    'of %i characters is read to its end',
    (length) => {
      for (const letter of ['a', 'ä', '\u0430', '\u20ac', '\u{1f600}']) {
        const text = letter.repeat(length);
        const expected = length === 0 ? 0 : letter.codePointAt(0);
        expect(byHand['readText']!(text), `${letter} by hand`).toBe(expected);
        expect(addon.napiRs.readText(text), `${letter} by napi-rs`).toBe(expected);
      }
    },
  );
});

it('a function is called from another thread, many times at once', async () => {
  const caller = new ThreadCaller((value: number) => value * 2);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, number) => caller.call(number)));
  expect(answers).toEqual(Array.from({ length: 100 }, (_, number) => number * 2));
});
