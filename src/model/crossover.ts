/** From which number of rows on one way is cheaper than another. */

/** The seconds of a call by its number of rows, with the ends of their interval. */
export type CostOfRows = (rows: number) => { readonly seconds: number; readonly low: number; readonly high: number };

/** From how many rows on a way is cheaper: at the earliest and the latest by the intervals of both. */
export interface Crossover {
  /** The first number of rows from which on it is cheaper; `undefined`: it never is. */
  readonly rows: number | undefined;
  /** The first number of rows from which on it may be cheaper, and the first from which on it surely is; `undefined`: never. */
  readonly earliest: number | undefined;
  readonly latest: number | undefined;
}

/** The crossover of `way` over `other` from 1 to `most` rows. */
export function crossoverOf(way: CostOfRows, other: CostOfRows, most: number): Crossover {
  return {
    rows: firstOf((rows) => way(rows).seconds < other(rows).seconds, most),
    earliest: firstOf((rows) => way(rows).low < other(rows).high, most),
    latest: firstOf((rows) => way(rows).high < other(rows).low, most),
  };
}

/** The steps of a decade at which is looked whether a way is cheaper. */
const STEPS = 24;

/**
 * The least number of rows from which on, up to `most`, a condition holds at each step. It is found exactly, by halving
 * between steps.
 */
function firstOf(holds: (rows: number) => boolean, most: number): number | undefined {
  const steps: number[] = [];
  for (let exponent = 0; 10 ** (exponent / STEPS) < most; exponent += 1) {
    const rows = Math.round(10 ** (exponent / STEPS));
    if (rows !== steps.at(-1)) steps.push(rows);
  }
  steps.push(most);
  const last = steps.findLastIndex((rows) => !holds(rows));
  if (last === steps.length - 1) return undefined;
  let [no, yes] = [steps[last] ?? 0, steps[last + 1]!];
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}
