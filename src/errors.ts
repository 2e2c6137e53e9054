/** The message of an error that has none. */
const WITHOUT_MESSAGE = 'an error without a message';

/**
 * An error of this package. `code` is stable across releases and starts with `BB_`. The message is for people.
 *
 * @example
 * ```js
 * import { BoundaryError, TableDefinition } from 'boundary-bench';
 *
 * try {
 *   new TableDefinition('', []);
 * } catch (error) {
 *   if (error instanceof BoundaryError) console.log(error.code); // BB_INVALID_ARGUMENT
 * }
 * ```
 */
export class BoundaryError extends Error {
  override readonly name = 'BoundaryError';
  readonly code: string;
  /** Advice on what the user can do about the error, as a sentence. Absent if there is nothing. */
  readonly hint?: string;
  /**
   * The outcome of a call that a time-out, a signal or a close ended, or that found no server. `not executed`: the call has changed nothing.
   * `unknown`: the server may have executed it. Absent for other errors, and if the call had begun to return rows.
   */
  declare readonly outcome?: 'not executed' | 'unknown';

  constructor(
    code: string,
    message: string,
    options: { hint?: string | undefined; cause?: unknown; outcome?: BoundaryError['outcome'] } = {},
  ) {
    // An error that is made of something else must not be another error.
    const { hint, cause, outcome } = (options as typeof options | null) ?? {};
    const text = typeof message === 'string' ? message : WITHOUT_MESSAGE;
    super(text, cause === undefined ? undefined : { cause });
    this.code = code;
    if (hint !== undefined) this.hint = hint;
    if (outcome !== undefined) this.outcome = outcome;
  }
}

/** The outcome of work that was ended early. */
export type Outcome = NonNullable<BoundaryError['outcome']>;

/** The code of an error that had none of our codes. */
export const UNEXPECTED = 'BB_UNEXPECTED';

/** The code of work that an `AbortSignal` ended. */
export const ABORTED = 'BB_ABORTED';

/** The code for features that an engine or a server does not support. */
export const UNSUPPORTED = 'BB_UNSUPPORTED';

/** The code of work that exceeded its time-out. */
export const TIMEOUT = 'BB_TIMEOUT';

/** The error of an argument that its function does not take. */
export function invalidArgument(
  message: string,
  options?: { hint?: string | undefined; cause?: unknown },
): BoundaryError {
  return new BoundaryError('BB_INVALID_ARGUMENT', message, options);
}

/** The error of a cell that did not do its work: rows, answers or sums are not what they should be. */
export function checksumMismatch(problem: string, options?: { hint: string }): BoundaryError {
  return new BoundaryError('BB_CHECKSUM_MISMATCH', problem, options);
}

/** The outcome of a call by the mark behind the code of its error. */
const OUTCOMES: Readonly<Record<string, Outcome>> = { '?': 'unknown', '!': 'not executed' };

/** Splits `[BB_CODE] text` into its code and its text, with the outcome if a mark follows the code. `undefined` without a code. */
export function splitMessage(message: string): { code: string; text: string; outcome?: Outcome } | undefined {
  const [, code, mark, text] = /^\[(BB_[A-Z0-9_]+)([?!]?)\]\s*([\s\S]*)$/.exec(message) ?? [];
  if (code === undefined) return undefined;
  const outcome = OUTCOMES[mark!];
  return { code, text: text!, ...(outcome && { outcome }) };
}

const OUR_CODE = /^BB_[A-Z0-9_]+$/;

/** Codes of napi-rs for arguments of another type than the addon's function takes. */
const WRONG_TYPE = /^(?:InvalidArg|[A-Z][A-Za-z]+Expected)$/;

/**
 * Converts any thrown value into a `BoundaryError`: its own `BB_` code is kept, a message `[BB_CODE] text` is split, an
 * `AbortError` becomes `BB_ABORTED`, and anything else `BB_UNEXPECTED`. Never throws.
 */
export function toBoundaryError(thrown: unknown): BoundaryError {
  if (thrown instanceof BoundaryError) return thrown;
  const { name, code, message, hint } = fieldsOf(thrown);
  const coded = splitMessage(message);
  const options = { cause: thrown, hint, outcome: coded?.outcome };
  if (code !== undefined && OUR_CODE.test(code)) return new BoundaryError(code, coded?.text ?? message, options);
  if (coded !== undefined) return new BoundaryError(coded.code, coded.text, options);
  if (code !== undefined && WRONG_TYPE.test(code)) return new BoundaryError('BB_INVALID_ARGUMENT', message, options);
  if (name === 'AbortError') return new BoundaryError(ABORTED, message, options);
  return new BoundaryError(UNEXPECTED, message, options);
}

/** The fields of a `BoundaryError`. Messages between processes and threads do not carry the error as such. */
export interface SentError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly outcome?: Outcome | undefined;
  /** Only if the channel of messages can clone it. */
  readonly cause?: unknown;
}

/** Any thrown value as the fields that a message carries. */
export function sentError(thrown: unknown): SentError {
  const { code, message, hint, outcome } = toBoundaryError(thrown);
  return { code, message, hint, outcome };
}

/** The error that a message carried. */
export function receivedError({ code, message, hint, outcome, cause }: SentError): BoundaryError {
  return new BoundaryError(code, message, { hint, outcome, cause });
}

/** Does work, and throws its errors as `BoundaryError`s. */
export function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}

/** Does work that may return a promise, and rejects with its errors as `BoundaryError`s. */
export async function explainedAsync<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}

interface ErrorFields {
  readonly name?: string | undefined;
  readonly code?: string | undefined;
  readonly message: string;
  readonly hint?: string | undefined;
}

function fieldsOf(thrown: unknown): ErrorFields {
  if (typeof thrown !== 'object' || thrown === null) return { message: String(thrown) };
  try {
    const { name, code, message, hint } = thrown as Record<string, unknown>;
    return {
      name: stringOrNothing(name),
      code: stringOrNothing(code),
      message: stringOrNothing(message) || stringOrNothing(name) || WITHOUT_MESSAGE,
      hint: stringOrNothing(hint),
    };
  } catch {
    // A getter of the thrown object threw as well.
    return { message: 'an error that cannot be read' };
  }
}

function stringOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The ways in which servers of MySQL and Redis say that they take no more connections. */
const FULL = /\berror (1040|1203|1226)\b|too many connections|max_user_connections|max number of clients/i;

/** Whether a server has refused a connection since it has as many as it takes. */
export function isFull(thrown: unknown): boolean {
  return FULL.test(toBoundaryError(thrown).message);
}
