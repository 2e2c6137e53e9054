/** The most halvings of the interval in which a quantile is searched. */
const HALVINGS = 60;

/**
 * The quantile of Student's t: the value below which the part `p` (0.5 to below 1) of the distribution lies. `degrees` are its
 * degrees of freedom, a whole number from 1. Found by bisection of the distribution's closed form for whole degrees (Abramowitz and
 * Stegun, 26.7.3 and 26.7.4).
 */
export function studentQuantile(p: number, degrees: number): number {
  let low = 0;
  let high = 1;
  while (studentBelow(high, degrees) < p) high *= 2;
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2;
    if (studentBelow(middle, degrees) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function studentBelow(t: number, degrees: number): number {
  return (1 + within(t, degrees)) / 2;
}

/** The part of the distribution between `-t` and `t`. */
function within(t: number, degrees: number): number {
  const angle = Math.atan2(t, Math.sqrt(degrees));
  const cosine = Math.cos(angle);
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let k = isOdd ? 3 : 2; k < degrees - 1; k += 2) {
    term *= (cosine * cosine * (k - 1)) / k;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}
