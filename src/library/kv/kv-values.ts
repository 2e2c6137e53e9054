import { BoundaryError } from '../../errors.js';
import { checkIndex } from '../crossing/check-index.js';
import { ASCII, errorOf, RESULT_WORDS, ResultFrame } from '../crossing/result-frame.js';
import { decodeText, MOST_DECODED_TOGETHER } from '../crossing/well-formed.js';
import { KvCursor } from './kv-cursor.js';

/** Kinds of entries, by their numbers in a frame. */
export const NIL = 0;
export const STATUS = 2;
export const INT = 3;
export const ERROR = 4;
export const ARRAY = 5;

/** The reply to a command, as JavaScript values. Integers that are not safe are bigints. */
export type KvReply = string | number | bigint | null | BoundaryError | readonly KvReply[];

/** The results of one crossing, laid out as `native/clients/redis/src/submission.rs` describes. */
export class KvFrame extends ResultFrame {
  next(word: number): number {
    const entries = this.words[word + 2]!;
    return word + RESULT_WORDS + entries + ((entries + 3) >> 2) + ((this.words[word + 3]! + 3) >>> 2);
  }

  /** The error of a result that failed as a whole. */
  failure(word: number): BoundaryError {
    const start = (word + RESULT_WORDS) * 4;
    return errorOf(this.bytes.toString('utf8', start, start + this.words[word + 3]!));
  }
}

/** The value of a result with one entry, as text. */
export function textOf(frame: KvFrame, word: number): string | null {
  const { words, bytes } = frame;
  const kind = bytes[(word + RESULT_WORDS + 1) * 4];
  if (kind === NIL) return null;
  const start = (word + RESULT_WORDS + 2) * 4;
  const end = start + words[word + 3]!;
  if (kind === ERROR) throw errorOf(bytes.toString('utf8', start, end));
  return decodeText(bytes, (words[word + 4]! & ASCII) === 0 ? 'utf8' : 'latin1', start, end);
}

/** The value of a result with one entry, as bytes in memory of their own. */
export function bytesOf(frame: KvFrame, word: number): Uint8Array | null {
  const { words, bytes } = frame;
  const kind = bytes[(word + RESULT_WORDS + 1) * 4];
  if (kind === NIL) return null;
  const start = (word + RESULT_WORDS + 2) * 4;
  const end = start + words[word + 3]!;
  if (kind === ERROR) throw errorOf(bytes.toString('utf8', start, end));
  return new Uint8Array(words.buffer.slice(start, end));
}

/** The error of a result with one entry whose value does not matter; undefined if the entry is not an error. */
export function refusalOf(frame: KvFrame, word: number): BoundaryError | undefined {
  const { words, bytes } = frame;
  if (bytes[(word + RESULT_WORDS + 1) * 4] !== ERROR) return undefined;
  const start = (word + RESULT_WORDS + 2) * 4;
  return errorOf(bytes.toString('utf8', start, start + words[word + 3]!));
}

/**
 * The values of keys, in the order of the keys. They stay in the memory in which they crossed, and are decoded when they are
 * read.
 */
export class KvValues implements Iterable<string | null> {
  /** The number of values. */
  readonly length: number;
  /**
   * The bytes of all values, concatenated, as a view of the memory in which they crossed, which the results of other calls may share.
   * Send them to another thread as a copy: memory that calls share can't be transferred, and what else detaches a buffer (a stream of
   * bytes, `ArrayBuffer.prototype.transfer`) empties the others.
   */
  readonly data: Uint8Array;
  readonly #frame: KvFrame;
  /** The word with the end of the first entry. */
  readonly #ends: number;
  readonly #kinds: number;
  readonly #start: number;
  readonly #isAscii: boolean;
  #text: string | undefined;

  /** @internal */
  constructor(frame: KvFrame, word: number) {
    const { words, bytes } = frame;
    this.length = words[word + 2]!;
    this.#frame = frame;
    this.#ends = word + RESULT_WORDS;
    this.#kinds = (this.#ends + this.length) * 4;
    this.#start = this.#kinds + ((this.length + 3) & ~3);
    this.#isAscii = (words[word + 4]! & ASCII) !== 0;
    this.data = new Uint8Array(bytes.buffer, this.#start, words[word + 3]!);
  }

  /** The start of value `index` in `data`. */
  start(index: number): number {
    this.#check(index);
    return index === 0 ? 0 : this.#frame.words[this.#ends + index - 1]!;
  }

  /** The end of value `index` in `data`. */
  end(index: number): number {
    this.#check(index);
    return this.#frame.words[this.#ends + index]!;
  }

  /** Whether value `index` is null. */
  isNull(index: number): boolean {
    return this.kind(index) === NIL;
  }

  /** The error in place of value `index`, if the server rejected this command, or the connection was lost before it. */
  error(index: number): BoundaryError | undefined {
    if (this.kind(index) !== ERROR) return undefined;
    return errorOf(Buffer.from(this.data.subarray(this.start(index), this.end(index))).toString('utf8'));
  }

  /** Value `index` as a view of the memory in which it crossed; null if there is none. Throws its error if it has one. */
  bytes(index: number): Uint8Array | null {
    return this.#hasValue(index) ? this.data.subarray(this.start(index), this.end(index)) : null;
  }

  /** Value `index` as text; null if there is none. Throws its error if it has one. */
  text(index: number): string | null {
    return this.#hasValue(index) ? this.textAt(index) : null;
  }

  /** All values as text. Throws the first error. */
  toArray(): (string | null)[] {
    return Array.from({ length: this.length }, (_, index) => this.text(index));
  }

  /** The values by one object that moves: `for (const entry of values.cursor()) bytes += entry.end - entry.start`. */
  cursor(): KvCursor {
    return new KvCursor(this);
  }

  *[Symbol.iterator](): Iterator<string | null> {
    for (let index = 0; index < this.length; index += 1) yield this.text(index);
  }

  /** The first error, if every entry is an error; else undefined. */
  failure(): BoundaryError | undefined {
    for (let index = 0; index < this.length; index += 1) if (this.kind(index) !== ERROR) return undefined;
    return this.length === 0 ? undefined : this.error(0);
  }

  protected kind(index: number): number {
    this.#check(index);
    return this.#frame.bytes[this.#kinds + index]!;
  }

  protected textAt(index: number): string {
    const start = this.start(index);
    const end = this.end(index);
    if (!this.#isAscii || this.data.length > MOST_DECODED_TOGETHER) {
      return decodeText(this.#frame.bytes, 'utf8', this.#start + start, this.#start + end);
    }
    // Decodes all values at once and cuts the text, since a substring costs no call into the runtime.
    this.#text ??= this.#frame.bytes.toString('latin1', this.#start, this.#start + this.data.length);
    return this.#text.substring(start, end);
  }

  #hasValue(index: number): boolean {
    const kind = this.kind(index);
    if (kind === ERROR) throw this.error(index)!;
    return kind !== NIL;
  }

  #check(index: number): void {
    checkIndex('value', index, this.length);
  }
}

/** The replies to the commands of a pipeline, in order. An error is that of its own command only. */
export class KvReplies extends KvValues {
  /** Reply `index` as a JavaScript value; an error is returned, not thrown. */
  value(index: number): KvReply {
    switch (this.kind(index)) {
      case NIL:
        return null;
      case ERROR:
        return this.error(index)!;
      case INT:
        return integer(this.textAt(index));
      case ARRAY:
        return new ReplyReader(Buffer.from(this.data.subarray(this.start(index), this.end(index)))).read();
      default:
        return this.textAt(index);
    }
  }

  /** All replies as JavaScript values, errors among them. */
  values(): KvReply[] {
    return Array.from({ length: this.length }, (_, index) => this.value(index));
  }

  /** Whether reply `index` is a status, such as `OK`. */
  isStatus(index: number): boolean {
    return this.kind(index) === STATUS;
  }
}

/** Parses a reply as it came over the wire; the addon has checked that it is complete. */
class ReplyReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): KvReply {
    const kind = this.#bytes[this.#at]!;
    const lineEnd = this.#bytes.indexOf('\r\n', this.#at);
    const line = this.#bytes.toString('utf8', this.#at + 1, lineEnd);
    this.#at = lineEnd + 2;
    switch (String.fromCharCode(kind)) {
      case ':':
        return integer(line);
      case '+':
        return line;
      case '-':
        return new BoundaryError('BB_ENGINE', `redis: ${line}`);
      case '$': {
        const length = Number(line);
        if (length < 0) return null;
        const start = this.#at;
        this.#at += length + 2;
        return decodeText(this.#bytes, 'utf8', start, start + length);
      }
      default:
        return Number(line) < 0 ? null : Array.from({ length: Number(line) }, () => this.read());
    }
  }
}

function integer(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}
