import type { CompletedRecord, Sample } from '../records/record.js';
import { groupBy, isRequestWork } from '../compare/cell-groups.js';
import { medianOf } from '../stats/summary.js';
import { type ColumnOf, type Table, tableOf } from './document.js';
import { type CrossingShareOf, crossingText } from './crossing-share.js';
import { UNKNOWN, formatBytes, formatCount, formatMilliseconds, formatSeconds } from './format.js';
import { nameOf, transportColumn } from './labels.js';

/**
 * The table of the parts of the time: the median CPU and garbage collection times of a cell's samples, the longest
 * stall, and the peak RSS. The times of encoding the input and decoding the result are not included in the cell's time.
 * If some cells have a share of crossing and JavaScript, it has a column.
 */
export function resourcesTable(records: readonly CompletedRecord[], shareOf: CrossingShareOf = () => undefined): Table {
  const measured = (title: string, measure: Measure): ColumnOf<CompletedRecord> => {
    return { title: `>${title} (s)`, of: (record) => formatSeconds(medianOf(record, measure)) };
  };
  const server = records.some(({ samples }) => samples.some((sample) => sample.serverCpuUserSeconds !== undefined));
  return tableOf(groupBy(records, (record) => record.workload).flat(), [
    { title: 'Workload', of: ({ workload }) => workload },
    { title: 'Variant', of: nameOf },
    ...transportColumn(records, (record) => record),
    ...(records.some(isRequestWork) ? REQUEST_COLUMNS : []),
    measured('Time', ({ seconds }) => seconds),
    ...(records.some(shareOf) ? [crossingColumn(shareOf)] : []),
    measured('Encode', ({ encodeSeconds }) => encodeSeconds),
    measured('Decode', ({ decodeSeconds }) => decodeSeconds),
    measured('CPU user', ({ cpuUserSeconds }) => cpuUserSeconds),
    measured('CPU sys', ({ cpuSystemSeconds }) => cpuSystemSeconds),
    ...(server
      ? [
          measured('Server user', ({ serverCpuUserSeconds }) => serverCpuUserSeconds),
          measured('Server sys', ({ serverCpuSystemSeconds }) => serverCpuSystemSeconds),
        ]
      : []),
    measured('Main thread', ({ mainThreadCpuSeconds }) => mainThreadCpuSeconds),
    measured('GC', ({ gcSeconds }) => gcSeconds),
    {
      title: '>Longest stall (ms)',
      of: (record) => formatMilliseconds(maximumOf(record, ({ longestStallMs }) => longestStallMs)),
    },
    { title: '>Peak RSS', of: (record) => formatBytes(maximumOf(record, ({ peakRssBytes }) => peakRssBytes)) },
  ]);
}

const REQUEST_COLUMNS: readonly ColumnOf<CompletedRecord>[] = [
  { title: '>Connections', of: ({ connections }) => formatCount(connections) },
  { title: '>Batch', of: ({ batch }) => formatCount(batch) },
];

function crossingColumn(shareOf: CrossingShareOf): ColumnOf<CompletedRecord> {
  return {
    title: '>Crossing and JavaScript',
    of: (record) => {
      const share = shareOf(record);
      return share === undefined ? UNKNOWN : crossingText(share);
    },
  };
}

type Measure = (sample: Sample) => number | undefined;

function maximumOf({ samples }: CompletedRecord, measure: Measure): number | undefined {
  const values = samples.flatMap((sample) => measure(sample) ?? []);
  return values.length === 0 ? undefined : Math.max(...values);
}
