/** The figures of lanes: which cells stand next to each other, and what each is compared with. */
import { completedOf, contestOf, fastestOf, groupBy, recordsById } from '../../compare/cell-groups.js';
import { judgeOf, marginOf } from '../../compare/judge.js';
import { cpuRatio, riskOf } from '../../compare/rate-ratio.js';
import {
  type Cell,
  type Comparison,
  type CompletedRecord,
  type RatioInterval,
  type Run,
  itemsOf,
  unitOf,
} from '../../records/record.js';
import { isCall } from '../call-table.js';
import { CPU_DISAGREES, doTimesDisagree } from '../factor.js';
import { UNKNOWN, formatDuration, formatFactorInterval, formatRateOf, formatRows, formatShortRate } from '../format.js';
import { batchText, loadParts, sideAndVariantOf } from '../labels.js';
import { marksInRun } from '../marks.js';
import { isClosedLoop, percentileIntervalText } from '../percentile.js';
import type { RatioRow } from './ratio-plot.js';

/** The cells that do one work in one place, on whichever runtime, in the order of the run. */
export interface Contest {
  readonly title: string;
  readonly engine: string;
  readonly records: readonly CompletedRecord[];
}

export function contestsOf(run: Run): Contest[] {
  const groups = groupBy(completedOf(run.records), (record) => contestOf(withoutRuntime(record)));
  return groups.map((records) => ({ title: placeOf(records[0]!), engine: records[0]!.engine, records }));
}

/** The work of a cell and its place: `insert.bulk on embedded, 2 workers`. */
export function placeOf(cell: Cell): string {
  const { workload, engine, transport, workers = 1, rate } = cell;
  return [
    `${workload} on ${engine}`,
    ...(transport === undefined ? [] : [transport]),
    ...(workers === 1 ? [] : [`${workers} workers`]),
    ...loadParts(cell),
    ...(rate === undefined ? [] : [`${formatShortRate(rate)} asked for`]),
  ].join(', ');
}

function withoutRuntime(record: Cell): Cell {
  const { runtime: _, ...cell } = record;
  return cell;
}

/** The names of cells that stand next to each other, with as much as tells them apart. */
export function namesOf(records: readonly CompletedRecord[]): (record: CompletedRecord) => string {
  const parts: readonly ((record: CompletedRecord) => string)[] = [
    ({ flavor }) => (flavor === undefined ? '' : `, ${flavor}`),
    ({ lane }) => ` (${lane})`,
    (record) => `, ${formatRows(itemsOf(record))} ${unitOf(record)}`,
    ({ id }) => `, ${id}`,
  ];
  let names = new Map(records.map((record) => [record, nameOf(record)]));
  for (const part of parts) {
    const shared = groupBy(records, (record) => names.get(record)!).filter(({ length }) => length > 1);
    const longer = new Map(names);
    for (const record of shared.flat()) longer.set(record, names.get(record)! + part(record));
    names = longer;
  }
  return (record) => names.get(record)!;
}

function nameOf(record: CompletedRecord): string {
  return sideAndVariantOf({ ...record, workers: 1 }) + batchText(record);
}

/** The rows of a contest's figure: how many times as long as the reference each cell takes. */
export interface ComparedContest extends Contest {
  readonly reference: CompletedRecord;
  readonly rows: readonly (RatioRow & { readonly record: CompletedRecord })[];
}

/**
 * A contest with its reference: Rust's best as the run has chosen it, or else the fastest of Rust. If no Rust did the
 * work, it is the cell elsewhere that the run compares the cells with, or else the fastest cell.
 */
export function comparedContest(
  run: Run,
  contest: Contest,
  hrefOf: (id: string) => string | undefined,
): ComparedContest {
  const { records } = contest;
  const ids = new Set(records.map(({ id }) => id));
  const best = run.comparisons.find(({ kind, numerator }) => kind === 'best' && ids.has(numerator));
  const elsewhere = run.comparisons.flatMap(({ kind, numerator, denominator }) =>
    kind === 'lane' && ids.has(numerator) ? [denominator] : [],
  );
  const recordOf = recordsById(run.records);
  const reference =
    recordOf(best?.numerator ?? '') ??
    fastestOf(records.filter(({ side }) => side === 'rust')) ??
    fastestOf(elsewhere.flatMap((id) => recordOf(id) ?? [])) ??
    fastestOf(records)!;
  const judge = judgeOf(run);
  const [risk, margin] = [riskOf(run.context), marginOf(run)];
  const shown = records.includes(reference) ? records : [reference, ...records];
  const name = namesOf(shown);
  const rows = shown.flatMap((record) => {
    const isReference = record === reference;
    const judged = isReference ? SAME : (chosenOf(best, record) ?? judge(reference, record));
    if (judged === undefined) return [];
    const cpu = isReference ? undefined : cpuRatio(reference, record, { risk });
    const times = { verdict: judged.verdict, ...(cpu === undefined ? {} : { cpu }) };
    const disagrees = doTimesDisagree(times, margin) ? CPU_DISAGREES : '';
    const place = record.engine === contest.engine ? '' : ` on ${record.engine}`;
    return [
      {
        ...judged,
        record,
        name: name(record) + place,
        side: record.side,
        marks: isReference ? '' : marksBeside(reference, record) + disagrees,
        isReference,
        title: titleOf(record, isReference ? '' : formatFactorInterval(judged) + cpuText(cpu)),
        href: hrefOf(record.id),
      },
    ];
  });
  return { ...contest, reference, rows: rows.toSorted((a, b) => a.ratio - b.ratio) };
}

/** The CPU factor after a Rust factor, if it is known. */
function cpuText(cpu: RatioInterval | undefined): string {
  return cpu === undefined ? '' : `, CPU factor ${formatFactorInterval(cpu)}`;
}

const SAME = { ratio: 1, low: 1, high: 1, verdict: 'equivalent' } as const;

/** The run's own comparison of the best of each side, whose samples did not choose them. */
function chosenOf(best: Comparison | undefined, record: CompletedRecord): Comparison | undefined {
  return best?.denominator === record.id ? best : undefined;
}

/** The number of rows matters to the rate of rows alone. */
export function marksBeside(reference: CompletedRecord, record: CompletedRecord): string {
  return marksInRun(isCall(record) ? { ...reference, items: itemsOf(record) } : reference, record);
}

/** The text that the pointer over a cell shows: its record, one line per part. */
export function titleOf(record: CompletedRecord, factor: string): string {
  const { samples, summary } = record;
  const forks = new Set(samples.map(({ fork }) => fork)).size;
  const [p50, p99] = [percentileIntervalText(record, 'p50'), percentileIntervalText(record, 'p99')];
  const loop = isClosedLoop(record) ? ', closed loop' : '';
  return [
    record.id,
    ...(factor === '' ? [] : [`Rust factor ${factor}`]),
    `${formatRateOf(record)}; ${formatDuration(summary.medianSeconds)} a sample of ${formatRows(itemsOf(record))} ${unitOf(record)}`,
    ...(p50 === UNKNOWN ? [] : [`p50 ${p50}${p99 === UNKNOWN ? '' : `, p99 ${p99}`}${loop}`]),
    `${samples.length} samples in ${forks} processes, ${formatDuration(summary.minSeconds)} to ${formatDuration(summary.maxSeconds)}`,
  ].join('\n');
}
