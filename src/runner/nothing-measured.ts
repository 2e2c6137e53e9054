import { BoundaryError } from '../errors.js';
import type { PlannedCell } from '../families/workload.js';
import { type NoVerdict, itemsOf, unitOf } from '../records/record.js';
import { median } from '../stats/quantile.js';

/** The time of a call, in seconds, below which the loop around the calls is what is measured. */
export const LEAST_CALL_SECONDS = 2e-9;

/** The part of an empty loop's time for an item up to which no work can have been done. */
const NO_WORK = 0.3;

/** How exactly the time of an empty span is known, as a part of it. */
const UNCERTAINTY = 0.2;

/** The number of empty spans that are measured, and the items of an empty loop. */
const SPANS = 1000;
const ITEMS = 1 << 20;

/**
 * Checks that a cell of Node does something: an execution that takes no longer than an empty loop over its rows has left them out.
 * Returns `nothing-to-measure` for calls that take no longer than the loop around them. Throws `BB_NOTHING_MEASURED`.
 */
export function requireWork({ cell }: PlannedCell, seconds: number, repeats: boolean): NoVerdict | undefined {
  if (cell.calls !== undefined) return seconds / cell.calls < LEAST_CALL_SECONDS ? 'nothing-to-measure' : undefined;
  if (cell.side === 'rust' || itemsOf(cell) === 0 || cell.queries !== undefined) return undefined;
  const span = emptySpan();
  const least = NO_WORK * itemsOf(cell) * emptyItem();
  // Too few rows for a clock to tell whether they were read.
  if (!repeats && least < UNCERTAINTY * span) return undefined;
  if (seconds - (repeats ? 0 : span) >= least) return undefined;
  const per = ((seconds / itemsOf(cell)) * 1e9).toPrecision(2);
  throw new BoundaryError(
    'BB_NOTHING_MEASURED',
    `${itemsOf(cell)} ${unitOf(cell)} took ${per} ns each, which is no more than an empty loop over them takes`,
    {
      hint: 'Do the work between start() and stop(), and return a checksum that depends on each row: compilers leave out what nobody uses.',
    },
  );
}

let span: number | undefined;
let item: number | undefined;

/** The seconds that a span without work shows: the time of reading the clock. */
function emptySpan(): number {
  span ??=
    median(
      Array.from({ length: SPANS }, () => {
        const startedAt = performance.now();
        return performance.now() - startedAt;
      }),
    ) / 1000;
  return span;
}

/** The seconds of an item of a loop that adds its index. */
function emptyItem(): number {
  if (item !== undefined) return item;
  let fastest = Infinity;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const startedAt = performance.now();
    let sum = 0;
    for (let index = 0; index < ITEMS; index += 1) sum += index;
    const elapsed = performance.now() - startedAt;
    // The sum is used, so that no compiler leaves the loop out.
    if (sum > 0) fastest = Math.min(fastest, elapsed);
  }
  return (item = fastest / ITEMS / 1000);
}
