import type { CompletedRecord, Sample } from '../records/record.js';
import { groupBy } from '../compare/cell-groups.js';
import { median } from '../stats/quantile.js';
import { type Table, columns } from './document.js';
import {
  UNKNOWN,
  formatBytes,
  formatMicroseconds,
  formatMilliseconds,
  formatPercent,
  formatSeconds,
  formatShortRate,
} from './format.js';
import { nameOf, transportColumn } from './labels.js';

/**
 * Where the time went: the median CPU and garbage-collection times of a cell's samples, the longest stall, the peak RSS.
 * The times to encode its input and to decode its result are not a part of the cell's time.
 */
export function resourcesTable(records: readonly CompletedRecord[]): Table {
  const transport = transportColumn(records);
  return {
    columns: columns(
      'Workload',
      'Variant',
      ...transport.title,
      '>Time (s)',
      '>Encode (s)',
      '>Decode (s)',
      '>CPU user (s)',
      '>CPU sys (s)',
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
        formatSeconds(record.summary.medianSeconds),
        formatSeconds(medianOf(record, (sample) => sample.encodeSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.decodeSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.cpuUserSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.cpuSystemSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.mainThreadCpuSeconds)),
        formatSeconds(medianOf(record, (sample) => sample.gcSeconds)),
        formatMilliseconds(maximumOf(record, (sample) => sample.longestStallMs)),
        formatBytes(maximumOf(record, (sample) => sample.peakRssBytes)),
      ]),
  };
}

/** Request work: the records that have latencies. CPU is user and system time over wall time, 100% one busy core. */
export function requestTable(records: readonly CompletedRecord[]): Table {
  return {
    columns: columns('Benchmark', '>Throughput', '>Median', '>p99', '>Batch', '>Threads', '>CPU'),
    rows: records.flatMap((record) =>
      record.latency === undefined
        ? []
        : [
            [
              `${record.workload}, ${nameOf(record)}`,
              formatShortRate(record.summary.rowsPerSecond),
              formatMicroseconds(record.latency.p50),
              formatMicroseconds(record.latency.p99),
              String(record.batch ?? UNKNOWN),
              String(record.threads ?? record.workers ?? UNKNOWN),
              formatPercent(medianOf(record, cpuShare)),
            ],
          ],
    ),
  };
}

function cpuShare(sample: Sample): number | undefined {
  if (sample.cpuUserSeconds === undefined || sample.cpuSystemSeconds === undefined || sample.seconds === 0) {
    return undefined;
  }
  return (sample.cpuUserSeconds + sample.cpuSystemSeconds) / sample.seconds;
}

type Measure = (sample: Sample) => number | undefined;

function medianOf(record: CompletedRecord, measure: Measure): number | undefined {
  const values = measured(record, measure);
  return values.length === 0 ? undefined : median(values);
}

function maximumOf(record: CompletedRecord, measure: Measure): number | undefined {
  const values = measured(record, measure);
  return values.length === 0 ? undefined : Math.max(...values);
}

function measured(record: CompletedRecord, measure: Measure): number[] {
  return record.samples.map(measure).filter((value) => value !== undefined);
}
