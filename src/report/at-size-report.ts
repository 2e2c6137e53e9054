/** The output of `boundary-bench predict --size` for a terminal. */
import { groupBy } from '../compare/cell-groups.js';
import type { TimeAtSize } from '../model/at-size.js';
import { heading, paragraph, renderTerminal, tableBlock, tableOf, type Terminal } from './document.js';
import { UNKNOWN, formatCount, formatDuration } from './format.js';
import { sideAndVariantOf } from './labels.js';

/** A table for each workload of the user, the fastest way first. */
export function renderTimesAtSize(
  size: number,
  times: readonly TimeAtSize[],
  origin: readonly string[],
  terminal?: Terminal,
): string {
  const tables = groupBy(times, ({ record }) => record.family).flatMap((ofFamily) => {
    const ascending = ofFamily.toSorted((a, b) => (a.time?.seconds ?? Infinity) - (b.time?.seconds ?? Infinity));
    const table = tableOf(ascending, [
      { title: 'Way', of: ({ record }) => sideAndVariantOf(record) },
      { title: '>Time', of: ({ time }) => (time === undefined ? UNKNOWN : formatDuration(time.seconds)) },
      {
        title: '>95% interval',
        of: ({ time }) => (time === undefined ? UNKNOWN : `${formatDuration(time.low)}–${formatDuration(time.high)}`),
      },
      { title: 'By', of: byText },
    ]);
    return [heading(2, `${ofFamily[0]!.record.family}, size ${formatCount(size)}`), ...tableBlock(table)];
  });
  return renderTerminal([...origin.map(paragraph), ...tables], terminal);
}

function byText({ between: [low, high], time }: TimeAtSize): string {
  if (time === undefined)
    return `can't tell: measured from ${formatCount(low)} to ${formatCount(high)}, or too short there`;
  return low === high ? 'measured' : `the sizes ${formatCount(low)} and ${formatCount(high)}`;
}
