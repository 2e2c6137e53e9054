import type { RunContext } from './record.js';

/** The digits of a hash that tell one from another. */
const DIGITS = 12;

/** A commit as texts have it: `22358848f974`, or `22358848f974 with changes`. */
export function commitText({ commit, dirty }: NonNullable<RunContext['git']>): string {
  return `${shortHash(commit)}${dirty ? ' with changes' : ''}`;
}

/** The first digits of a hash. */
export function shortHash(hash: string): string {
  return hash.slice(0, DIGITS);
}
