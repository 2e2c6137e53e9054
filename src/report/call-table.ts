import { fastestOf, groupBy, recordsById } from '../compare/cell-groups.js';
import { medianOf } from '../stats/summary.js';
import type { Judge } from '../compare/judge.js';
import { type Comparison, type CompletedRecord, itemsOf } from '../records/record.js';
import { quantile } from '../stats/quantile.js';
import { type Table, tableOf } from './document.js';
import { UNKNOWN, formatCount, formatDuration, formatFactorInterval } from './format.js';
import { sideAndVariantOf } from './labels.js';
import { noVerdictMark } from './marks.js';

/** Whether a cell's calls are counted: its work is to cross, or is on values in process. */
export function isCall({ calls }: Pick<CompletedRecord, 'calls'>): boolean {
  return calls !== undefined;
}

/**
 * The times of calls: one row per cell, by workload. It has the number of calls at once (calls in flight, or operations of one
 * call), the time of each in the median sample, and half of the samples around it. It also has the bytes by which V8's heap grows,
 * and how many times longer a call takes than the same work without a crossing: within Rust, or on the side js.
 *
 * `comparisons` are the comparisons of the records' run. They know the lane of Rust that a cell is compared with.
 */
export function callTable(
  records: readonly CompletedRecord[],
  comparisons: readonly Comparison[],
  judge: Judge,
): Table {
  const floors = floorsOf(records, comparisons);
  return tableOf(groupBy(records, ({ workload }) => workload).flat(), [
    { title: 'Workload', of: ({ workload }) => workload },
    { title: 'Variant', of: sideAndVariantOf },
    { title: '>At once', of: ({ batch = 1 }) => formatCount(batch) },
    {
      title: '>Each',
      of: eachOf,
    },
    {
      title: '>Half of the samples',
      of: (record) => [0.25, 0.75].map((part) => eachAt(record, part)).join('–'),
      goes: 1,
    },
    { title: '>Heap each', of: heapText, goes: 0 },
    { title: '>Time vs. Rust', of: (record) => longerThan(record, floors.rust(record), judge) },
    {
      title: '>Time vs. js',
      of: (record) => longerThan(record, floors.javaScript(record), judge),
      goes: 2,
    },
  ]);
}

/** The time of each call in the median, with its mark. */
export function eachOf(record: CompletedRecord): string {
  return formatDuration(record.summary.medianSeconds / itemsOf(record)) + noVerdictMark(record.noVerdict);
}

/** The time of each call below which a part of the samples lies. */
export function eachAt(record: CompletedRecord, part: number): string {
  const seconds = record.samples.map((sample) => sample.seconds);
  return formatDuration(quantile(seconds, part) / itemsOf(record));
}

/** The bytes by which V8's heap grows in one call. */
function heapText(record: CompletedRecord): string {
  const bytes = medianOf(record, ({ heapBytesPerCall }) => heapBytesPerCall);
  return bytes === undefined ? UNKNOWN : `${Math.round(bytes)} B`;
}

/** How many times longer a cell's call takes than the one that does not cross. */
function longerThan(record: CompletedRecord, floor: CompletedRecord | undefined, judge: Judge): string {
  const interval = floor === undefined || floor === record ? undefined : judge(floor, record);
  if (interval === undefined || floor === undefined) return UNKNOWN;
  return formatFactorInterval(interval) + noVerdictMark(interval.noVerdict);
}

/** Finds the cell that does the work of another one within one side, if it was measured. */
type FloorOf = (record: CompletedRecord) => CompletedRecord | undefined;

/** The lane of a side that stands in if the side has no lane of its own for the work. */
const PLAIN_LANE = 'call';

function floorsOf(
  records: readonly CompletedRecord[],
  comparisons: readonly Comparison[],
): { readonly rust: FloorOf; readonly javaScript: FloorOf } {
  const recordOf = recordsById(records);
  const rustIds = new Map(
    comparisons.flatMap(({ kind, numerator, denominator }) => (kind === 'lane' ? [[numerator, denominator]] : [])),
  );
  // The first choice of a side has no client. Calls in flight are compared with one call if a side waits for nothing.
  const firstOf = (record: CompletedRecord, lane: string, side: 'rust' | 'js'): CompletedRecord | undefined => {
    const id = [record.family, record.workload, lane, side].join('/');
    return (record.batch === undefined ? undefined : recordOf(`${id}/b${record.batch}`)) ?? recordOf(id);
  };
  const firstOfEither = (record: CompletedRecord, lane: string, side: 'rust' | 'js'): CompletedRecord | undefined =>
    firstOf(record, lane, side) ?? firstOf(record, PLAIN_LANE, side);
  return {
    rust(record) {
      const chosen = recordOf(rustIds.get(record.id) ?? '');
      return firstOfEither(record, chosen?.lane ?? record.lane, 'rust') ?? chosen;
    },
    javaScript(record) {
      const own = firstOfEither(record, record.lane, 'js');
      if (own !== undefined) return own;
      const ofWorkload = records.filter(
        ({ family, workload, side }) => side === 'js' && family === record.family && workload === record.workload,
      );
      return fastestOf(ofWorkload.filter(({ batch }) => batch === record.batch)) ?? fastestOf(ofWorkload);
    },
  };
}

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
