import { addon, type JsonPaths as RawJsonPaths, type JsonRows as RawJsonRows } from '../../addon.js';
import { explained, invalidArgument } from '../../errors.js';
import type { NodeBuffer } from '../../platform-types.js';
import { checkIndex } from '../crossing/check-index.js';
import { checkMemory } from '../crossing/typed-memory.js';
import { checkText, decodeText, MOST_DECODED_TOGETHER } from '../crossing/well-formed.js';

/** Header words before the values of a path. */
const HEAD_WORDS = 4;

/** Kinds of a path's values, as `native/codecs/src/json/columns.rs` numbers them. */
const ASCII = 1;
const NUMBERS = 2;

/** A path whose values are kept as text or as numbers. A number path that leads to any other value is an error. */
export type JsonPath = string | { readonly path: string; readonly type: 'text' | 'number' };

/**
 * Paths of values in JSON, such as `result.*.body.data.*`, where `*` stands for every element of an array and every value of an
 * object. Rust picks the values out in one pass. They stay bytes until they are read.
 *
 * A path without `*` has one value, which is null if the JSON has none. Each value that a `*` stands for has one value for the names
 * behind the `*`, or null. So `items.*.id` and `items.*.size` have as many values, and those at one index are of the same item. An
 * object that has a name of a path twice is refused. Names that no path has are not compared, nor are those under a `*`.
 *
 * @example
 * ```js
 * import { JsonPaths } from 'boundary-bench';
 *
 * const json = new TextEncoder().encode('{"items":[{"id":"a"},{"id":"b"}]}');
 * const [ids] = new JsonPaths('items.*.id').pick(json);
 * console.log([...ids!]); // ['a', 'b']
 * ```
 */
export class JsonPaths {
  readonly #raw: RawJsonPaths;
  readonly #count: number;

  constructor(...paths: readonly JsonPath[]) {
    this.#count = paths.length;
    this.#raw = explained(() => new addon.JsonPaths(...rawPaths(paths)));
  }

  /**
   * The values of each path, in the order of the paths. Throws if the text is not JSON, or a path does not end at a plain value.
   */
  pick(json: Uint8Array): JsonValues[] {
    checkMemory(json);
    return valuesOf(
      explained(() => this.#raw.pick(json)),
      this.#count,
    );
  }
}

/**
 * Reader of the rows of `{..., "data": [row, row, ...]}` while the JSON arrives, in chunks of any size. A response may be larger
 * than the longest string, and is never held whole. Paths begin at a row. A path without `*` has one value for each row, as the paths of
 * `JsonPaths` have.
 *
 * @example
 * ```js
 * import { JsonRows } from 'boundary-bench';
 *
 * const encoder = new TextEncoder();
 * const rows = new JsonRows('data', { path: 'n', type: 'number' });
 * let sum = 0;
 * for (const piece of ['{"data":[{"n":1},{"n"', ':2}]}']) {
 *   const [numbers] = rows.feed(encoder.encode(piece));
 *   for (const number of numbers!.numbers) sum += number;
 * }
 * rows.finish();
 * console.log(sum); // 3
 * ```
 */
export class JsonRows {
  readonly #raw: RawJsonRows;
  readonly #count: number;

  /** `array`: the name of the entry of the outermost object that holds the rows. */
  constructor(array: string, ...paths: readonly JsonPath[]) {
    checkText('the entry', array);
    this.#count = paths.length;
    this.#raw = explained(() => new addon.JsonRows(array, ...rawPaths(paths)));
  }

  /**
   * Takes the next bytes. Returns the values of the rows that are now complete. Throws if the bytes do not continue such JSON.
   */
  feed(json: Uint8Array): JsonValues[] {
    checkMemory(json);
    return valuesOf(
      explained(() => this.#raw.feed(json)),
      this.#count,
    );
  }

  /** Throws if the JSON is not complete. */
  finish(): void {
    explained(() => this.#raw.finish());
  }
}

/** The values of one path, in the order in which they stand in the JSON. A value is decoded when it is read. */
export class JsonValues implements Iterable<string | null> {
  /** The number of values. */
  readonly length: number;
  /**
   * The bytes of all values, concatenated: strings without quotes and escapes, other values as JSON writes them. Empty for a
   * path of numbers.
   */
  readonly data: Uint8Array;
  /** The values of a number path, null as `NaN`. Empty for a text path. */
  readonly numbers: Float64Array;
  readonly #words: Uint32Array;
  readonly #bytes: NodeBuffer;
  readonly #isNumbers: boolean;
  readonly #ends: number;
  readonly #nulls: number;
  readonly #start: number;
  readonly #isAscii: boolean;
  #text: string | undefined;

  /** @internal The values at word `word` of a frame. */
  constructor(words: Uint32Array, bytes: NodeBuffer, word: number) {
    this.length = words[word]!;
    this.#words = words;
    this.#bytes = bytes;
    this.#isNumbers = words[word + 2] === NUMBERS;
    this.#isAscii = words[word + 2] === ASCII;
    this.#ends = word + HEAD_WORDS;
    const first = this.#ends * 4;
    this.#nulls = this.#isNumbers ? first + this.length * 8 : filled(first + this.length * 4);
    this.#start = filled(this.#nulls + this.length);
    this.data = new Uint8Array(words.buffer, this.#start, words[word + 1]!);
    this.numbers = new Float64Array(words.buffer, first, this.#isNumbers ? this.length : 0);
  }

  /** @internal The word after these values. */
  get next(): number {
    return filled(this.#start + this.data.length) / 4;
  }

  /** The end of value `index` in `data`. The value starts at the end of the previous one. */
  end(index: number): number {
    this.#check(index);
    return this.#isNumbers ? 0 : this.#words[this.#ends + index]!;
  }

  /** Whether value `index` is null. */
  isNull(index: number): boolean {
    this.#check(index);
    return this.#bytes[this.#nulls + index] === 1;
  }

  /** Value `index` as text; null if the value is null. */
  text(index: number): string | null {
    if (this.isNull(index)) return null;
    if (this.#isNumbers) return String(this.numbers[index]);
    const start = index === 0 ? 0 : this.end(index - 1);
    const end = this.end(index);
    if (!this.#isAscii || this.data.length > MOST_DECODED_TOGETHER) {
      return decodeText(this.#bytes, 'utf8', this.#start + start, this.#start + end);
    }
    // Decodes all values at once and cuts the text, since a substring costs no call into the runtime.
    this.#text ??= this.#bytes.toString('latin1', this.#start, this.#start + this.data.length);
    return this.#text.substring(start, end);
  }

  *[Symbol.iterator](): Iterator<string | null> {
    for (let index = 0; index < this.length; index += 1) yield this.text(index);
  }

  #check(index: number): void {
    checkIndex('value', index, this.length);
  }
}

/** `bytes` rounded up to a multiple of eight, at which every part of a frame begins. */
function filled(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function rawPaths(paths: readonly JsonPath[]): [paths: string[], numbers: boolean[]] {
  const given = paths.map((path) => {
    if (typeof path === 'string') return { path, type: 'text' };
    return { path: path?.path, type: path?.type };
  });
  const isPath = ({ path, type }: { path: unknown; type: unknown }): boolean =>
    typeof path === 'string' && (type === 'text' || type === 'number');
  if (given.length === 0 || !given.every(isPath)) {
    throw invalidArgument(
      "paths must be strings, or objects of a path and a type ('text' or 'number'), and there must be one",
    );
  }
  for (const { path } of given) checkText('a path', path);
  return [given.map(({ path }) => path), given.map(({ type }) => type === 'number')];
}

function valuesOf(buffer: ArrayBuffer, count: number): JsonValues[] {
  const words = new Uint32Array(buffer);
  const bytes = Buffer.from(buffer);
  const values: JsonValues[] = [];
  let word = 0;
  for (let path = 0; path < count; path += 1) {
    const ofPath = new JsonValues(words, bytes, word);
    values.push(ofPath);
    word = ofPath.next;
  }
  return values;
}
