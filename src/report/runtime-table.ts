import { groupBy } from '../compare/cell-groups.js';
import type { CompletedRecord } from '../records/record.js';
import { quantile } from '../stats/quantile.js';
import { type Table, columns } from './document.js';
import { UNKNOWN, formatCount, formatDuration } from './format.js';
import { sideAndVariantOf } from './labels.js';

/**
 * What a call takes on each runtime: a row for each cell that was measured on several, with the median sample and half of the samples around
 * it. `own` is the version of Node.js that has run the benchmark.
 */
export function runtimeTable(records: readonly CompletedRecord[], own: string): Table {
  const groups = groupBy(records, ownIdOf).filter((group) => group.some(({ runtime }) => runtime !== undefined));
  const runtimes = [...new Set(groups.flat().map(({ runtime }) => runtime))];
  const others = runtimes.filter((runtime) => runtime !== undefined);
  return {
    columns: columns(
      'Workload',
      'Variant',
      '>At once',
      ...['', ...others].map((name) => `>${name || `Node.js ${own}`}`),
    ),
    rows: groups.map((group) => {
      const { runtime: _, ...cell } = group[0]!;
      return [
        cell.workload,
        sideAndVariantOf(cell),
        formatCount(cell.batch ?? 1),
        ...[undefined, ...others].map((name) => timeText(group.find(({ runtime }) => runtime === name))),
      ];
    }),
  };
}

/** The id of the cell of the run's own runtime that does the same. */
function ownIdOf({ id, runtime }: CompletedRecord): string {
  return runtime === undefined ? id : id.slice(0, id.lastIndexOf('/'));
}

function timeText(record: CompletedRecord | undefined): string {
  if (record === undefined) return UNKNOWN;
  const seconds = record.samples.map((sample) => sample.seconds);
  const each = (part: number): string => formatDuration(quantile(seconds, part) / record.rows);
  return `${each(0.5)} (${each(0.25)}–${each(0.75)})`;
}
