import { invalidArgument } from '../../errors.js';

/** The address of an HTTP server for clients, from the one URL that the user gives. */
export interface HttpAddress {
  /** The URL without the key and the options. */
  readonly url: string;
  /** The key that stands instead of a password, sent in a header; empty if there is none. */
  readonly secret: string;
  /** A file of certificates to trust instead of the system's. */
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
  if (URL.canParse(serverUrl)) {
    const url = new URL(serverUrl);
    if ((url.username !== '' || url.password !== '') && url.pathname.includes('@')) {
      throw invalidArgument('an @ stands behind the host of the URL; write / and @ of a key as %2F and %40');
    }
    return url;
  }
  throw invalidArgument('the URL of the server is none: it looks like http://host:4406');
}
