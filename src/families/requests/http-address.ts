import { BoundaryError } from '../../errors.js';

/** A server over HTTP as its clients take it, from the one URL that users name it by. */
export interface HttpAddress {
  /** Without what follows. */
  readonly url: string;
  /** What stands in the place of a password; empty where there is none. It goes into a header. */
  readonly secret: string;
  /** A file of certificates to trust in place of the system's. */
  readonly tlsCa?: string;
}

/** Reads `http[s]://[:key@]host[:port][/path][?tls-ca=/file.pem]`, as `native/clients/http/src/address.rs` does. */
export function httpAddress(serverUrl: string): HttpAddress {
  const url = serverUrlOf(serverUrl);
  const secret = decodeURIComponent(url.password);
  const tlsCa = url.searchParams.get('tls-ca') ?? url.searchParams.get('cacert');
  url.username = '';
  url.password = '';
  url.search = '';
  return { url: url.href.replace(/\/$/, ''), secret, ...(tlsCa === null ? {} : { tlsCa }) };
}

export function serverUrlOf(serverUrl: string): URL {
  if (URL.canParse(serverUrl)) return new URL(serverUrl);
  throw new BoundaryError('BB_INVALID_ARGUMENT', 'the URL of the server is none: it looks like http://host:4406');
}
