/**
 * `undici`, in JavaScript alone, in its fastest configuration: a pool with as many connections as requests in flight, or one
 * connection with as many pipelined. Its APIs are the lanes' settings: `request` with the body read at once, and `dispatch` with a
 * handler of our own, which skips its streams and promises. The sources are its `docs/docs/api`: `pipelining` and the time-outs in
 * `Client.md`, `idempotent` and `blocking` in `Dispatcher.md`.
 */
import { readFileSync } from 'node:fs';

import type { Dispatcher, H2CClient as H2CClients, Pool as Pools } from 'undici';

import { BoundaryError } from '../errors.js';
import type { JsHttpAnswer, JsHttpClient, JsHttpConnection } from './js-http-client.js';
import { importPackage } from './optional-package.js';

const library = await importPackage('undici', () => import('undici'));

const { Pool } = library;

/** The options of a connection. */
export interface UndiciOptions {
  readonly connections: number;
  readonly pipelining: number;
  /** The most requests at a time on one connection of HTTP/2; absent: HTTP/1.1. */
  readonly streams?: number | undefined;
  /** Headers sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a handler of our own reads the responses. */
  readonly dispatches: boolean;
  /** A file of certificates to trust instead of the system's. */
  readonly tlsCa?: string | undefined;
  /** The time-out in milliseconds of the head and of each piece of a response; absent: none, since their timers cost time. */
  readonly timeoutMs?: number | undefined;
}

/** A pool of connections to one server. */
export class UndiciClient implements JsHttpConnection {
  readonly #pool: Dispatcher;
  readonly #headers: Record<string, string>;
  /** Posts a body to a path. */
  readonly post: (path: string, body: string | Uint8Array) => Promise<JsHttpAnswer>;

  constructor(url: string, options: UndiciOptions) {
    const { connections, pipelining, streams, headers, dispatches, tlsCa, timeoutMs = 0 } = options;
    const shared = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, ...trusting(tlsCa) };
    if (streams === undefined) this.#pool = new Pool(url, { ...shared, connections, pipelining });
    else this.#pool = http2Client(url, streams, shared);
    this.#headers = { ...headers };
    this.post = dispatches ? (path, body) => this.#dispatch(path, body) : (path, body) => this.#request(path, body);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  /** Posts a body to a path, and passes on the pieces of the response while they arrive. */
  stream(path: string, body: string, take: (piece: Buffer, status: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', path, headers: this.#headers, body } as const;
      this.#pool.dispatch(options, new PieceReader(take, resolve, reject));
    });
  }

  async #request(path: string, body: string | Uint8Array): Promise<JsHttpAnswer> {
    const answer = await this.#pool.request({ method: 'POST', path, headers: this.#headers, body });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  #dispatch(path: string, body: string | Uint8Array): Promise<JsHttpAnswer> {
    return new Promise((resolve, reject) => {
      // These posts only read. Undici sends nothing behind a post that is not `idempotent`, or that may be `blocking`.
      const options = {
        method: 'POST',
        path,
        headers: this.#headers,
        body,
        idempotent: true,
        blocking: false,
      } as const;
      this.#pool.dispatch(options, new Reader(resolve, reject));
    });
  }
}

/** The client of the family `rest`. */
export const undici: JsHttpClient = {
  connect: async (url, { setting, ...options }) =>
    new UndiciClient(url, { ...options, dispatches: setting !== undefined }),
};

/** One connection of HTTP/2: agreed on by TLS, or without TLS begun at once. */
function http2Client(url: string, streams: number, options: Pools.Options): Dispatcher {
  const most = { pipelining: streams, maxConcurrentStreams: streams };
  if (!url.startsWith('https:')) return new library.H2CClient(url, { ...options, ...most } as H2CClients.Options);
  return new Pool(url, { ...options, ...most, connections: 1, allowH2: true });
}

/** The options of a pool that trusts the certificates of a file. */
function trusting(tlsCa: string | undefined): { connect?: { ca: Buffer } } {
  return tlsCa === undefined ? {} : { connect: { ca: readFileSync(tlsCa) } };
}

/** Reads the body of a response into one string. */
class Reader implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: JsHttpAnswer) => void;
  readonly #reject: (error: Error) => void;
  #status = 0;
  /** The first piece, and further pieces if there are any. */
  #first: Buffer | undefined;
  #others: Buffer[] | undefined;

  constructor(resolve: (answer: JsHttpAnswer) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    this.#status = statusCode;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Kept without a copy: undici passes a view of the memory that it received into.
    if (this.#first === undefined) this.#first = chunk;
    else (this.#others ??= [this.#first]).push(chunk);
  }

  onResponseEnd(): void {
    const body = this.#others === undefined ? this.#first : Buffer.concat(this.#others);
    this.#resolve({ status: this.#status, text: body === undefined ? '' : body.toString('utf8') });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(new BoundaryError('BB_CONNECTION', error.message, { cause: error }));
  }
}

/** Passes on the pieces of a response's body. */
class PieceReader implements Dispatcher.DispatchHandler {
  readonly #take: (piece: Buffer, status: number) => void;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #status = 0;
  #failure: unknown;

  constructor(take: (piece: Buffer, status: number) => void, resolve: () => void, reject: (error: unknown) => void) {
    this.#take = take;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    this.#status = statusCode;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    try {
      this.#take(chunk, this.#status);
    } catch (thrown) {
      this.#failure = thrown;
      controller.abort(thrown as Error);
    }
  }

  onResponseEnd(): void {
    this.#resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(this.#failure ?? new BoundaryError('BB_CONNECTION', error.message, { cause: error }));
  }
}
