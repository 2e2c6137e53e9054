import { checkInteger, type OptionChecks, oneOf } from './options.js';
import { checkText } from './well-formed.js';

/** The TLS mode of a connection: `required` encrypts without checking the server. `verify` also checks its certificate. */
export type TlsMode = 'off' | 'required' | 'verify';

/** Options of clients that take a server's URL. Each is also an option of the URL, in kebab case. A value given here wins. */
export interface ServerOptions {
  /** The TLS mode of the connections, if the URL's scheme does not set it. */
  readonly tls?: TlsMode | undefined;
  /**
   * A file of certificates to trust instead of the system's: of authorities, or the server's own if it is self-signed. The server's
   * name must be one of its certificate's either way.
   */
  readonly tlsCa?: string | undefined;
  /** The most bytes of a response. A longer response is an error with the code `BB_TOO_LARGE`, and closes its connection. */
  readonly maxResponseBytes?: number | undefined;
}

/** Checks of the options of clients that take a server's URL. */
export const SERVER_OPTIONS: OptionChecks<ServerOptions> = {
  tls: oneOf('off', 'required', 'verify'),
  tlsCa: checkText,
  maxResponseBytes: (name, value) => checkInteger(name, value, 1, Number.MAX_SAFE_INTEGER),
};

/** The URL with `options` appended. The last value of an option wins. Names are the URL's. Undefined values are left out. */
export function withUrlOptions(url: unknown, options: Readonly<Record<string, unknown>>): string {
  checkText('the URL', url);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return url;
  const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const separator = url.includes('?') ? '&' : '?';
  return url + separator + pairs.join('&');
}
