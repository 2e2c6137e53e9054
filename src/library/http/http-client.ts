import { addon, type HttpOrigin } from '../../addon.js';
import { BoundaryError, explained, invalidArgument, toBoundaryError } from '../../errors.js';
import {
  assertNotAborted,
  readWorkOptions,
  watchLimits,
  withOutcome,
  type WorkOptions,
} from '../crossing/cancellation.js';
import { checkConnectTimeout, type ConnectOptions, connectTimeoutOf } from '../crossing/connecting.js';
import type { HttpResponse, HttpResponses } from './http-responses.js';
import {
  type HttpHeaders,
  type HttpRequest,
  headerLines,
  readRequests,
  type ReadHttpRequest,
} from './http-submission.js';
import { HttpStream } from './http-stream.js';
import { DEFAULT_TIMEOUT_MS, HttpCall, type HttpTransport, openTransport } from './http-transport.js';
import { OpenHandles } from '../crossing/open-handles.js';
import {
  checkBoolean,
  checkLater,
  checkTimeout,
  integerIn,
  type OptionChecks,
  readOptions,
} from '../crossing/options.js';
import { SERVER_OPTIONS, type ServerOptions } from '../crossing/url-options.js';
import { checkText } from '../crossing/well-formed.js';

const MOST_CONNECTIONS = 1000;
const MOST_PIPELINING = 1000;
const MOST_BYTES = 2 ** 31;

const NO_LIMITS: WorkOptions = {};

/** The connections of an `HttpClient`, its time-out, and what it sends with each request. */
export interface HttpClientOptions extends ConnectOptions, Omit<ServerOptions, 'maxResponseBytes'> {
  /** The most connections to the server. Default: 1. They are opened on demand. */
  readonly connections?: number | undefined;
  /** The most requests under way on one connection. Default: 1. Servers answer them in their order. */
  readonly pipelining?: number | undefined;
  /**
   * The time-out in milliseconds of each call without its own, and of each piece of a stream. Default: 300000, as in undici, and
   * then up to a thirtieth more.
   */
  readonly timeoutMs?: number | undefined;
  /** Headers sent with every request that has none of the same name. */
  readonly headers?: HttpHeaders | undefined;
  /** The most bytes of a response's body. A longer body is an error with the code `BB_TOO_LARGE`. Default: 256 MiB. */
  readonly maxResponseBytes?: number | undefined;
  /** Uses HTTP/2, over one connection: negotiated in TLS, assumed without it. */
  readonly http2?: boolean | undefined;
  /** An older name of `tlsCa`. */
  readonly cacert?: string | undefined;
}

const CLIENT_OPTIONS: OptionChecks<HttpClientOptions> = {
  ...SERVER_OPTIONS,
  connections: integerIn(1, MOST_CONNECTIONS),
  pipelining: integerIn(1, MOST_PIPELINING),
  timeoutMs: checkTimeout,
  connectTimeoutMs: checkConnectTimeout,
  // Checked where the header lines are made of them.
  headers: checkLater,
  maxResponseBytes: integerIn(1, MOST_BYTES),
  http2: checkBoolean,
  cacert: checkText,
};

/**
 * A client of one HTTP server, for many small requests: `http://host[:port][/path]` or `https://...`.
 *
 * Several calls may be under way at once. The calls of one turn of the event loop cross into Rust together. Any status is a
 * response, not an error. All errors are `BoundaryError`s. When a connection is lost, its requests under way are rejected with
 * `BB_CONNECTION`: they may have been executed or not, and are never retried. Over HTTP/2, requests that the server surely did not
 * execute are sent again. These are the requests that it refused, or excluded when it ended the connection, and those that had not
 * left yet. An idle connection that the server closed is reopened. A call that is aborted or times out is cancelled, and its
 * connections of HTTP/1.1 are closed.
 *
 * @example
 * ```js
 * import { HttpClient } from 'boundary-bench';
 *
 * const http = await HttpClient.connect('http://127.0.0.1:4406', { connections: 4 });
 * const response = await http.request({ path: '/0.1.0/ping' });
 * console.log(response.status); // 200
 * const responses = await http.requestMany([{ path: '/0.1.0/ping' }, { path: '/0.1.0/nothing' }]);
 * console.log(responses.response(1).status); // 404
 * await http.close();
 * ```
 */
export class HttpClient implements AsyncDisposable {
  readonly #place: HttpOrigin;
  readonly #transport: HttpTransport;
  readonly #streams = new OpenHandles('the client');
  readonly #timeoutMs: number | undefined;
  #isClosed = false;

  /** Makes a client that connects at its first request. */
  constructor(baseUrl: string, options: HttpClientOptions = {}) {
    const read = readOptions(options, CLIENT_OPTIONS);
    const { connections = 1, timeoutMs, connectTimeoutMs } = read;
    this.#place = placeOf(baseUrl, read);
    this.#timeoutMs = timeoutMs;
    this.#transport = openTransport(this.#place, connections, connectTimeoutOf(connectTimeoutMs, timeoutMs));
  }

  /** Makes a client and connects to the server once. */
  static async connect(baseUrl: string, options: HttpClientOptions = {}): Promise<HttpClient> {
    const client = new HttpClient(baseUrl, options);
    try {
      await client.#transport.connect();
      return client;
    } catch (thrown) {
      await client.close();
      throw toBoundaryError(thrown);
    }
  }

  /** Sends one request. */
  request(request: HttpRequest, options?: WorkOptions): Promise<HttpResponse> {
    return this.#call<HttpResponse>([request], false, options);
  }

  /**
   * Sends many requests in one crossing, over all connections. Resolves when the last one is answered. A request that fails is an
   * error in its own place.
   */
  async requestMany(requests: readonly HttpRequest[], options?: WorkOptions): Promise<HttpResponses> {
    if (!Array.isArray(requests) || requests.length === 0) {
      throw invalidArgument('requests must be an array of at least one');
    }
    return this.#call<HttpResponses>(requests, true, options);
  }

  /**
   * Sends one request over a connection of its own, and resolves when the head of the response has arrived. It is for bodies of any
   * size that are read while they arrive. A `timeoutMs` given here is for the whole response, the client's for each piece. HTTP/1.1
   * only.
   */
  async stream(request: HttpRequest, options: WorkOptions = {}): Promise<HttpStream> {
    const limits = readWorkOptions(options);
    const [read] = readRequests([request]);
    this.#assertOpen();
    // The addon applies the client's time-out itself.
    const pieceMs = this.#timeoutMs === undefined ? DEFAULT_TIMEOUT_MS : undefined;
    return HttpStream.open(this.#place, read!, this.#streams, limits, pieceMs);
  }

  /** Closes the connections. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#transport.close();
    await this.#streams.closeAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call<T>(requests: readonly HttpRequest[], isMany: boolean, options: WorkOptions | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const limits = options === undefined ? NO_LIMITS : readWorkOptions(options);
      const read = readRequests(requests);
      const settle = resolve as (value: unknown) => void;
      if (limits === NO_LIMITS && this.#timeoutMs === undefined) {
        // All getters of the caller have run by now.
        this.#assertOpen();
        const call = new HttpCall(read.length, isMany, settle, reject);
        this.#transport.send(call, read);
        call.limit(this.#transport);
      } else {
        this.#callWithin(read, isMany, limits, settle, reject);
      }
    });
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new BoundaryError('BB_CLOSED', 'the client is closed');
  }

  /** Sends a call that may be ended before it is answered. */
  #callWithin(
    requests: readonly ReadHttpRequest[],
    isMany: boolean,
    { signal, timeoutMs = this.#timeoutMs ?? DEFAULT_TIMEOUT_MS }: WorkOptions,
    resolve: (value: unknown) => void,
    reject: (error: BoundaryError) => void,
  ): void {
    assertNotAborted(signal);
    this.#assertOpen();
    const call = new HttpCall(
      requests.length,
      isMany,
      (value) => {
        release();
        resolve(value);
      },
      (error) => {
        release();
        reject(error);
      },
    );
    // Before the call is sent, since sending may answer it.
    const release = watchLimits({ signal, timeoutMs }, (reason) => {
      release();
      reject(withOutcome(reason, 'unknown'));
      this.#transport.cancel(call);
    });
    try {
      this.#transport.send(call, requests);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }
}

/** The server of a client, with its options checked. */
function placeOf(baseUrl: string, options: HttpClientOptions): HttpOrigin {
  const { connections = 1, pipelining = 1, timeoutMs, headers = {}, maxResponseBytes, http2 = false } = options;
  const { tls, tlsCa = options.cacert } = options;
  checkText('the URL', baseUrl);
  const lines = headerLines(headers);
  checkText('the headers', lines);
  const origin = {
    connections,
    pipelining,
    headers: lines,
    http2,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxResponseBytes === undefined ? {} : { mostBytes: maxResponseBytes }),
    ...(tls === undefined ? {} : { tls }),
    ...(tlsCa === undefined ? {} : { tlsCa }),
  };
  return explained(() => new addon.HttpOrigin(baseUrl, origin));
}
