import { addon, type JsonPaths as RawJsonPaths } from '../addon.js';
import { BoundaryError, toBoundaryError } from '../errors.js';

const HEAD_WORDS = 3;

/**
 * Paths of values in JSON, such as `result.*.body.data.*`, where `*` stands for every element of an array and every value of an
 * object. Values are picked out in Rust, in one pass, and stay bytes until they are read.
 */
export class JsonPaths {
  readonly #raw: RawJsonPaths;
  readonly #count: number;

  constructor(...paths: readonly string[]) {
    if (paths.length === 0 || paths.some((path) => typeof path !== 'string')) {
      throw new BoundaryError('BB_INVALID_ARGUMENT', 'paths must be strings, and there must be one');
    }
    try {
      this.#raw = new addon.JsonPaths([...paths]);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
    this.#count = paths.length;
  }

  /** The values of each path, in the paths' order. Throws where the text is no JSON, or a path ends at no plain value. */
  pick(json: Uint8Array): JsonValues[] {
    let buffer: ArrayBuffer;
    try {
      buffer = this.#raw.pick(json);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
    const words = new Uint32Array(buffer);
    const bytes = Buffer.from(buffer);
    const values: JsonValues[] = [];
    let word = 0;
    for (let path = 0; path < this.#count; path += 1) {
      values.push(new JsonValues(words, bytes, word));
      const count = words[word]!;
      word += HEAD_WORDS + count + ((count + 3) >> 2) + ((words[word + 1]! + 3) >>> 2);
    }
    return values;
  }
}

/** The values of one path, in the order in which they stand in the JSON. They are read when they are asked for. */
export class JsonValues implements Iterable<string | null> {
  /** How many there are. */
  readonly length: number;
  /** The bytes of all values, one after the other: texts without quotes and escapes, others as JSON writes them. */
  readonly data: Uint8Array;
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  readonly #ends: number;
  readonly #nulls: number;
  readonly #start: number;
  readonly #isAscii: boolean;
  #text: string | undefined;

  /** @internal */
  constructor(words: Uint32Array, bytes: Buffer, word: number) {
    this.length = words[word]!;
    this.#words = words;
    this.#bytes = bytes;
    this.#isAscii = words[word + 2] === 1;
    this.#ends = word + HEAD_WORDS;
    this.#nulls = (this.#ends + this.length) * 4;
    this.#start = this.#nulls + ((this.length + 3) & ~3);
    this.data = new Uint8Array(words.buffer, this.#start, words[word + 1]!);
  }

  /** Where value `index` ends in `data`; it starts where the one before ends. */
  end(index: number): number {
    this.#check(index);
    return this.#words[this.#ends + index]!;
  }

  isNull(index: number): boolean {
    this.#check(index);
    return this.#bytes[this.#nulls + index] === 1;
  }

  /** Value `index` as text, null where it is null. */
  text(index: number): string | null {
    if (this.isNull(index)) return null;
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
