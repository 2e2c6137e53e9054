import { checkConnectTimeout, type ConnectOptions } from '../crossing/connecting.js';
import { checkBoolean, checkTimeout, integerIn, type OptionChecks, oneOf } from '../crossing/options.js';
import { SERVER_OPTIONS, type ServerOptions, withUrlOptions } from '../crossing/url-options.js';
import { checkText } from '../crossing/well-formed.js';
import type { Int64Mode } from '../engine/cell-readers.js';

/** The most connections of a client. */
const MOST_CONNECTIONS = 10_000;

/** The connections of a `SqlClient`, its time-out, and the form of its values. */
export interface SqlClientOptions extends ConnectOptions, ServerOptions {
  /** The most open connections. They are opened on demand. Default: 10. */
  readonly connections?: number | undefined;
  /** The time-out in milliseconds of each call without its own. Default: none, as in mysql2: a call then may take any time. */
  readonly timeoutMs?: number | undefined;
  /** The type of 64-bit integers, as for queries. Default: `bigint`. */
  readonly int64?: Int64Mode | undefined;
  /**
   * The PEM file of the server's RSA key, with which the password is encrypted if the server asks for it over a connection
   * without TLS.
   */
  readonly serverPublicKey?: string | undefined;
  /**
   * Allows fetching that key from the server. With `tls: 'required'` it allows sending the password to a server whose certificate is not
   * verified. Anyone who impersonates the server then learns the password. Without this option and without a key such a login fails
   * with the code `BB_INSECURE` if the server asks for the password itself, as MySQL 8 does at a user's first login.
   */
  readonly allowPublicKeyRetrieval?: boolean | undefined;
  /**
   * The collation of the sessions. Default: `utf8mb4_general_ci`, which every server knows. A server that does not take it is refused with
   * `BB_UNSUPPORTED`.
   */
  readonly collation?: SqlCollation | undefined;
  /**
   * The time zone of the sessions: an offset such as `+02:00`, `SYSTEM` for the server's own, or a name such as `Europe/Berlin`, if the
   * server knows its names. A server that does not take it is refused with `BB_UNSUPPORTED`. Default: UTC, in which the values of
   * `TIMESTAMP` and `NOW()` are points in time. In another zone they are the date and time there.
   */
  readonly timeZone?: string | undefined;
  /**
   * Whether `DATE`, `DATETIME` and `TIMESTAMP` are strings as the server writes them, as in mysql2. Default: false: days and
   * microseconds since 1970. A column with a date that does not exist, such as `0000-00-00`, has strings in any case.
   */
  readonly dateStrings?: boolean | undefined;
  /**
   * Whether `DECIMAL` is the nearest number, as in mysql2. Default: false: a string with all digits.
   */
  readonly decimalNumbers?: boolean | undefined;
  /** Whether `BIGINT` is a string, as in mysql2 with `supportBigNumbers`. Default: false: `int64` says what it is. */
  readonly bigNumberStrings?: boolean | undefined;
  /**
   * Whether `TINYINT(1)` is a boolean. Default: true. A column with another number than 0 and 1 has numbers in any case. False: it
   * is a number, as in mysql2.
   */
  readonly tinyInt1isBit?: boolean | undefined;
}

/** A collation of the character set `utf8mb4`. */
export type SqlCollation = 'utf8mb4_general_ci' | 'utf8mb4_bin' | 'utf8mb4_unicode_ci' | 'utf8mb4_0900_ai_ci';

/** The checks of each option. */
export const CLIENT_OPTIONS: OptionChecks<SqlClientOptions> = {
  ...SERVER_OPTIONS,
  connections: integerIn(1, MOST_CONNECTIONS),
  timeoutMs: checkTimeout,
  connectTimeoutMs: checkConnectTimeout,
  int64: oneOf('bigint', 'number'),
  serverPublicKey: checkText,
  allowPublicKeyRetrieval: checkBoolean,
  collation: checkText,
  timeZone: checkText,
  dateStrings: checkBoolean,
  decimalNumbers: checkBoolean,
  bigNumberStrings: checkBoolean,
  tinyInt1isBit: checkBoolean,
};

/** The URL of a client's server with the client's options, which were checked. */
export function serverOf(url: string, options: SqlClientOptions): string {
  return withUrlOptions(url, {
    tls: options.tls,
    'tls-ca': options.tlsCa,
    'server-public-key': options.serverPublicKey,
    'allow-public-key-retrieval': switched(options.allowPublicKeyRetrieval),
    'max-response-bytes': options.maxResponseBytes,
    collation: options.collation,
    'time-zone': options.timeZone,
    'date-strings': switched(options.dateStrings),
    'decimal-numbers': switched(options.decimalNumbers),
    'big-number-strings': switched(options.bigNumberStrings),
    'tiny-int-1-is-bit': switched(options.tinyInt1isBit),
  });
}

/** The value of an option of the URL that is on or off. */
function switched(value: boolean | undefined): 'on' | 'off' | undefined {
  if (value === undefined) return undefined;
  return value ? 'on' : 'off';
}
