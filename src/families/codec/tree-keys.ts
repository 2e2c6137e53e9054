/** The keys of the trees, in tables that are made before they are used: as strings, and as bytes. */

/** The bytes of a key. */
export const KEY_BYTES = 8;

/** The keys of the tree of which ranges are read. */
export const RANGE_KEYS = 100_000;

/** A prime number: its multiples reach each number below a power of ten once. */
const STEP = 7_368_787;

/** The number at a place of the scrambled order of the numbers below `count`. */
export function scrambled(place: number, count: number): number {
  return (place * STEP) % count;
}

/** The key of a number below 10^8. */
function keyOf(number: number): string {
  return String(number).padStart(KEY_BYTES, '0');
}

/** Keys in some order. */
export interface KeyTable {
  /** The number of keys. */
  readonly count: number;
  /** The number of each key, which is its value. */
  readonly values: Float64Array;
  readonly texts: readonly string[];
  /** The bytes of each key, as two numbers. */
  readonly words: Int32Array;
}

const tables = new Map<string, KeyTable>();

/** The keys of the numbers below `count`: in their order, or in the one in which keys are put in and looked up. */
export function keyTable(count: number, order: 'sorted' | 'scrambled'): KeyTable {
  const name = `${order} ${count}`;
  const table =
    tables.get(name) ?? makeTable(count, order === 'sorted' ? (place) => place : (place) => scrambled(place, count));
  tables.set(name, table);
  return table;
}

function makeTable(count: number, numberAt: (place: number) => number): KeyTable {
  const values = Float64Array.from({ length: count }, (_, place) => numberAt(place));
  const bytes = Buffer.from(new ArrayBuffer(count * KEY_BYTES));
  for (let place = 0; place < count; place += 1) bytes.write(keyOf(values[place]!), place * KEY_BYTES, 'latin1');
  // Made from bytes, since such strings are flat, as strings from elsewhere are. In the order of the table, as Rust's keys lie.
  const texts = Array.from({ length: count }, (_, place) =>
    bytes.toString('latin1', place * KEY_BYTES, (place + 1) * KEY_BYTES),
  );
  return { count, values, texts, words: new Int32Array(bytes.buffer) };
}
