/** A span of time on the clock of `performance.now()`, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The milliseconds of `span` that lie within `spans`. These are in order and do not overlap. */
export function overlapOf(span: Span, spans: readonly Span[]): number {
  let overlap = 0;
  for (let index = firstEndingAfter(span.from, spans); index < spans.length; index++) {
    const { from, to } = spans[index]!;
    if (from >= span.to) break;
    overlap += Math.min(to, span.to) - Math.max(from, span.from);
  }
  return overlap;
}

/** The index of the first span that ends after `time`, by binary search, since a sample may have thousands of spans. */
function firstEndingAfter(time: number, spans: readonly Span[]): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle]!.to > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
