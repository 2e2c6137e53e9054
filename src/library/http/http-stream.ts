import type { Cancel, HttpBody, HttpOrigin } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import { Cancellation, type WorkOptions } from '../crossing/cancellation.js';
import { parseHeaders, valuesOf } from './http-responses.js';
import { HttpSubmissionWriter, type ReadHttpRequest } from './http-submission.js';
import { decodeBody } from '../crossing/well-formed.js';
import type { OpenHandles } from '../crossing/open-handles.js';

/**
 * A response whose body is read while it arrives, by iterating over its pieces once. It has a connection of its own, which
 * closes with it. At most one piece is received ahead of the reader: backpressure slows the server down.
 */
export class HttpStream implements AsyncIterable<Uint8Array>, AsyncDisposable {
  readonly status: number;
  readonly #body: HttpBody;
  readonly #cancellation: Cancellation;
  readonly #pieceMs: number | undefined;
  #headers: Record<string, string> | undefined;
  #isClosed = false;

  private constructor(body: HttpBody, cancellation: Cancellation, pieceMs: number | undefined) {
    this.status = body.status;
    this.#body = body;
    this.#cancellation = cancellation;
    this.#pieceMs = pieceMs;
  }

  /**
   * @internal Sends a request. Resolves when the head of its response has arrived. `pieceMs` is the time-out of the head and of
   * each piece.
   */
  static async open(
    place: HttpOrigin,
    request: ReadHttpRequest,
    handles: OpenHandles,
    options: WorkOptions,
    pieceMs: number | undefined,
  ): Promise<HttpStream> {
    const writer = new HttpSubmissionWriter();
    writer.add(0, 0, [request]);
    const cancellation = new Cancellation(handles, options);
    try {
      const { bytes, length } = writer;
      const head = place.stream(bytes.subarray(0, length), cancellation.token);
      const body = await within(head, cancellation, pieceMs);
      // Else a response that nobody reads keeps its connection until V8 collects it.
      cancellation.onEnd(() => body.close());
      return new HttpStream(body, cancellation, pieceMs);
    } catch (thrown) {
      throw ended(cancellation, thrown);
    }
  }

  /** Whether the status is in the 200s. */
  get isOk(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** The headers by lower-case name. Values of the same name are joined with commas. See `headerValues`. */
  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= parseHeaders(this.#body.head));
  }

  /** The values of all headers with this name, in their order. Names are case-insensitive. Empty if there is none. */
  headerValues(name: string): string[] {
    return valuesOf(this.#body.head, name);
  }

  /** The values of the `set-cookie` headers, one by one, as `Headers.getSetCookie` of the Fetch standard has them. */
  getSetCookie(): string[] {
    return this.headerValues('set-cookie');
  }

  /** The pieces of the body, as the network delivers them. Leaving the loop early closes the connection. */
  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    if (this.#isClosed) throw new BoundaryError('BB_CLOSED', 'the response is closed');
    const { token } = this.#cancellation;
    try {
      let next = this.#next(token);
      for (;;) {
        const piece = await next;
        if (piece === null) return;
        next = this.#next(token);
        // The promise is awaited in the next iteration, if there is one. Until then its rejection counts as handled.
        next.catch(() => {});
        yield new Uint8Array(piece);
      }
    } catch (thrown) {
      throw ended(this.#cancellation, thrown);
    } finally {
      await this.close();
    }
  }

  /** The whole body as UTF-8 text, without the byte order mark that it may begin with, as `fetch` has it. */
  async text(): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    return decodeBody(bytes, 'utf8', 0, bytes.length);
  }

  /** Closes the connection. Does nothing the second time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancellation.stop();
    this.#body.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #next(token: Cancel): Promise<ArrayBuffer | null> {
    return within(this.#body.next(token), this.#cancellation, this.#pieceMs);
  }
}

/** Waits for a part of the work. Ends all of the work if the part times out. */
async function within<T>(part: Promise<T>, cancellation: Cancellation, ms: number | undefined): Promise<T> {
  // Pending work keeps the process alive by itself.
  const timer = ms === undefined ? undefined : setTimeout(() => cancellation.expire(ms), ms).unref();
  try {
    return await part;
  } finally {
    clearTimeout(timer);
  }
}

/** The error to report for `thrown`. Stops the work. */
function ended(cancellation: Cancellation, thrown: unknown): unknown {
  const error = cancellation.explain(thrown) ?? toBoundaryError(thrown);
  cancellation.stop();
  return error;
}
