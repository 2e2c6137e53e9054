import { invalidArgument } from '../errors.js';

/** The parts of a server's URL. */
export interface UrlParts {
  readonly scheme: string;
  /** The user, decoded; undefined without a login. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The host without the brackets of an IPv6 address. It may be empty. */
  readonly host: string;
  readonly port: number | undefined;
  /** The path, decoded, with its slash. */
  readonly path: string;
  /** The value of an option behind the question mark, decoded. */
  readonly option: (name: string) => string | undefined;
}

/**
 * Splits the URL of a server as `native/kernel/src/url.rs` does, for clients that do not understand all of it: the
 * class `URL` refuses a login without a host. The addon's client has already accepted the URL, so it is valid. Throws
 * for an `@` behind the host, where a part of a password could be taken for a host.
 */
export function urlParts(text: string): UrlParts {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^([^:]*):\/\/([^/?]*)([^?]*)\??(.*)$/s.exec(text) ?? [];
  const isAmbiguous = authority.includes('@') || (authority !== '' && !/^https?$/.test(scheme));
  if (isAmbiguous && path.includes('@')) {
    throw invalidArgument(
      'an @ stands behind the host of the URL; write / and @ as %2F and %40 in a user, a password and a path',
    );
  }
  const address = /^(?:([^:]*)(?::(.*))?@)?(\[[^\]]*\]|[^:@]*)(?::(\d+))?$/s.exec(authority) ?? [];
  const [, user, password, host = '', port] = address;
  const decoded = (part: string | undefined): string | undefined =>
    part === undefined ? undefined : decodeURIComponent(part);
  return {
    scheme,
    user: decoded(user),
    password: decoded(password),
    host: host.replace(/^\[|\]$/g, ''),
    port: port === undefined ? undefined : Number(port),
    path: decodeURIComponent(path),
    option: (name) =>
      decoded(
        query
          .split('&')
          .findLast((option) => option.startsWith(`${name}=`))
          ?.slice(name.length + 1),
      ),
  };
}
