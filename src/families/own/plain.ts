/** Plain data: what it is, a proof that a call has left it as it was, and the reading of other results. */
import { isDeepStrictEqual, types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../../library/crossing/describe-value.js';
import { DEEPEST } from './equal.js';

/** Reads what a way returned, so that a result that is made when it is read is made within the timed call. */
export type Reader = (result: never) => number;

/**
 * Whether a value is plain data, of which nothing is computed when it is read: primitives, typed arrays, buffers and dates, and
 * arrays, objects, maps and sets of plain data. Proxies, accessors, functions, symbols and instances of classes are not plain.
 */
export function isPlain(value: unknown): boolean {
  const seen = new Set<unknown>();
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'function' || typeof next === 'symbol') return false;
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    const parts = partsOf(next);
    if (parts === undefined) return false;
    // One by one: there may be more than a call takes arguments.
    for (const part of parts) left.push(part);
  }
  return true;
}

/** The values in an object. `undefined` if it is not plain itself. */
function partsOf(value: object): readonly unknown[] | undefined {
  if (types.isProxy(value)) return undefined;
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return [];
  const keys = Array.isArray(value) ? value.keys() : Reflect.ownKeys(value);
  const isOfLanguage = Array.isArray(value) || types.isDate(value) || types.isMap(value) || types.isSet(value);
  if (prototypesOf(value) > (isOfLanguage ? 2 : 1) || Object.hasOwn(value, Symbol.iterator)) return undefined;
  const parts: unknown[] = types.isMap(value) ? [...value].flat() : types.isSet(value) ? [...value] : [];
  for (const key of keys) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property !== undefined && !('value' in property)) return undefined;
    parts.push(property?.value);
  }
  return parts;
}

/** The number of prototypes of an object: one of a plain object or none, and two of an array, a map, a set and a date. */
function prototypesOf(value: object): number {
  let count = 0;
  for (let each: unknown = Object.getPrototypeOf(value); each !== null; each = Object.getPrototypeOf(each)) count += 1;
  return count;
}

/** A copy of an input, without the parts of an object that are not plain data. `undefined` if nothing can be compared. */
export function copyOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return undefined;
  const isWhole = isPlain(input);
  if (!isWhole && (types.isProxy(input) || prototypesOf(input) > 1)) return undefined;
  try {
    if (isWhole) return structuredClone(input);
    const parts = Object.entries(Object.getOwnPropertyDescriptors(input)).filter(([, { value }]) => isPlain(value));
    return structuredClone(Object.fromEntries(parts.map(([name, { value }]) => [name, value])));
  } catch {
    // Its memory was handed over to another thread, or there is too little for a copy.
    return 'not copied';
  }
}

/** Throws `BB_INPUT_CHANGED` if a way has changed its input since `copy` was made of it. */
export function requireUnchanged(way: string, input: unknown, copy: unknown): void {
  if (copy === undefined || isDeepStrictEqual(copyOf(input), copy)) return;
  throw new BoundaryError(
    'BB_INPUT_CHANGED',
    `the way ${way} changed its input, so that its next call does other work`,
    { hint: 'Copy the input within the way. To compare the work alone, let all ways make the same copy.' },
  );
}

/**
 * Reads all of a result: each item of an iterable, and each property of another object. Throws `BB_INVALID_ARGUMENT` if
 * there is nothing that can be read.
 */
export function readInFull(value: unknown, depth = 0): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return value.length;
  if (typeof value === 'function' || typeof value === 'symbol' || depth > DEEPEST) throw unreadable(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return value.byteLength;
  if (types.isDate(value)) return value.getTime();
  const isIterable = Symbol.iterator in value;
  const parts = isIterable ? (value as Iterable<unknown>) : Object.values(value);
  let sum = 0;
  for (const each of parts) sum += readInFull(each, depth + 1);
  // The data of an object without properties is behind its methods and accessors, if it has any.
  if (!isIterable && (parts as unknown[]).length === 0 && prototypesOf(value) > 1) throw unreadable(value);
  return sum;
}

function unreadable(value: unknown): BoundaryError {
  return invalidArgument(`a result with ${describeValue(value)} can't be read in full`, {
    hint: 'Return data, or add what reads it to the workload: read: (result) => number.',
  });
}

/** Throws if what `read` returned is no number. */
export function checkRead(way: string, number: unknown): void {
  if (typeof number === 'number') return;
  throw invalidArgument(`read must return a number for the way ${way}, not ${describeValue(number)}`);
}

/** The calls of a way with the reading of their results. */
export function reading<Input>(
  run: (input: Input) => unknown,
  read: Reader,
  isLater: boolean,
): (input: Input) => unknown {
  return isLater ? async (input) => read((await run(input)) as never) : (input) => read(run(input) as never);
}
