import {
  type CompletedRecord,
  type FailedRecord,
  type RunRecord,
  type Sample,
  type SkippedRecord,
  itemsOf,
} from '../records/record.js';
import { medianOf } from '../stats/summary.js';
import { groupBy } from '../compare/cell-groups.js';
import { type ColumnOf, type Table, tableOf } from './document.js';
import { UNKNOWN, formatMebibytes, formatQueries, formatRate, formatRows, formatSeconds } from './format.js';
import { sideAndVariantOf, transportColumn } from './labels.js';
import { noVerdictMark } from './marks.js';

/**
 * One row per cell, by workload. The times and rates are from the median sample. Queries have a column of their own. So
 * has the time that includes the encoding of the input and the decoding of the result. The other times leave these out.
 */
export function resultsTable(records: readonly CompletedRecord[]): Table {
  const ordered = groupBy(records, (record) => record.workload).flat();
  const sharing = new Map(groupBy(ordered, lineOf).flatMap((group) => group.map((record) => [record.id, group])));
  const isAmbiguous = ({ id, lane }: CompletedRecord): boolean => sharing.get(id)!.some((other) => other.lane !== lane);
  const hasQueries = ordered.some(({ queries }) => queries !== undefined);
  const hasCodec = ordered.some(({ samples }) => samples.some((sample) => codecSeconds(sample) > 0));
  return tableOf(ordered, [
    { title: 'Workload', of: ({ workload }) => workload },
    {
      title: 'Variant',
      of: (record) => sideAndVariantOf(record) + (isAmbiguous(record) ? ` (${record.lane})` : ''),
    },
    { title: 'Flavor', of: ({ flavor }) => flavor ?? UNKNOWN, goes: 2 },
    ...transportColumn(ordered, (record) => record),
    { title: '>Rows', of: (record) => formatRows(itemsOf(record)), goes: 3 },
    {
      title: '>Time (s)',
      of: ({ summary, noVerdict }) => formatSeconds(summary.medianSeconds) + noVerdictMark(noVerdict),
      goes: 4,
    },
    ...(hasCodec ? [END_TO_END] : []),
    { title: '>Rows/s', of: ({ summary }) => formatRate(summary.rowsPerSecond) },
    { title: '>MiB/s', of: ({ summary }) => formatMebibytes(summary.mebibytesPerSecond), goes: 1 },
    ...(hasQueries ? [QUERIES] : []),
  ]);
}

const END_TO_END: ColumnOf<CompletedRecord> = {
  title: '>End to end (s)',
  of: (record) => formatSeconds(medianOf(record, (sample) => endToEndSeconds(sample, record.workers))),
  goes: 0,
};

const QUERIES: ColumnOf<CompletedRecord> = {
  title: '>Queries/s',
  of: ({ summary }) => formatQueries(summary.queriesPerSecond),
};

/** The seconds of encoding and decoding, of all workers together. */
function codecSeconds({ encodeSeconds = 0, decodeSeconds = 0 }: Sample): number {
  return encodeSeconds + decodeSeconds;
}

/** The seconds from rows to rows. Workers encode and decode at the same time. */
function endToEndSeconds(sample: Sample, workers = 1): number {
  return sample.seconds + codecSeconds(sample) / workers;
}

/** The text of a cell's row without its lane, by which ambiguous rows are found. */
function lineOf(record: CompletedRecord): string {
  return JSON.stringify([record.workload, sideAndVariantOf(record), record.flavor, record.transport]);
}

/** The cells without samples, a row for each reason: failures first, then skipped cells. */
export function unfinishedTable(records: readonly RunRecord[]): Table {
  const unfinished = records.filter((record) => record.outcome !== 'completed');
  const groups = groupBy(unfinished, reasonOf).toSorted(([a], [b]) => a!.outcome.localeCompare(b!.outcome));
  return tableOf(groups, [
    { title: 'Cell', of: named },
    { title: 'Outcome', of: ([first]) => first!.outcome },
    { title: 'Why', of: ([first]) => reasonOf(first!) },
  ]);
}

/** Why a cell has no samples. Cells of one reason are shown as one. */
export function reasonOf(record: FailedRecord | SkippedRecord): string {
  return record.outcome === 'failed' ? `${record.error.code}: ${record.error.message}` : record.reason;
}

/** The most workloads or engines of a reason that are named. */
const MOST_NAMES = 4;

/** The name of one cell by its id, or of several by what they have in common. */
function named(cells: readonly RunRecord[]): string {
  const [first] = cells;
  if (first === undefined || cells.length === 1) return first?.id ?? '';
  const distinct = (values: readonly string[]): string => {
    const names = [...new Set(values)];
    if (names.length <= MOST_NAMES) return names.join(', ');
    return `${names.slice(0, MOST_NAMES - 1).join(', ')} and ${names.length - MOST_NAMES + 1} more`;
  };
  const workloads = distinct(cells.map(({ workload }) => workload));
  return `${cells.length} cells of ${workloads} on ${distinct(cells.map(({ engine }) => engine))}`;
}
