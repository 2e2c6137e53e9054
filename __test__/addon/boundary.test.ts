import { describe, expect, it } from 'vitest';
import { crossing } from '../../src/crossing-addon.js';
import { noErrorAwaited, oddValues } from './odd-values.js';

type Call = (...values: unknown[]) => unknown;

const { BoundaryCounter, ThreadCaller, ...napiRs } = crossing.napiRs;
const byHand = crossing.boundaryByHand() as unknown as Record<string, Call>;

/** Odd values, among them counters that are whole, and one that is not. */
function oddArguments(): unknown[] {
  const counters = [new BoundaryCounter(), byHand['makeCounter']!(), Object.create(BoundaryCounter.prototype)];
  return [...oddValues(), ...counters, new Float64Array(0)];
}

describe.each([
  ['napi-rs', napiRs as unknown as Record<string, Call>],
  ['Node-API by hand', byHand],
  ['the event loop', crossing.eventLoop as unknown as Record<string, Call>],
])('the functions by %s', (_, functions) => {
  it.each(Object.keys(functions))('%s throws or returns for any values', async (name) => {
    const call = functions[name]!;
    const thrown = [await noErrorAwaited(() => call())];
    for (const value of oddArguments()) {
      thrown.push(await noErrorAwaited(() => call(value)), await noErrorAwaited(() => call(value, value)));
      thrown.push(await noErrorAwaited(() => call.call(value, 1, value)));
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
        expect(crossing.napiRs.readText(text), `${letter} by napi-rs`).toBe(expected);
      }
    },
  );
});

it('a function is called from another thread, many times at once', async () => {
  const caller = new ThreadCaller((value: number) => value * 2);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, number) => caller.call(number)));
  expect(answers).toEqual(Array.from({ length: 100 }, (_, number) => number * 2));
});
