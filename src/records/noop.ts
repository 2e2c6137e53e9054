/** Where twins of ways run, which do no work: they compete with nothing. */
export const NOOP = 'noop';

/** The lane of the twin of a way. */
export function noopLaneOf(lane: string): string {
  return `${lane}-noop`;
}
