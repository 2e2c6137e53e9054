import { BoundaryError } from '../../errors.js';

/** How much of TLS a connection wants: `required` encrypts, whoever the server is; `verify` also looks at its certificate. */
export type TlsMode = 'off' | 'required' | 'verify';

/** Options of clients whose server is named by a URL. Each is also an option of the URL, in kebab case; given here it wins. */
export interface ServerOptions {
  /** How much of TLS the connections want, where the URL's scheme does not say it. */
  readonly tls?: TlsMode | undefined;
  /** A file of certificates to trust in place of the system's. */
  readonly tlsCa?: string | undefined;
  /** The most bytes of an answer; a longer one is an error with the code `BB_TOO_LARGE`, and closes its connection. */
  readonly maxResponseBytes?: number | undefined;
}

/** The URL with these options behind its own: what stands last counts. Names are those of the URL; what is undefined is left out. */
export function withUrlOptions(url: unknown, options: Readonly<Record<string, unknown>>): string {
  if (typeof url !== 'string') throw new BoundaryError('BB_INVALID_ARGUMENT', 'the URL must be a string');
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return url;
  const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const separator = url.includes('?') ? '&' : '?';
  return url + separator + pairs.join('&');
}
