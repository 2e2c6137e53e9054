import { types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { SubmissionMemory } from '../crossing/submission-memory.js';
import { isWellFormed, LONE_SURROGATE } from '../crossing/well-formed.js';
import { byteLengthOf, bytesOf, isGone } from '../crossing/typed-memory.js';

/** A key or a value: text is sent as UTF-8, and must have no lone surrogate. Bytes are sent unchanged. */
export type KvData = string | Uint8Array;

/** Kinds of requests, by their numbers in a submission. */
export const GET = 0;
export const SET = 1;
export const MGET = 2;
export const MSET = 3;
export const PIPELINE = 4;
/** A pipeline that is refused if it would leave the state of its connection changed. */
export const CHECKED_PIPELINE = 5;

export type RequestKind =
  | typeof GET
  | typeof SET
  | typeof MGET
  | typeof MSET
  | typeof PIPELINE
  | typeof CHECKED_PIPELINE;

/** Header words of a request, before its lengths. */
export const REQUEST_WORDS = 5;

/** Strings up to this length are written byte by byte: a call into the runtime takes longer. */
const SHORT_TEXT = 64;

/** The number of arguments from which short texts are written together. */
const MANY = 8;

/** Writer of requests to the addon, laid out as `native/clients/redis/src/submission.rs` describes. */
export class SubmissionWriter extends SubmissionMemory {
  constructor(firstBytes?: number) {
    super('a request', firstBytes);
  }

  /**
   * Adds a request: its arguments and, for a pipeline, the number of arguments per command. The arrays must be our own. Adds
   * nothing if an argument is neither bytes nor a string without lone surrogates.
   */
  add(
    connection: number,
    id: number,
    kind: RequestKind,
    counts: readonly number[] | undefined,
    args: readonly KvData[],
  ): void {
    const start = this.length;
    const commands = counts === undefined ? 0 : counts.length;
    const lengths = start / 4 + REQUEST_WORDS + commands;
    this.reserve(start, (REQUEST_WORDS + commands + args.length) * 4);
    let word = start / 4;
    this.words[word++] = connection;
    this.words[word++] = id;
    this.words[word++] = kind;
    this.words[word++] = commands;
    this.words[word++] = args.length;
    for (let index = 0; index < commands; index += 1) this.words[word++] = counts![index]!;
    const data = (lengths + args.length) * 4;
    const joined = args.length < MANY ? -1 : this.#writeJoined(data, lengths, args);
    let end = joined === -1 ? data : joined;
    for (let index = joined === -1 ? 0 : args.length; index < args.length; index += 1) {
      const next = this.#write(end, args[index]!);
      if (next === -1) throw unusable(kind, index, args[index]);
      this.words[lengths + index] = next - end;
      end = next;
    }
    this.submitted(end);
  }

  /**
   * Writes short texts in one piece, by one call into the runtime. Returns the end, or -1 if an argument is not a short ASCII text.
   */
  #writeJoined(at: number, lengths: number, args: readonly KvData[]): number {
    let total = 0;
    for (let index = 0; index < args.length; index += 1) {
      const text = args[index]!;
      if (typeof text !== 'string' || text.length > SHORT_TEXT) return -1;
      total += text.length;
    }
    this.reserve(at, total * 3);
    // A text has as many bytes as characters exactly if it is all ASCII.
    if (this.memory.write(args.join(''), at, 'utf8') !== total) return -1;
    for (let index = 0; index < args.length; index += 1) this.words[lengths + index] = args[index]!.length;
    return at + total;
  }

  /** Writes an argument. Returns its end, or -1 if it can't be sent. */
  #write(at: number, data: KvData): number {
    if (typeof data === 'string') {
      const { length } = data;
      // UTF-8 takes at most three bytes per UTF-16 unit of a string.
      this.reserve(at, length * 3);
      const bytes = this.memory;
      if (length <= SHORT_TEXT) {
        let index = 0;
        for (; index < length; index += 1) {
          const code = data.charCodeAt(index);
          if (code > 127) break;
          bytes[at + index] = code;
        }
        if (index === length) return at + length;
      }
      return isWellFormed(data) ? at + bytes.write(data, at, 'utf8') : -1;
    }
    if (!types.isUint8Array(data)) return -1;
    const length = byteLengthOf(data);
    if (length === 0) return isGone(data) ? -1 : at;
    this.reserve(at, length);
    this.memory.set(data, at);
    return at + length;
  }
}

/** Copies bytes into memory of their own. Other values stay unchanged, and are rejected when they are written. */
export function ownData(data: KvData): KvData {
  return types.isUint8Array(data) && !isGone(data) ? bytesOf(data).slice() : data;
}

function unusable(kind: RequestKind, index: number, value: unknown): BoundaryError {
  const what =
    kind === MSET
      ? `the ${index % 2 === 0 ? 'key' : 'value'} of entry ${index >> 1}`
      : kind === MGET
        ? `key ${index}`
        : kind === PIPELINE || kind === CHECKED_PIPELINE
          ? `argument ${index} of the pipeline`
          : index === 0
            ? 'the key'
            : 'the value';
  if (typeof value === 'string') return invalidArgument(`${what} ${LONE_SURROGATE}`);
  const problem = types.isUint8Array(value)
    ? 'is a Uint8Array whose memory is detached'
    : `must be a string or a Uint8Array, not ${describeValue(value)}`;
  return invalidArgument(`${what} ${problem}`);
}
