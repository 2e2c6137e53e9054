/**
 * The numbers of processes of each cell after which a run that decides looks at its comparisons: those that are decided get no more.
 * Intervals of such a run are wider, so that all looks together err as seldom as one.
 */
export const LOOKS: readonly number[] = [3, 6, 12];

/** The number of processes until the next look. `undefined` after the last one. */
export function nextLook(forks: number): number | undefined {
  return LOOKS.find((look) => look > forks);
}
