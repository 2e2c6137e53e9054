/** The engine of twins of ways. They do no work, and compete with nothing. */
export const NOOP = 'noop';

/** The lane of the twin of a way. */
export function noopLaneOf(lane: string): string {
  return `${lane}-noop`;
}
