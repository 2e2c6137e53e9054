/** Draws an integer from 0 to `below`, exclusive (at most 2^32). */
export type DrawIndex = (below: number) => number;

/**
 * A small fast generator with a fixed seed, so that the same samples always give the same interval. It is `sfc32`, the 32-bit
 * variant of Chris Doty-Humphrey's "Small Fast Counting" generator (PractRand). It passes PractRand and BigCrush. The first 12
 * outputs are thrown away to mix the seed into the whole state.
 */
export function seededDraws(seed: number): DrawIndex {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = seed | 0;
  let counter = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  // Scaling a 32-bit draw is biased by at most `below` / 2^32, far under what a bootstrap can resolve.
  return (below) => Math.floor((next() / 2 ** 32) * below);
}

/** The items in random order (Fisher and Yates; Durstenfeld, "Algorithm 235: Random Permutation", 1964). */
export function shuffled<T>(items: readonly T[], draw: DrawIndex): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = draw(last + 1);
    [result[last], result[other]] = [result[other]!, result[last]!];
  }
  return result;
}
