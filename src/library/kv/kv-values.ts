import { BoundaryError, invalidArgument } from '../../errors.js';
import type { NodeBuffer } from '../../platform-types.js';
import { checkIndex } from '../crossing/check-index.js';
import { describeValue } from '../crossing/describe-value.js';
import { HeapTally } from '../crossing/heap-room.js';
import { ASCII, errorOf, RESULT_WORDS, ResultFrame } from '../crossing/result-frame.js';
import { decodeText, EXTERNAL_BYTES, MOST_DECODED_TOGETHER } from '../crossing/well-formed.js';
import { KvCursor } from './kv-cursor.js';

/** The status of an answered result whose server is not, or not now, the one to ask. */
export const OUTDATED = 3;

/** Kinds of entries, by their numbers in a frame. Those from `ERROR` on are no values. */
export const NIL = 0;
export const STATUS = 2;
export const INT = 3;
export const ERROR = 4;
export const ARRAY = 5;

/**
 * The reply to a command, as JavaScript values. Integers that are not safe are bigints. A value that is not valid UTF-8 is its bytes.
 * Maps and sets are arrays: the client speaks RESP2.
 */
export type KvReply = string | number | bigint | Uint8Array | null | BoundaryError | readonly KvReply[];

/** The form of the values in a reply: text if they are valid UTF-8, or bytes always. Statuses, such as `OK`, are text. */
export type KvForm = 'text' | 'bytes';

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
  const kind = bytes[(word + RESULT_WORDS + 1) * 4]!;
  if (kind === NIL) return null;
  const start = (word + RESULT_WORDS + 2) * 4;
  const end = start + words[word + 3]!;
  if (kind >= ERROR) throw noValue(kind, frame, start, end);
  if ((words[word + 4]! & ASCII) !== 0) return decodeText(bytes, 'latin1', start, end);
  const text = decoded(bytes, start, end);
  if (text === undefined) throw notText('the value', 'get');
  return text;
}

/** The value of a result with one entry, as bytes in memory of their own. */
export function bytesOf(frame: KvFrame, word: number): Uint8Array | null {
  const { words, bytes } = frame;
  const kind = bytes[(word + RESULT_WORDS + 1) * 4]!;
  if (kind === NIL) return null;
  const start = (word + RESULT_WORDS + 2) * 4;
  const end = start + words[word + 3]!;
  if (kind >= ERROR) throw noValue(kind, frame, start, end);
  return new Uint8Array(words.buffer.slice(start, end));
}

function noValue(kind: number, { bytes }: KvFrame, start: number, end: number): BoundaryError {
  if (kind === ERROR) return errorOf(bytes.toString('utf8', start, end));
  return new BoundaryError('BB_ENGINE', 'redis: the server answered with an array where none was expected');
}

/** Bytes that an entry of an array takes in V8's heap: its slot, and the head of a string, of an array or of a number. */
const ENTRY_BYTES = 48;

/** Bytes that a `Uint8Array` takes in V8's heap, beside its bytes. */
const BYTES_BYTES = 200;

/** Bytes that a value takes in V8's heap. A long text claims its own when it is decoded. */
function valueBytes(form: KvForm, length: number): number {
  return ENTRY_BYTES + (form === 'bytes' ? BYTES_BYTES : length > EXTERNAL_BYTES ? 0 : length);
}

function repliesTally(): HeapTally {
  return new HeapTally('the reply', 'Read them one by one, or as bytes of `data`');
}

/** The text of bytes in UTF-8; undefined if they are not valid. */
function decoded(bytes: NodeBuffer, start: number, end: number): string | undefined {
  const text = decodeText(bytes, 'utf8', start, end);
  // A replacement character stands for invalid bytes, or is in the text itself.
  if (text.includes('\uFFFD') && !Buffer.from(text).equals(bytes.subarray(start, end))) return undefined;
  return text;
}

function notText(what: string, remedy: string): BoundaryError {
  return new BoundaryError('BB_INVALID_VALUE', `${what} is not valid UTF-8, so it has no text`, {
    hint: `Read its bytes: ${remedy}`,
  });
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
   * The bytes of all values, concatenated, as a view of the memory in which they crossed, which the results of other calls may
   * share. Send them to another thread as a copy: memory that calls share can't be transferred. Anything else that detaches a
   * buffer (a stream of bytes, `ArrayBuffer.prototype.transfer`) empties the results of other calls.
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
    this.data = new Uint8Array(bytes.buffer, this.#start, words[word + 3]!);
    this.#isAscii = (words[word + 4]! & ASCII) !== 0 && this.data.length <= MOST_DECODED_TOGETHER;
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

  /** The error instead of value `index`, if the server rejected this command, or the connection was lost before it. */
  error(index: number): BoundaryError | undefined {
    if (this.kind(index) !== ERROR) return undefined;
    return errorOf(Buffer.from(this.data.subarray(this.start(index), this.end(index))).toString('utf8'));
  }

  /**
   * Value `index` as a view of the memory in which it crossed; null if there is none. Throws its error if it has one, and
   * `BB_INVALID_ARGUMENT` for an array.
   */
  bytes(index: number): Uint8Array | null {
    return this.#hasValue(index) ? this.data.subarray(this.start(index), this.end(index)) : null;
  }

  /**
   * Value `index` as text; null if there is none. Throws its error if it has one, `BB_INVALID_VALUE` if the value is not valid
   * UTF-8, and `BB_INVALID_ARGUMENT` for an array.
   */
  text(index: number): string | null {
    if (!this.#hasValue(index)) return null;
    const text = this.textAt(index);
    if (text === undefined) throw notText(`value ${index}`, `bytes(${index})`);
    return text;
  }

  /** All values as text. Throws as `text` does, and `BB_RESULT_TOO_LARGE` if they do not fit into V8's heap. */
  toArray(): (string | null)[] {
    const heap = repliesTally();
    return Array.from({ length: this.length }, (_, index) => {
      heap.claim(valueBytes('text', this.end(index) - this.start(index)));
      return this.text(index);
    });
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

  /** The bytes of value `index` as text; undefined if they are not valid UTF-8. */
  protected textAt(index: number): string | undefined {
    const start = this.start(index);
    const end = this.end(index);
    if (!this.#isAscii) return decoded(this.#frame.bytes, this.#start + start, this.#start + end);
    // Decodes all values at once and cuts the text, since a substring costs no call into the runtime.
    this.#text ??= this.#frame.bytes.toString('latin1', this.#start, this.#start + this.data.length);
    return this.#text.substring(start, end);
  }

  #hasValue(index: number): boolean {
    const kind = this.kind(index);
    if (kind < ERROR) return kind !== NIL;
    if (kind === ERROR) throw this.error(index)!;
    throw invalidArgument(`reply ${index} is an array, which is neither one text nor one piece of bytes`, {
      hint: `Read it by value(${index}), or by value(${index}, 'bytes') for its elements as bytes`,
    });
  }

  #check(index: number): void {
    checkIndex('value', index, this.length);
  }
}

/**
 * The replies to the commands of a pipeline, in order. An error concerns its own command only. In `data`, an array is as it came
 * over the wire.
 */
export class KvReplies extends KvValues {
  /**
   * Reply `index` as a JavaScript value. An error is returned, not thrown. Values, also those in arrays, are strings if they are
   * valid UTF-8, else `Uint8Array`s. As `'bytes'` they are all `Uint8Array`s, in memory of their own. Throws `BB_RESULT_TOO_LARGE` if
   * the value does not fit into V8's heap.
   *
   * @example
   * const replies = await kv.pipeline().command('HMGET', 'hash', 'a', 'b').execute();
   * const fields = replies.value(0, 'bytes'); // [Uint8Array, null]
   */
  value(index: number, form: KvForm = 'text'): KvReply {
    checkForm(form);
    return this.#value(index, form, repliesTally());
  }

  /** All replies as JavaScript values, errors among them, in the forms of `value`. */
  values(form: KvForm = 'text'): KvReply[] {
    checkForm(form);
    const heap = repliesTally();
    return Array.from({ length: this.length }, (_, index) => this.#value(index, form, heap));
  }

  /** Whether reply `index` is a status, such as `OK`. */
  isStatus(index: number): boolean {
    return this.kind(index) === STATUS;
  }

  #value(index: number, form: KvForm, heap: HeapTally): KvReply {
    const kind = this.kind(index);
    if (kind !== ARRAY) heap.claim(valueBytes(form, this.end(index) - this.start(index)));
    switch (kind) {
      case NIL:
        return null;
      case ERROR:
        return this.error(index)!;
      case INT:
        return integer(this.textAt(index)!);
      case ARRAY:
        return new ReplyReader(Buffer.from(this.data.subarray(this.start(index), this.end(index))), form, heap).read();
      default:
        return (
          (form === 'text' || kind === STATUS ? this.textAt(index) : undefined) ??
          this.data.slice(this.start(index), this.end(index))
        );
    }
  }
}

function checkForm(form: KvForm): void {
  if (form !== 'text' && form !== 'bytes') {
    throw invalidArgument(`the form of values must be 'text' or 'bytes', not ${describeValue(form)}`);
  }
}

/** Parses a reply as it came over the wire. The addon has checked that it is complete. */
class ReplyReader {
  readonly #bytes: NodeBuffer;
  readonly #form: KvForm;
  readonly #heap: HeapTally;
  #at = 0;

  constructor(bytes: NodeBuffer, form: KvForm, heap: HeapTally) {
    this.#bytes = bytes;
    this.#form = form;
    this.#heap = heap;
  }

  read(): KvReply {
    const kind = this.#bytes[this.#at]!;
    const start = this.#at + 1;
    const lineEnd = this.#bytes.indexOf('\r\n', start);
    this.#at = lineEnd + 2;
    const line = (): string => this.#bytes.toString('utf8', start, lineEnd);
    switch (String.fromCharCode(kind)) {
      case ':':
        this.#heap.claim(ENTRY_BYTES);
        return integer(line());
      case '+':
        return decoded(this.#bytes, start, lineEnd) ?? this.#copy(start, lineEnd);
      case '-':
        return new BoundaryError('BB_ENGINE', `redis: ${line()}`);
      case '$': {
        const length = Number(line());
        if (length < 0) return null;
        const from = this.#at;
        this.#at += length + 2;
        this.#heap.claim(valueBytes(this.#form, length));
        const text = this.#form === 'text' ? decoded(this.#bytes, from, from + length) : undefined;
        return text ?? this.#copy(from, from + length);
      }
      default: {
        const length = Number(line());
        this.#heap.claim(ENTRY_BYTES + 8 * Math.max(0, length));
        return length < 0 ? null : Array.from({ length }, () => this.read());
      }
    }
  }

  #copy(start: number, end: number): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(start, end));
  }
}

function integer(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}
