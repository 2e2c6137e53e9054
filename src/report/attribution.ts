/** The parts of the time of a call, for workloads with twins of ways that do no work, or with a way in Rust alone. */
import type { Judge } from '../compare/judge.js';
import { NOOP, noopLaneOf } from '../records/noop.js';
import { type CompletedRecord, itemsOf } from '../records/record.js';
import { median } from '../stats/quantile.js';
import { formatDuration, formatPercent } from './format.js';

/** The sentences of the ways of a run: which part of a call is the crossing, the work and the garbage, as far as the run tells. */
export function attributionTexts(records: readonly CompletedRecord[], judge: Judge): string[] {
  return records.flatMap((record) => {
    const { side, lane, engine, workload, noVerdict } = record;
    if (engine === NOOP || side === 'rust' || noVerdict !== undefined) return [];
    const beside = records.filter((other) => other.workload === workload && other.family === record.family);
    const twin = beside.find((other) => other.engine === NOOP && other.lane === noopLaneOf(lane));
    if (twin === undefined) return [];
    const rust = beside.find((other) => other.side === 'rust' && other.engine !== NOOP);
    const parts = [
      partOf('crossing', record, twin, judge),
      rust && partOf('the work in Rust', record, rust, judge),
      garbageOf(record),
    ].filter((part) => part !== undefined);
    const time = formatDuration(record.summary.medianSeconds / itemsOf(record));
    return [`${workload}: a call of ${record.variant} takes ${time}: ${parts.join(', ')}.`];
  });
}

/** The part of the time of a call that another way takes for itself, with its interval. */
function partOf(what: string, record: CompletedRecord, other: CompletedRecord, judge: Judge): string | undefined {
  // The rate of the call divided by the rate of the other is the time of the other divided by the time of the call.
  const judged = judge(record, other);
  if (judged === undefined || judged.noVerdict !== undefined) return undefined;
  const [part, low, high] = [judged.ratio, judged.low, judged.high].map(formatPercent);
  // A part is at most the whole: what is measured to be more is noise.
  return judged.ratio > 1 ? `${what}: can't tell (${low}–${high})` : `${what} ${part} (${low}–${high})`;
}

function garbageOf({ samples }: CompletedRecord): string | undefined {
  const parts = samples.flatMap(({ seconds, gcSeconds }) => (gcSeconds === undefined ? [] : [gcSeconds / seconds]));
  return parts.length === 0 ? undefined : `garbage ${formatPercent(median(parts))}`;
}
