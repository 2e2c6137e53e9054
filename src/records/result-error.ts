/** What can be wrong with a result file or with a comparison of two. */
export type ResultErrorCode =
  | 'BB_RESULT_FILE_UNREADABLE'
  | 'BB_RESULT_FILE_NOT_JSON'
  | 'BB_RESULT_FILE_VERSION'
  | 'BB_RESULT_FILE_SHAPE'
  | 'BB_RESULT_FILE_INCOMPLETE'
  | 'BB_COMPARE_DIFFERENT_HARDWARE';

/** An error about result files. `code` is stable; the message is for people. */
export class ResultError extends Error {
  override readonly name = 'ResultError';
  readonly code: ResultErrorCode;

  constructor(code: ResultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
