import { groupBy } from '../compare/cell-groups.js';
import { rateRatio } from '../compare/rate-ratio.js';
import type { CompletedRecord } from '../records/record.js';
import { quantile } from '../stats/quantile.js';
import { type Table, columns } from './document.js';
import { UNKNOWN, formatCount, formatDuration, formatFactorInterval } from './format.js';
import { sideAndVariantOf } from './labels.js';
import { medianOf } from './resource-tables.js';

/** Whether a cell's work is to cross, so that its calls are counted. */
export function isCall({ calls }: Pick<CompletedRecord, 'calls'>): boolean {
  return calls !== undefined;
}

/**
 * What one crossing takes: a row a cell, by workload, with the time of a call in the median sample, half of the samples around it,
 * the bytes by which V8's heap grows, and how many times longer it takes than the same call without a crossing: within Rust, or within JavaScript.
 */
export function callTable(records: readonly CompletedRecord[]): Table {
  return {
    columns: columns(
      'Workload',
      'Variant',
      '>In flight',
      '>A call',
      '>Half of the samples',
      '>Heap a call',
      '>Over Rust alone',
      '>Over JavaScript alone',
    ),
    rows: groupBy(records, ({ workload }) => workload).flatMap((cells) =>
      cells.map((record) => [
        record.workload,
        sideAndVariantOf(record),
        formatCount(record.batch ?? 1),
        formatDuration(record.summary.medianSeconds / record.rows),
        [0.25, 0.75].map((part) => formatDuration(quantile(secondsOf(record), part) / record.rows)).join('–'),
        heapText(record),
        longerThan(record, cells, 'rust'),
        longerThan(record, cells, 'js'),
      ]),
    ),
  };
}

/** The bytes by which V8's heap grows in one call. */
function heapText(record: CompletedRecord): string {
  const bytes = medianOf(record, ({ heapBytesPerCall }) => heapBytesPerCall);
  return bytes === undefined ? UNKNOWN : `${Math.round(bytes)} B`;
}

function secondsOf({ samples }: CompletedRecord): number[] {
  return samples.map(({ seconds }) => seconds);
}

/** How many times longer a cell's call takes than the one of the same lane, or else the plain one, that does not cross. */
function longerThan(record: CompletedRecord, cells: readonly CompletedRecord[], side: 'rust' | 'js'): string {
  const floorOf = (lane: string): CompletedRecord | undefined =>
    cells.find(({ id, family, workload }) => id === [family, workload, lane, side].join('/'));
  const floor = floorOf(record.lane) ?? floorOf('call');
  const interval = floor === undefined || floor === record ? undefined : rateRatio(floor, record);
  return interval === undefined ? UNKNOWN : formatFactorInterval(interval);
}
