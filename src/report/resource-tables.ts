import { type CompletedRecord, type Sample, type Run, itemsOf } from '../records/record.js';
import { groupBy, isRequestWork, recordsById } from '../compare/cell-groups.js';
import { medianOf } from '../stats/summary.js';
import { type ColumnOf, type Table, tableOf } from './document.js';
import { UNKNOWN, formatBytes, formatCount, formatMilliseconds, formatSeconds, formatPercent } from './format.js';
import { nameOf, transportColumn } from './labels.js';
import { pairsOf } from './head-to-head.js';

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

/** A part of a cell's elapsed time, with its 95% interval. */
export interface CrossingShare {
  readonly part: number;
  readonly low: number;
  readonly high: number;
  /** Whether the interval contains 0 and goes beyond the margin: the run is inconclusive about such a part. */
  readonly isOpen: boolean;
  /** The cell of Rust that it is beyond. */
  readonly rust: CompletedRecord;
}

/** The share of a cell. `undefined` if it has none: Rust is no faster, or nothing is comparable. */
export type CrossingShareOf = (record: CompletedRecord) => CrossingShare | undefined;

export const CROSSING_NOTE =
  "Crossing and JavaScript: the part of the addon's time beyond the time of its lane in Rust on the same " +
  'engine, with its interval. It is the difference of two cells, and includes the time in which JavaScript ' +
  'makes the engine wait. Inconclusive: this run cannot tell whether there is such a part.';

/** Finds the shares by the lane comparisons of a run. Requests have none: with several under way, the time of one is not its cost. */
export function crossingShareOf(run: Run): CrossingShareOf {
  const shares = new Map<string, CrossingShare>();
  for (const { comparison, rust, node } of pairsOf(run.comparisons, 'lane', recordsById(run.records))) {
    const isSamePlace = node.side === 'napi' && node.engine === rust.engine && node.runtime === rust.runtime;
    if (!isSamePlace || itemsOf(node) !== itemsOf(rust) || isRequestWork(node)) continue;
    const { verdict, ratio, low, high } = comparison;
    if (verdict !== 'faster' && verdict !== 'inconclusive') continue;
    const beyond = (rustFactor: number): number => 1 - 1 / rustFactor;
    shares.set(node.id, {
      part: beyond(ratio),
      low: beyond(low),
      high: beyond(high),
      isOpen: verdict === 'inconclusive',
      rust,
    });
  }
  return ({ id }) => shares.get(id);
}

/** A share as a percentage with its interval, `38% (30%–45%)`, after the word `inconclusive` if it is that. */
export function crossingText({ part, low, high, isOpen }: CrossingShare): string {
  return `${isOpen ? 'inconclusive ' : ''}${formatPercent(part)} (${formatPercent(low)}–${formatPercent(high)})`;
}
