/**
 * The protocol of docs/protocol.md, by which a process measures a cell for another one. Programs speak it in lines of JSON, and forks over
 * Node's channel of messages. The order `sample` asks for one sample, for example.
 */
import { BoundaryError, splitMessage, toBoundaryError } from './errors.js';

/** The version of the protocol. */
export const PROTOCOL = 1;

/** The type of the answer to each order that is answered. `abort` and `close` are not. */
export const ANSWERS = {
  open: 'ready',
  prepare: 'prepared',
  sample: 'sample',
  profile: 'profiled',
  result: 'result',
} as const;

/** The order that has nothing more done: the cell is closed, and the process ends with the exit code 0. */
export const CLOSE = { type: 'close' } as const;

/** The order that gives up the order before it. */
export const ABORT = { type: 'abort' } as const;

/** The last answer, to any order: what went wrong. */
export interface Failed {
  readonly type: 'failed';
  /** The text of the error. It may begin with the error's code in brackets. */
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Any thrown value as the last answer. */
export function failedBy(thrown: unknown): Failed {
  const { code, message, hint } = toBoundaryError(thrown);
  return { type: 'failed', message: `[${code}] ${message}`, hint };
}

/** The error of the last answer. `undefined` if it has no code. */
export function errorOf({ message, hint }: Failed): BoundaryError | undefined {
  const coded = splitMessage(message);
  return coded && new BoundaryError(coded.code, coded.text, { hint });
}
