/** A span of time on the clock of `performance.now()`, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** How much of `span` lies within `spans`, in milliseconds. `spans` are in order and do not overlap. */
export function overlapOf(span: Span, spans: readonly Span[]): number {
  let overlap = 0;
  for (let index = firstEndingAfter(span.from, spans); index < spans.length; index++) {
    const { from, to } = spans[index]!;
    if (from >= span.to) break;
    overlap += Math.min(to, span.to) - Math.max(from, span.from);
  }
  return overlap;
}

/** A stopwatch may be started thousands of times a sample, so the first span that matters is searched by halves. */
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
