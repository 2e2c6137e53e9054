import { firstPlace } from '../first-place.js';

/** A span of time, in milliseconds on the clock of `performance.now()` unless said otherwise. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The milliseconds of `span` that lie within `spans`. These are in order and do not overlap. */
export function overlapOf(span: Span, spans: readonly Span[]): number {
  let overlap = 0;
  for (let index = firstPlace(spans, ({ to }) => to > span.from); index < spans.length; index++) {
    const { from, to } = spans[index]!;
    if (from >= span.to) break;
    overlap += Math.min(to, span.to) - Math.max(from, span.from);
  }
  return overlap;
}

/** Whether a time lies within one of `spans`, its ends included. These are in order and do not overlap. */
export function isWithin(time: number, spans: readonly Span[]): boolean {
  const span = spans[firstPlace(spans, ({ to }) => to >= time)];
  return span !== undefined && span.from <= time;
}
