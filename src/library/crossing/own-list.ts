import { invalidArgument } from '../../errors.js';

/** The most elements of a caller's array. V8 ends the process for a copy of much more: an array of four billion holes takes no memory. */
const MOST_ELEMENTS = 2 ** 24;

/** A copy of a caller's array, which getters of the caller can't change. Throws `BB_INVALID_ARGUMENT` for what is none. */
export function ownList<T>(what: string, list: readonly T[]): readonly T[] {
  if (!Array.isArray(list)) throw invalidArgument(`${what} must be in an array`);
  const { length } = list as readonly T[];
  if (length > MOST_ELEMENTS) throw invalidArgument(`${what}: there may be ${MOST_ELEMENTS} at most, not ${length}`);
  return [...(list as readonly T[])];
}
