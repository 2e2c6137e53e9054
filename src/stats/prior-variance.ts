/** The variance between pairs of processes that comparisons have in common: each alone has too few pairs to estimate its own well. */
import { sumOf } from './sum.js';

/** A variance, and the degrees of freedom by which it is known. */
export interface Variance {
  readonly variance: number;
  readonly degrees: number;
}

/** The fewest comparisons that tell how variances differ. */
const FEWEST = 8;
/** The most degrees that the others add to the degrees of a comparison, so that its own variance counts, too. */
const MOST_DEGREES = 8;

/**
 * The variance that comparisons have in common, and how many processes of its own it is worth to each of them: few if their
 * variances differ much. `undefined` for fewer than eight comparisons, or if they differ more than chance and any common variance
 * explain.
 *
 * The moments of the logarithms of the variances give both (Smyth, "Linear Models and Empirical Bayes Methods for Assessing
 * Differential Expression in Microarray Experiments", 2004, section 6.2).
 */
export function priorVariance(each: readonly Variance[]): Variance | undefined {
  const known = each.filter(({ variance, degrees }) => variance > 0 && degrees > 0);
  if (known.length < FEWEST) return undefined;
  const logs = known.map(({ variance, degrees }) => Math.log(variance) - digamma(degrees / 2) + Math.log(degrees / 2));
  const mean = sumOf(logs) / logs.length;
  const spread = sumOf(logs.map((value) => (value - mean) ** 2)) / (logs.length - 1);
  // The differences of the variances beyond chance.
  const beyond = spread - sumOf(known.map(({ degrees }) => trigamma(degrees / 2))) / known.length;
  const degrees = beyond <= 0 ? MOST_DEGREES : Math.min(2 * inverseTrigamma(beyond), MOST_DEGREES);
  if (degrees < 1) return undefined;
  return { degrees, variance: Math.exp(mean + digamma(degrees / 2) - Math.log(degrees / 2)) };
}

/** A variance of a comparison, moderated by the variance of all: their mean, weighted by degrees. */
export function moderated(own: Variance, prior: Variance | undefined): Variance {
  if (prior === undefined) return own;
  const degrees = own.degrees + prior.degrees;
  return { variance: (own.degrees * own.variance + prior.degrees * prior.variance) / degrees, degrees };
}

/** The argument from which on the asymptotic series are exact to twelve digits. */
const LARGE = 10;

/** The logarithmic derivative of the gamma function (Abramowitz and Stegun, 6.3.5 and 6.3.18). */
export function digamma(x: number): number {
  if (x < LARGE) return digamma(x + 1) - 1 / x;
  const square = 1 / (x * x);
  return Math.log(x) - 1 / (2 * x) - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)));
}

/** The derivative of `digamma` (Abramowitz and Stegun, 6.4.6 and 6.4.12). */
export function trigamma(x: number): number {
  if (x < LARGE) return trigamma(x + 1) + 1 / (x * x);
  const square = 1 / (x * x);
  return 1 / x + square / 2 + (square / x) * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)));
}

/** The steps in which an argument is searched, each of which halves its logarithmic range. */
const HALVINGS = 60;

/** The argument for which `trigamma` (a falling function) has a value. */
function inverseTrigamma(value: number): number {
  let [low, high] = [1e-6, 1e6];
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = Math.sqrt(low * high);
    if (trigamma(middle) > value) low = middle;
    else high = middle;
  }
  return Math.sqrt(low * high);
}
