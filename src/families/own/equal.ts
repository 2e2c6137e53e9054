/** The results of ways in a form that several languages share, and the comparison of two results. */

/** The relative difference up to which two numbers are the same, unless the user sets another: additions in another order. */
export const DEFAULT_TOLERANCE = 1e-9;

/** The deepest nesting of a result. */
export const DEEPEST = 200;

/** A result as JSON has it: numbers that JSON lacks are texts with a mark before them. */
export type Canonical = null | boolean | number | string | readonly Canonical[] | { readonly [key: string]: Canonical };

/**
 * The canonical form of a value, which JSON can carry. Typed arrays, sets and other iterables become arrays. Maps and objects
 * become objects with sorted keys, and dates become texts of ISO 8601. Bigints become numbers if these are exact, and else texts.
 * `undefined` becomes `null`, and a property that is `undefined` or `null` is left out: Rust's `None` may be either.
 *
 * Throws a `TypeError` for functions, symbols, and values that contain themselves.
 */
export function canonicalOf(value: unknown, depth = 0): Canonical {
  if (depth > DEEPEST) throw new TypeError(`a result is nested more than ${DEEPEST} levels deep, or contains itself`);
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
    case 'string':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : `number:${value}`;
    case 'bigint':
      return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case 'object':
      return value === null ? null : objectOf(value, depth + 1);
    default:
      throw new TypeError(`a result must be data, not a ${typeof value}`);
  }
}

function objectOf(value: object, depth: number): Canonical {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (value instanceof DataView) return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
  if (value instanceof Map)
    return entriesOf(
      [...value].map(([key, each]) => [String(key), each]),
      depth,
    );
  if (Symbol.iterator in value) {
    return Array.from(value as Iterable<unknown>, (each) => canonicalOf(each, depth));
  }
  return entriesOf(Object.entries(value), depth);
}

function entriesOf(entries: readonly (readonly [string, unknown])[], depth: number): Canonical {
  const canonical = entries
    .map(([key, value]) => [key, canonicalOf(value, depth)] as const)
    .filter(([, value]) => value !== null);
  return Object.fromEntries(canonical.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The first difference between two canonical values, as a clause; `undefined` if they are the same. */
export function differenceOf(
  found: Canonical,
  expected: Canonical,
  tolerance = DEFAULT_TOLERANCE,
  path = 'the result',
): string | undefined {
  if (typeof found === 'number' && typeof expected === 'number') {
    const isClose = Math.abs(found - expected) <= tolerance * Math.max(Math.abs(found), Math.abs(expected));
    return isClose ? undefined : `${path} is ${found}, expected ${expected}`;
  }
  if (isArray(found) && isArray(expected)) {
    if (found.length !== expected.length) return `${path} has ${found.length} items, expected ${expected.length}`;
    for (let index = 0; index < expected.length; index += 1) {
      const difference = differenceOf(found[index]!, expected[index]!, tolerance, `${path}[${index}]`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (isObject(found) && isObject(expected)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const difference = differenceOf(found[key] ?? null, expected[key] ?? null, tolerance, `${path}.${key}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return found === expected ? undefined : `${path} is ${shown(found)}, expected ${shown(expected)}`;
}

function isArray(value: Canonical): value is readonly Canonical[] {
  return Array.isArray(value);
}

function isObject(value: Canonical): value is { readonly [key: string]: Canonical } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The most characters of a value in a message. */
const MOST_SHOWN = 60;

function shown(value: Canonical): string {
  const text = JSON.stringify(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}
