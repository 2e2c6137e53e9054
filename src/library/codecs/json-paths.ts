import { addon, type JsonPaths as RawJsonPaths, type JsonRows as RawJsonRows } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';

/** The words before a path's values. */
const HEAD_WORDS = 4;

/** What values are, as `native/clients/http/src/json/columns.rs` numbers it. */
const ASCII = 1;
const NUMBERS = 2;

/** A path whose values are kept as texts, or as numbers: a path of numbers that leads to anything else is an error. */
export type JsonPath = string | { readonly path: string; readonly type: 'text' | 'number' };

/**
 * Paths of values in JSON, such as `result.*.body.data.*`, where `*` stands for every element of an array and every value of an
 * object. Values are picked out in Rust, in one pass, and stay bytes until they are read.
 */
export class JsonPaths {
  readonly #raw: RawJsonPaths;
  readonly #count: number;

  constructor(...paths: readonly JsonPath[]) {
    this.#count = paths.length;
    this.#raw = native(() => new addon.JsonPaths(...rawPaths(paths)));
  }

  /** The values of each path, in the paths' order. Throws where the text is no JSON, or a path ends at no plain value. */
  pick(json: Uint8Array): JsonValues[] {
    return valuesOf(
      native(() => this.#raw.pick(json)),
      this.#count,
    );
  }
}

/**
 * The rows of `{..., "data": [row, row, ...]}`, read while the JSON comes, however it is cut: so an answer may be larger than a
 * text can be, and is never held whole. Paths begin at a row.
 */
export class JsonRows {
  readonly #raw: RawJsonRows;
  readonly #count: number;

  /** `array`: the entry of the outermost object that holds the rows. */
  constructor(array: string, ...paths: readonly JsonPath[]) {
    if (typeof array !== 'string') throw new BoundaryError('BB_INVALID_ARGUMENT', 'the entry must be a string');
    this.#count = paths.length;
    this.#raw = native(() => new addon.JsonRows(array, ...rawPaths(paths)));
  }

  /** Takes the next bytes; returns the values of the rows that are whole now. Throws where they are no such JSON. */
  feed(json: Uint8Array): JsonValues[] {
    return valuesOf(
      native(() => this.#raw.feed(json)),
      this.#count,
    );
  }

  /** Throws where the JSON has not come to its end. */
  finish(): void {
    native(() => this.#raw.finish());
  }
}

/** The values of one path, in the order in which they stand in the JSON. They are read when they are asked for. */
export class JsonValues implements Iterable<string | null> {
  /** How many there are. */
  readonly length: number;
  /**
   * The bytes of all values, one after the other: texts without quotes and escapes, others as JSON writes them. Of a path of
   * numbers there are none.
   */
  readonly data: Uint8Array;
  /** The values of a path of numbers; what is null is `NaN`. Of a path of texts there are none. */
  readonly numbers: Float64Array;
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  readonly #isNumbers: boolean;
  readonly #ends: number;
  readonly #nulls: number;
  readonly #start: number;
  readonly #isAscii: boolean;
  #text: string | undefined;

  /** @internal Those at `word` of a frame. */
  constructor(words: Uint32Array, bytes: Buffer, word: number) {
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

  /** @internal The word after them. */
  get next(): number {
    return filled(this.#start + this.data.length) / 4;
  }

  /** Where value `index` ends in `data`; it starts where the one before ends. */
  end(index: number): number {
    this.#check(index);
    return this.#isNumbers ? 0 : this.#words[this.#ends + index]!;
  }

  isNull(index: number): boolean {
    this.#check(index);
    return this.#bytes[this.#nulls + index] === 1;
  }

  /** Value `index` as text, null where it is null. */
  text(index: number): string | null {
    if (this.isNull(index)) return null;
    if (this.#isNumbers) return String(this.numbers[index]);
    const start = index === 0 ? 0 : this.end(index - 1);
    const end = this.end(index);
    if (!this.#isAscii) return this.#bytes.toString('utf8', this.#start + start, this.#start + end);
    // All of it at once, and then parts, which cost no call into the runtime.
    this.#text ??= this.#bytes.toString('latin1', this.#start, this.#start + this.data.length);
    return this.#text.substring(start, end);
  }

  *[Symbol.iterator](): Iterator<string | null> {
    for (let index = 0; index < this.length; index += 1) yield this.text(index);
  }

  #check(index: number): void {
    if (index >>> 0 === index && index < this.length) return;
    throw new BoundaryError('BB_INVALID_ARGUMENT', `there is no value ${String(index)} among ${this.length}`);
  }
}

/** The next multiple of the eight bytes that every part of a frame begins at. */
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
    throw new BoundaryError(
      'BB_INVALID_ARGUMENT',
      "paths must be strings, or objects of a path and a type ('text' or 'number'), and there must be one",
    );
  }
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

function native<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}
