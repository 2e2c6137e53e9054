import { BoundaryError } from '../../errors.js';

/** Throws if a stream is iterated a second time. */
export function assertFirstUse(isUsed: boolean): void {
  if (!isUsed) return;
  throw new BoundaryError('BB_CLOSED', 'a stream can be iterated once', { hint: 'Run the query again' });
}
