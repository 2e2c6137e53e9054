/** Values that no function expects, and the outcomes that a call with one of them may have. */
import { expect, test } from 'vitest';

import { BoundaryError } from '../../src/index.js';
import { detached } from '../detached.js';

/** Makes new values each time, since a call may change them. None of them runs code of its own when it is read. */
export function hostileValues(): unknown[] {
  return [
    undefined,
    null,
    true,
    0,
    -1,
    1.5,
    Number.NaN,
    Infinity,
    2 ** 53,
    1e300,
    10n,
    2n ** 70n,
    '',
    'x',
    'a\ud800',
    'a\0b',
    Symbol('odd'),
    () => 'x',
    // oxlint-disable-next-line no-extraneous-class -- its being a class is what matters
    class {},
    {},
    { x: 1 },
    Object.create(null),
    [],
    [1],
    [null],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is a value of its own
    [, 1],
    [[]],
    fourBillionHoles(),
    new Map([['a', 1]]),
    new Set([1]),
    new Date(Number.NaN),
    /x/,
    new Error('odd'),
    new Uint8Array(3),
    detached(new Uint8Array(3)),
    new Float64Array(3),
    new BigInt64Array(2),
    new ArrayBuffer(3),
    new SharedArrayBuffer(3),
    Promise.resolve(1),
    Object.create(AbortSignal.prototype),
    new Proxy({}, {}),
    new Proxy([], {}),
  ];
}

/** An array as long as an array can be, which takes no memory, and takes hours if each of its elements is looked at. */
export function fourBillionHoles(): undefined[] {
  const array: undefined[] = [];
  array.length = 2 ** 32 - 1;
  return array;
}

/** Codes that say that something was not foreseen. */
const UNFORESEEN = new Set(['BB_UNEXPECTED', 'BB_INTERNAL']);

/** The longest that a call may take, in milliseconds, if nothing keeps the machine busy. */
const LONGEST_MS = 20_000;

/**
 * The problem with the outcome of a call: an error that is no `BoundaryError`, or one that was not foreseen, or no end. Undefined if
 * the call was refused by a `BoundaryError`, or gave a result, which `settle` gets.
 */
export async function problemOf(
  call: () => unknown,
  settle: (result: unknown) => unknown,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('it does not end'), LONGEST_MS);
  });
  const work = (async () => {
    try {
      await settle(await call());
      return undefined;
    } catch (thrown) {
      return problemOfError(thrown);
    }
  })();
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function problemOfError(thrown: unknown): string | undefined {
  if (!(thrown instanceof BoundaryError)) return `it throws ${String(thrown)}`;
  if (!/^BB_[A-Z_]+$/.test(thrown.code)) return `its code is ${thrown.code}`;
  return UNFORESEEN.has(thrown.code) ? `it throws ${thrown.code}: ${thrown.message}` : undefined;
}

/** A call with hostile arguments. */
interface Variant {
  readonly what: string;
  readonly args: readonly unknown[];
  /** Whether the call must be refused: it has an option of no such name, or of no such value, which would leave a default in place. */
  readonly isRefused: boolean;
}

const isUndefined = (value: unknown): boolean => value === undefined;
const isBoolean = (value: unknown): boolean => value === undefined || typeof value === 'boolean';
const isAmong =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    value === undefined || values.includes(value);

/** The hostile values that each option takes after all; an object that has one of these options takes no others. */
const TAKEN: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...Object.fromEntries(
    [
      'signal timeoutMs connectTimeoutMs connections pipelining maxResponseBytes tls int64 collation',
      'batchRows mode max acquireTimeoutMs count graceMs place comparison',
    ].flatMap((line) => line.split(' ').map((name) => [name, isUndefined])),
  ),
  min: isAmong(0),
  checkAfterMs: isAmong(0),
  idleTimeoutMs: isAmong(Infinity),
  maxQueued: isAmong(0, Infinity),
  worker: isAmong(0),
  ...Object.fromEntries(
    ['readAhead', 'http2', 'replace', 'force', 'nullable', 'allowPublicKeyRetrieval'].map((name) => [name, isBoolean]),
  ),
};

/** The arguments of a call, each replaced by each hostile value, and so is each property of an argument that is a plain object. */
function* variantsOf(good: () => readonly unknown[]): Generator<Variant> {
  const { length } = good();
  const count = hostileValues().length;
  for (let index = 0; index < length; index++) {
    for (let value = 0; value < count; value++) {
      const args = good().with(index, hostileValues()[value]);
      yield { what: `argument ${index}: value ${value}`, args, isRefused: false };
    }
    const names = namesOf(good()[index]);
    const areOptions = names.some((name) => Object.hasOwn(TAKEN, name));
    for (const name of names.length === 0 ? [] : [...names, 'unknownName']) {
      for (let at = 0; at < count; at++) {
        const args = [...good()];
        const value = hostileValues()[at];
        args[index] = { ...(args[index] as object), [name]: value };
        const isRefused = name === 'unknownName' ? areOptions : TAKEN[name]?.(value) === false;
        yield { what: `argument ${index}.${name}: value ${at}`, args, isRefused };
      }
    }
  }
  for (let fewer = 0; fewer < length; fewer++) {
    yield { what: `${fewer} arguments`, args: good().slice(0, fewer), isRefused: false };
  }
}

function namesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return [];
  return Object.keys(value);
}

/** The names of the functions that an object has from its own class and those that it extends, and of its getters. */
export function membersOf(object: object): string[] {
  const names = new Set<string>();
  let prototype: object | null = typeof object === 'function' ? object : (Object.getPrototypeOf(object) as object);
  while (prototype !== null && prototype !== Object.prototype && prototype !== Function.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name);
    }
    prototype = typeof object === 'function' ? null : (Object.getPrototypeOf(prototype) as object | null);
  }
  return [...names];
}

/** A function with arguments that it takes. */
type Entry = readonly [good: () => readonly unknown[], call: (...args: never[]) => unknown];

/** Functions with their arguments, by their names. */
export type Entries = Record<string, Entry>;

export const none = (): unknown[] => [];

/** Reads the result of a call, and ends it. */
export async function settle(result: unknown): Promise<void> {
  if (typeof result !== 'object' || result === null) return;
  try {
    if (Symbol.asyncIterator in result) {
      for await (const _ of result as AsyncIterable<unknown>) break;
    }
  } finally {
    if (Symbol.asyncDispose in result) await (result as AsyncDisposable)[Symbol.asyncDispose]();
    else if (Symbol.dispose in result) (result as Disposable)[Symbol.dispose]();
  }
}

/** The method of an object that is not made yet when the tests are listed. */
export function method<Receiver>(of: () => Receiver, name: keyof Receiver): Entry[1] {
  return (...args) => (of()[name] as (...args: never[]) => unknown).apply(of(), args);
}

/** Tests that call each entry first with the arguments that it takes, and then with every variant of them. */
export function hostileTests(entries: Entries): void {
  test.each(Object.entries(entries))('%s', { timeout: 120_000 }, async (_, [good, given]) => {
    const call = given as (...args: readonly unknown[]) => unknown;
    await settle(await call(...good()));
    const problems: string[] = [];
    for (const { what, args, isRefused } of variantsOf(good)) {
      let isTaken = false;
      const work = async (): Promise<unknown> => {
        const result = await call(...args);
        isTaken = true;
        return result;
      };
      const problem = (await problemOf(work, settle)) ?? (isTaken && isRefused ? 'it is taken' : undefined);
      if (problem !== undefined) problems.push(`${what}: ${problem}`);
    }
    expect(problems).toEqual([]);
  });
}
