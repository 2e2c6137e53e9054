import { invalidArgument } from '../../errors.js';
import { describeValue } from './describe-value.js';

/** The most items of an iterable of names and values. */
const MOST_ITEMS = 1 << 20;

/**
 * Whether an object holds its values as its own properties: one made by `{}` or `Object.create(null)`. The values in a `Map`, a
 * `Headers`, an instance of a class or a promise are not among its own properties.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The second test knows the objects of other realms, whose prototype is another one.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * The names and values that a caller gives by name. They are the own properties of a plain object, the pairs of a `Map`, a
 * `Headers` or another iterable, or an array of names and values by turns. Throws `BB_INVALID_ARGUMENT` for anything else, whose
 * values would be lost.
 */
export function namedValues(what: string, given: unknown): (readonly [unknown, unknown])[] {
  if (isPlainObject(given)) return Object.entries(given);
  // The numbers of a typed array are no pairs, and one whose memory is detached has no iterator.
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given) || ArrayBuffer.isView(given)) {
    throw invalidArgument(
      `${what} must be a plain object, a Map or another iterable of names and values, not ${shown(given)}`,
    );
  }
  const items: unknown[] = [];
  for (const item of given as Iterable<unknown>) {
    // An array may be of four billion holes, and an iterable may have no end.
    if (items.push(item) > MOST_ITEMS) throw invalidArgument(`${what}: more than ${MOST_ITEMS} of them`);
    if (items.length === 1 && typeof item !== 'string') pairOf(what, item, 0);
  }
  return typeof items[0] === 'string' ? byTurns(what, items) : items.map((item, index) => pairOf(what, item, index));
}

/** The pairs of an array in which names and values follow each other. */
function byTurns(what: string, items: readonly unknown[]): (readonly [unknown, unknown])[] {
  if (items.length % 2 !== 0) throw invalidArgument(`${what}: the last name has no value`);
  return Array.from({ length: items.length / 2 }, (_, index) => [items[2 * index], items[2 * index + 1]] as const);
}

function pairOf(what: string, item: unknown, index: number): readonly [unknown, unknown] {
  if (Array.isArray(item) && item.length === 2) return [item[0], item[1]];
  const found = Array.isArray(item) ? `an array of ${item.length}` : shown(item);
  throw invalidArgument(`${what}: entry ${index} must be a pair of a name and its value, not ${found}`);
}

/** A value for an error. Of a text, which may hold a secret, only its kind. */
function shown(value: unknown): string {
  return typeof value === 'string' ? 'a text' : describeValue(value);
}
