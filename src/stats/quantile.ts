/**
 * The value below which the fraction `p` (0 to 1) of the values lies, interpolated linearly between the two nearest order
 * statistics. This is definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996). R, NumPy and Excel use it
 * by default. Throws a `RangeError` if there is no value or `p` is outside 0 to 1.
 */
export function quantile(values: ArrayLike<number>, p: number): number {
  return quantileOfSorted(Float64Array.from(values).toSorted(), p);
}

/** Like `quantile`, for values already in ascending order. They are neither copied nor checked. */
export function quantileOfSorted(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) throw new RangeError('a quantile needs at least one value');
  if (!(p >= 0 && p <= 1)) throw new RangeError(`a quantile is asked for between 0 and 1, not at ${p}`);
  const position = (sorted.length - 1) * p;
  const below = Math.floor(position);
  const low = sorted[below]!;
  const high = sorted[Math.ceil(position)]!;
  // Equal neighbours are returned unchanged: interpolation could leave the range by a rounding error.
  return low === high ? low : Math.min(high, low + (high - low) * (position - below));
}

/** The middle value, or the mean of the two middle values. */
export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
}

/** The fewest values of which one wild one does not move the pseudo-median far, and the most whose pairs are taken. */
const FEWEST_PAIRED = 4;
const MOST_PAIRED = 200;

/**
 * The pseudo-median: the median of the means of all pairs of values, each value with itself too. For values that scatter as a
 * normal distribution does, it scatters little more than the mean. The median would need half as many values again. Up to a quarter
 * of wild values do not move it far (Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963). For very few values,
 * or very many, it is the median.
 */
export function pseudoMedian(values: readonly number[]): number {
  if (values.length < FEWEST_PAIRED || values.length > MOST_PAIRED) return median(values);
  return median(values.flatMap((a, index) => values.slice(index).map((b) => (a + b) / 2)));
}

/** The distance between the first and the third quartile. */
export function interquartileRange(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).toSorted();
  return quantileOfSorted(sorted, 0.75) - quantileOfSorted(sorted, 0.25);
}

/** The mean of the squared distances from the mean. */
export function varianceOf(values: Float64Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
}
