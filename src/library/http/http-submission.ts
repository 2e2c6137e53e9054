import { types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { isPlainObject, namedValues } from '../crossing/named-values.js';
import { SubmissionMemory } from '../crossing/submission-memory.js';
import { isWellFormed, LONE_SURROGATE } from '../crossing/well-formed.js';
import { byteLengthOf, isGone } from '../crossing/typed-memory.js';

/** The methods of requests, in the order of their numbers in a submission. */
export const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const;

/** The methods of requests. */
export type HttpMethod = (typeof METHODS)[number];

/**
 * Header names and values. Names are case-insensitive. A `Headers`, a `Map` and other iterables of pairs may have a name several
 * times, and so may an array of names and values by turns, such as Node's `rawHeaders`. Other objects are refused.
 */
export type HttpHeaders = Readonly<Record<string, string>> | Iterable<readonly [string, string]> | readonly string[];

/** A request to an `HttpClient`. */
export interface HttpRequest {
  /** Default: `GET`, or `POST` with a body. */
  readonly method?: HttpMethod | undefined;
  /** The path, percent-encoded, with the query. It is appended to the path of the client's URL. */
  readonly path: string;
  /** Headers beside the client's. They replace the client's headers of the same names. */
  readonly headers?: HttpHeaders | undefined;
  /** The body: text is sent as UTF-8, bytes unchanged. */
  readonly body?: string | Uint8Array | undefined;
}

/** A request as plain values, ready to be written. */
export interface ReadHttpRequest {
  /** The number of the method in a submission. */
  readonly method: number;
  readonly path: string;
  /** The header lines as they are sent. */
  readonly headers: string;
  readonly body: string | Uint8Array | undefined;
}

const NUMBERS = new Map<unknown, number>(METHODS.map((method, number) => [method, number]));
const GET = 0;
const POST = 1;

/** The length that stands for a missing body. */
export const NO_BODY = 0xffffffff;

/** The most characters that are joined: V8 has no string of much more, and joining long ones saves nothing. */
const MOST_JOINED = 1 << 24;

export const GROUP_WORDS = 3;
export const REQUEST_WORDS = 4;

/** Writer of groups of requests to the addon, laid out as `native/clients/http/src/submission.rs` describes. */
export class HttpSubmissionWriter extends SubmissionMemory {
  constructor(firstBytes?: number) {
    super('requests', firstBytes);
  }

  /** Adds a group of requests. Adds nothing if the group is too big. */
  add(pool: number, id: number, requests: readonly ReadHttpRequest[]): void {
    const start = this.length;
    const count = requests.length;
    const head = (GROUP_WORDS + count * REQUEST_WORDS) * 4;
    this.reserve(start, head);
    let word = start / 4;
    this.words[word++] = pool;
    this.words[word++] = id;
    this.words[word++] = count;
    const data = start + head;
    let end = this.#writeJoined(data, word, requests);
    if (end === -1) end = this.#writeEach(data, word, requests);
    this.submitted(end);
  }

  /**
   * Writes all text in one piece, by one call into the runtime. Returns the end, or -1 if some text is not ASCII, or too long to
   * join.
   */
  #writeJoined(at: number, firstWord: number, requests: readonly ReadHttpRequest[]): number {
    let text = '';
    let length = 0;
    let word = firstWord;
    for (let index = 0; index < requests.length; index += 1) {
      const { method, path, headers, body } = requests[index]!;
      if (typeof body === 'object') return -1;
      length += path.length + headers.length + (body === undefined ? 0 : body.length);
      if (length > MOST_JOINED) return -1;
      this.words[word++] = method;
      this.words[word++] = path.length;
      this.words[word++] = headers.length;
      this.words[word++] = body === undefined ? NO_BODY : body.length;
      text += path + headers;
      if (body !== undefined) text += body;
    }
    this.reserve(at, text.length * 3);
    // A text has as many bytes as characters exactly if it is all ASCII.
    return this.memory.write(text, at, 'utf8') === text.length ? at + text.length : -1;
  }

  #writeEach(at: number, firstWord: number, requests: readonly ReadHttpRequest[]): number {
    let end = at;
    let word = firstWord;
    for (let index = 0; index < requests.length; index += 1) {
      const { method, path, headers, body } = requests[index]!;
      this.words[word++] = method;
      for (const part of [path, headers, body]) {
        const next = part === undefined ? end : this.#write(end, part, index);
        this.words[word++] = part === undefined ? NO_BODY : next - end;
        end = next;
      }
    }
    return end;
  }

  #write(at: number, part: string | Uint8Array, index: number): number {
    if (typeof part === 'string') {
      // UTF-8 takes at most three bytes per UTF-16 unit of a string.
      if (!isWellFormed(part)) throw unusable(index, `its path, its headers or its body ${LONE_SURROGATE}`);
      this.reserve(at, part.length * 3);
      return at + this.memory.write(part, at, 'utf8');
    }
    const length = byteLengthOf(part);
    if (length === 0 && isGone(part)) throw unusable(index, 'the memory of its body is detached');
    this.reserve(at, length);
    this.memory.set(part, at);
    return at + length;
  }
}

/** Reads each value of a caller's requests once, since getters may run any code. Throws if a request is not valid. */
export function readRequests(requests: readonly HttpRequest[]): ReadHttpRequest[] {
  const read: ReadHttpRequest[] = [];
  for (let index = 0; index < requests.length; index += 1) read.push(readRequest(requests[index], index));
  return read;
}

function readRequest(request: HttpRequest | undefined, index: number): ReadHttpRequest {
  if (typeof request !== 'object' || request === null) {
    throw unusable(index, `it must be an object with a path, not ${describeValue(request)}`);
  }
  const { method, path, headers, body } = request;
  if (typeof path !== 'string') throw unusable(index, `its path must be a string, not ${describeValue(path)}`);
  if (body !== undefined && typeof body !== 'string' && !types.isUint8Array(body)) {
    throw unusable(
      index,
      `its body must be a string or a Uint8Array, not ${describeValue(body)}; give a form as its text, and a Blob or a stream as the bytes that it holds`,
    );
  }
  const number = method === undefined ? (body === undefined ? GET : POST) : NUMBERS.get(method);
  if (number === undefined) {
    throw unusable(index, `its method must be one of ${METHODS.join(', ')}, not ${describeValue(method)}`);
  }
  return { method: number, path, headers: headers === undefined ? '' : headerLines(headers), body };
}

/** The header lines as they are sent. The addon checks the characters. This function only checks that no line break is among them. */
export function headerLines(headers: HttpHeaders): string {
  let lines = '';
  if (isPlainObject(headers)) {
    for (const name of Object.keys(headers)) lines += headerLine(name, headers[name]);
  } else {
    for (const [name, value] of namedValues('the headers', headers)) lines += headerLine(name, value);
  }
  return lines;
}

function headerLine(name: unknown, value: unknown): string {
  if (typeof value !== 'string' || typeof name !== 'string' || /[\r\n]/.test(value) || /[\r\n:]/.test(name)) {
    throw invalidArgument(`the header ${describeValue(name)} must have a value of one line, not ${shown(value)}`);
  }
  return `${name}: ${value}\r\n`;
}

/** The value of a header for an error, which must not show a secret. */
function shown(value: unknown): string {
  return typeof value === 'string' ? 'a text of several' : describeValue(value);
}

function unusable(index: number, problem: string): BoundaryError {
  return invalidArgument(`request ${index}: ${problem}`);
}
