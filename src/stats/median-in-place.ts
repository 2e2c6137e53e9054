/**
 * The median of values that may be reordered: the same number as `median`, found by Hoare's selection ("Algorithm 65:
 * FIND", 1961) in linear time. A bootstrap takes thousands of medians, and sorting for each would take it seconds.
 */
export function medianInPlace(values: Float64Array): number {
  if (values.length === 0) throw new RangeError('a median needs at least one value');
  const middle = values.length >> 1;
  const high = select(values, middle);
  if (values.length % 2 === 1) return high;
  // Selection leaves the values below the middle to its left. The other middle value is their greatest.
  let low = values[0]!;
  for (let i = 1; i < middle; i++) if (values[i]! > low) low = values[i]!;
  return low === high ? low : low + (high - low) * 0.5;
}

function select(values: Float64Array, index: number): number {
  let left = 0;
  let right = values.length - 1;
  while (left < right) {
    const pivot = values[index]!;
    let i = left;
    let j = right;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const swapped = values[i]!;
      values[i++] = values[j]!;
      values[j--] = swapped;
    }
    if (j < index) left = i;
    if (i > index) right = j;
  }
  return values[index]!;
}
