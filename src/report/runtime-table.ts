import { groupBy } from '../compare/cell-groups.js';
import type { CompletedRecord } from '../records/record.js';
import { eachAt } from './call-table.js';
import { type Table, tableOf } from './document.js';
import { UNKNOWN, formatCount } from './format.js';
import { sideAndVariantOf } from './labels.js';

/**
 * The time of a call on each runtime: a row for each cell that was measured on several, with the median sample and half
 * of the samples around it. `own` is the version of Node.js that has run the benchmark.
 */
export function runtimeTable(records: readonly CompletedRecord[], own: string): Table {
  const groups = groupBy(records, ownIdOf).filter((group) => group.some(({ runtime }) => runtime !== undefined));
  const others = [...new Set(groups.flat().flatMap(({ runtime }) => runtime ?? []))];
  return tableOf(groups, [
    { title: 'Workload', of: ([first]) => first!.workload },
    { title: 'Variant', of: ([first]) => sideAndVariantOf({ ...first!, runtime: undefined }) },
    { title: '>At once', of: ([first]) => formatCount(first!.batch ?? 1) },
    ...[undefined, ...others].map((name) => ({
      title: `>${name ?? `Node.js ${own}`}`,
      of: (group: readonly CompletedRecord[]) => timeText(group.find(({ runtime }) => runtime === name)),
    })),
  ]);
}

/** The id of the cell of the run's own runtime that does the same. */
function ownIdOf({ id, runtime }: CompletedRecord): string {
  return runtime === undefined ? id : id.slice(0, id.lastIndexOf('/'));
}

function timeText(record: CompletedRecord | undefined): string {
  if (record === undefined) return UNKNOWN;
  return `${eachAt(record, 0.5)} (${eachAt(record, 0.25)}–${eachAt(record, 0.75)})`;
}
