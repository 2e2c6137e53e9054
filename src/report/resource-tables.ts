import type { CompletedRecord, Sample } from '../records/record.js';
import { groupBy, isRequestWork } from '../compare/cell-groups.js';
import { medianOf } from '../stats/summary.js';
import { type Table, columns } from './document.js';
import { type CrossingShareOf, crossingText } from './crossing-share.js';
import { UNKNOWN, formatBytes, formatCount, formatMilliseconds, formatSeconds } from './format.js';
import { nameOf, transportColumn } from './labels.js';

/**
 * The table of where the time went: the median CPU and garbage collection times of a cell's samples, the longest stall, and the
 * peak RSS. The times of encoding the input and decoding the result are not included in the cell's time. Where some cells have a share of
 * crossing and JavaScript, it has a column.
 */
export function resourcesTable(records: readonly CompletedRecord[], shareOf: CrossingShareOf = () => undefined): Table {
  const transport = transportColumn(records);
  const requests = records.some(isRequestWork);
  const server = records.some(({ samples }) => samples.some((sample) => sample.serverCpuUserSeconds !== undefined));
  const crosses = records.some((record) => shareOf(record) !== undefined);
  const crossingOf = (record: CompletedRecord): string => {
    const share = shareOf(record);
    return share === undefined ? UNKNOWN : crossingText(share);
  };
  return {
    columns: columns(
      'Workload',
      'Variant',
      ...transport.title,
      ...(requests ? ['>Threads', '>Batch'] : []),
      '>Time (s)',
      ...(crosses ? ['>Crossing and JavaScript'] : []),
      '>Encode (s)',
      '>Decode (s)',
      '>CPU user (s)',
      '>CPU sys (s)',
      ...(server ? ['>Server user (s)', '>Server sys (s)'] : []),
      '>Main thread (s)',
      '>GC (s)',
      '>Longest stall (ms)',
      '>Peak RSS',
    ),
    rows: groupBy(records, (record) => record.workload)
      .flat()
      .map((record) => [
        record.workload,
        nameOf(record),
        ...transport.of(record),
        ...(requests ? [formatCount(record.threads), formatCount(record.batch)] : []),
        formatSeconds(record.summary.medianSeconds),
        ...(crosses ? [crossingOf(record)] : []),
        formatSeconds(medianOf(record, (sample) => sample.encodeSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.decodeSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.cpuUserSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.cpuSystemSeconds)),
        ...(server
          ? [
              formatSeconds(medianOf(record, (sample) => sample.serverCpuUserSeconds)),
              formatSeconds(medianOf(record, (sample) => sample.serverCpuSystemSeconds)),
            ]
          : []),
        formatSeconds(medianOf(record, (sample) => sample.mainThreadCpuSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.gcSeconds)),
        formatMilliseconds(maximumOf(record, (sample) => sample.longestStallMs)),
        formatBytes(maximumOf(record, (sample) => sample.peakRssBytes)),
      ]),
  };
}

type Measure = (sample: Sample) => number | undefined;

function maximumOf(record: CompletedRecord, measure: Measure): number | undefined {
  const values = measured(record, measure);
  return values.length === 0 ? undefined : Math.max(...values);
}

function measured(record: CompletedRecord, measure: Measure): number[] {
  return record.samples.map(measure).filter((value) => value !== undefined);
}
