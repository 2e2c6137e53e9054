import { toBoundaryError } from '../errors.js';

export const EXIT_OK = 0;
/** A cell failed, a comparison shows a regression, or an unexpected error occurred. */
export const EXIT_FAILED = 1;
/** The command is invalid or was rejected, and nothing was measured. */
export const EXIT_USAGE = 2;
/** 128 plus the number of the signal, as in shells. */
export const EXIT_HUNG_UP = 129;
export const EXIT_INTERRUPTED = 130;
export const EXIT_TERMINATED = 143;

/** Codes of errors that the user can fix with another command line. */
const USAGE_ERROR =
  /^BB_(USAGE|INVALID_ARGUMENT|SERVER_UNUSABLE|OUT_.*|FILTER_.*|RESUME_.*|RESULT_FILE_.*|COMPARE_.*|MODEL_.*)$/;

export function exitCodeOf(thrown: unknown): number {
  return USAGE_ERROR.test(toBoundaryError(thrown).code) ? EXIT_USAGE : EXIT_FAILED;
}

/** The text of an error for the terminal: the message, the code and the hint. */
export function explain(thrown: unknown): string {
  const { code, message, hint } = toBoundaryError(thrown);
  return `error: ${message} [${code}]${hint === undefined ? '' : `\n${hint}`}`;
}
