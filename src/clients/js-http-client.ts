/** Clients of HTTP with which the addon's is compared. */

/** The options of a client's connections to one server. */
export interface JsHttpOptions {
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** The most connections. More posts may be called at once: a client lets them wait. */
  readonly connections: number;
  /** The most requests in flight on each connection; 1 for a client of the user's. */
  readonly pipelining: number;
  /** The most requests at a time on one connection of HTTP/2; absent: HTTP/1.1. */
  readonly streams?: number | undefined;
  /** A file of certificates to trust instead of the system's. */
  readonly tlsCa?: string | undefined;
  /** The lane's way of using the client; absent for a client of the user's. */
  readonly setting?: string | undefined;
}

/** A response that was read whole. */
export interface JsHttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** The connections of a client to one server. */
export interface JsHttpConnection {
  /** Posts a body to a path, and reads the whole response. */
  post(path: string, body: string): Promise<JsHttpAnswer>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** A client of HTTP. */
export interface JsHttpClient {
  /** Connects to the server that the URL names, as `http://host:port`. */
  connect(url: string, options: JsHttpOptions): Promise<JsHttpConnection>;
}
