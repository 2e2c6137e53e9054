import { toBoundaryError } from '../errors.js';

export const EXIT_OK = 0;
/** A cell failed, a comparison shows a regression, or something broke. */
export const EXIT_FAILED = 1;
/** The command makes no sense, or was refused, and nothing was measured. */
export const EXIT_USAGE = 2;
/** 128 and the number of the signal, as shells have it. */
export const EXIT_INTERRUPTED = 130;
export const EXIT_TERMINATED = 143;

/** The errors that the user can set right by another command line. */
const USAGE_ERROR = /^BB_(USAGE|INVALID_ARGUMENT|OUT_EXISTS|FILTER_.*|RESUME_.*|RESULT_FILE_.*|COMPARE_.*)$/;

export function exitCodeOf(thrown: unknown): number {
  return USAGE_ERROR.test(toBoundaryError(thrown).code) ? EXIT_USAGE : EXIT_FAILED;
}

/** An error for the terminal: the code, what happened, and what to do. */
export function explain(thrown: unknown): string {
  const { code, message, hint } = toBoundaryError(thrown);
  return `error: ${message} [${code}]${hint === undefined ? '' : `\n${hint}`}`;
}
