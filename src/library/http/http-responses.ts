import { BoundaryError, invalidArgument, toBoundaryError } from '../../errors.js';
import { checkIndex } from '../crossing/check-index.js';
import { describeValue } from '../crossing/describe-value.js';
import { claimHeap } from '../crossing/heap-room.js';
import { decodeBody } from '../crossing/well-formed.js';
import { ASCII, errorOf, RESULT_WORDS, ResultFrame } from '../crossing/result-frame.js';

/** Bytes that a character of JSON takes at most in V8's heap once it is parsed, in all but the strangest JSON. */
const PARSED_BYTES = 4;

/** Words of each response of a result. */
export const RESPONSE_WORDS = 4;

/** The results of one crossing, laid out as `native/clients/http/src/submission.rs` describes. */
export class HttpFrame extends ResultFrame {
  next(word: number): number {
    return word + RESULT_WORDS + this.words[word + 2]! * RESPONSE_WORDS + ((this.words[word + 3]! + 3) >>> 2);
  }
}

/** A response. It stays in the memory in which it crossed, and is decoded when it is read. */
export class HttpResponse {
  readonly status: number;
  readonly #frame: HttpFrame;
  /** Byte offsets: the start of the header lines, the start of the body, and the end of the body. */
  readonly #head: number;
  readonly #start: number;
  readonly #end: number;
  readonly #isAscii: boolean;
  #headers: Record<string, string> | undefined;

  /** @internal Response `index` of the result at word `word`. Throws its error if it has one. */
  constructor(frame: HttpFrame, word: number, index: number) {
    const { words } = frame;
    const entry = word + RESULT_WORDS + index * RESPONSE_WORDS;
    this.status = words[entry]!;
    this.#frame = frame;
    this.#head = (word + RESULT_WORDS + words[word + 2]! * RESPONSE_WORDS) * 4 + words[entry + 1]!;
    this.#start = this.#head + words[entry + 2]!;
    this.#end = this.#start + words[entry + 3]!;
    this.#isAscii = (words[word + 4]! & ASCII) !== 0;
    if (this.status === 0) throw errorOf(this.text());
  }

  /** Whether the status is in the 200s. */
  get isOk(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /**
   * The body, as a view of the memory in which it crossed, which other responses may share. Send it to another thread as a copy:
   * memory that calls share can't be transferred. Anything else that detaches a buffer (a stream of bytes,
   * `ArrayBuffer.prototype.transfer`) empties the other responses.
   */
  get body(): Uint8Array {
    return new Uint8Array(this.#frame.bytes.buffer, this.#start, this.#end - this.#start);
  }

  /**
   * The headers by lower-case name. Values of the same name are joined with commas. Of headers whose values have commas of their
   * own, `set-cookie` above all, `headerValues` has the values one by one.
   */
  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= parseHeaders(this.#headerLines()));
  }

  /** The values of all headers with this name, in their order. Names are case-insensitive. Empty if there is none. */
  headerValues(name: string): string[] {
    return valuesOf(this.#headerLines(), name);
  }

  /** The values of the `set-cookie` headers, one by one, as `Headers.getSetCookie` of the Fetch standard has them. */
  getSetCookie(): string[] {
    return this.headerValues('set-cookie');
  }

  /** The body as UTF-8 text, without the byte order mark that it may begin with, as `fetch` has it. `body` has all bytes. */
  text(): string {
    return decodeBody(this.#frame.bytes, this.#isAscii ? 'latin1' : 'utf8', this.#start, this.#end);
  }

  /**
   * The body parsed as JSON, behind a byte order mark if it has one. Throws `BB_INVALID_VALUE` if it is not JSON, and
   * `BB_RESULT_TOO_LARGE` if it does not fit into V8's heap.
   */
  json<T = unknown>(): T {
    const text = this.text();
    claimHeap(PARSED_BYTES * text.length, 'the JSON of the response', 'Read parts of it by JsonPaths or JsonRows');
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      throw new BoundaryError('BB_INVALID_VALUE', `the response of status ${this.status} is no JSON`, { cause });
    }
  }

  #headerLines(): string {
    return this.#frame.bytes.toString('latin1', this.#head, this.#start);
  }
}

/** The responses to many requests, in the order of the requests. Each request has its response or its own error. */
export class HttpResponses implements Iterable<HttpResponse> {
  /** The number of responses. */
  readonly length: number;
  readonly #frame: HttpFrame;
  readonly #word: number;

  /** @internal */
  constructor(frame: HttpFrame, word: number) {
    this.length = frame.words[word + 2]!;
    this.#frame = frame;
    this.#word = word;
  }

  /** The status of response `index`; 0 if there is an error in its place. */
  status(index: number): number {
    this.#check(index);
    return this.#frame.words[this.#word + RESULT_WORDS + index * RESPONSE_WORDS]!;
  }

  /** Response `index`. Throws its error, if it has one. */
  response(index: number): HttpResponse {
    this.#check(index);
    return new HttpResponse(this.#frame, this.#word, index);
  }

  /** The error instead of response `index`; undefined if there is none. */
  error(index: number): BoundaryError | undefined {
    if (this.status(index) !== 0) return undefined;
    try {
      this.response(index);
      return undefined;
    } catch (thrown) {
      return toBoundaryError(thrown);
    }
  }

  /** All responses. Throws the first error. */
  *[Symbol.iterator](): Iterator<HttpResponse> {
    for (let index = 0; index < this.length; index += 1) yield this.response(index);
  }

  #check(index: number): void {
    checkIndex('response', index, this.length);
  }
}

/** Parses header lines into an object by lower-case name. */
export function parseHeaders(lines: string): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  eachHeader(lines, (name, value) => {
    headers[name] = name in headers ? `${headers[name]!}, ${value}` : value;
  });
  return headers;
}

/** The values of the headers with a name among header lines. */
export function valuesOf(lines: string, name: string): string[] {
  if (typeof name !== 'string')
    throw invalidArgument(`the name of a header must be a string, not ${describeValue(name)}`);
  const wanted = name.toLowerCase();
  const values: string[] = [];
  eachHeader(lines, (found, value) => {
    if (found === wanted) values.push(value);
  });
  return values;
}

/** Calls `take` with the lower-case name and the value of each header line. */
function eachHeader(lines: string, take: (name: string, value: string) => void): void {
  for (const line of lines.split('\n')) {
    const colon = line.indexOf(':');
    if (colon !== -1) take(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
}
