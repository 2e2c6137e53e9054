/** The figures of workloads with several sizes: the time of each way by the size, and the size at which one overtakes another. */
import { completedOf, groupBy } from '../../compare/cell-groups.js';
import { judgeOf } from '../../compare/judge.js';
import { timesAtSize } from '../../model/at-size.js';
import type { CompletedRecord, Run } from '../../records/record.js';
import { rateOf } from '../../stats/summary.js';
import { type SizedWork, sizedWorkOf } from '../crossover.js';
import { formatCount, formatDuration, formatRows } from '../format.js';
import { oneUnitOf, sideAndVariantOf, variantOf } from '../labels.js';
import type { Canvas } from './canvas.js';
import { titleOf } from './contests.js';
import { type LinePoint, type Series, linePlot } from './line-plot.js';
import type { Figure } from './page.js';
import { SIDE_STYLES } from './side-style.js';

/** One figure for each workload with at least two sizes above 0: a log scale has no place for 0. */
export function sizeFigures(canvas: Canvas, run: Run): Figure[] {
  return sizedWorkOf(completedOf(run.records), judgeOf(run)).flatMap((work) => sizeFigure(canvas, work));
}

function sizeFigure(canvas: Canvas, work: SizedWork): Figure[] {
  const records = work.records.filter(({ size }) => size! > 0);
  const sizes = [...new Set(records.map(({ size }) => size!))].toSorted((a, b) => a - b);
  if (sizes.length < 2) return [];
  const intervalOf = intervalsOf(records, sizes);
  const series = groupBy(records, (record) => sideAndVariantOf(record)).map((way): Series => {
    const points = way
      .map((record): LinePoint => {
        const interval = intervalOf(record);
        const seconds = 1 / rateOf(record);
        return {
          x: record.size!,
          y: seconds,
          title: `${titleOf(record, '')}\n${formatDuration(seconds)} per ${oneUnitOf(record)}`,
          isHollow: record.noVerdict !== undefined,
          ...(interval === undefined ? {} : { interval }),
        };
      })
      .toSorted((a, b) => a.x - b.x);
    return { name: sideAndVariantOf(way[0]!), ...SIDE_STYLES[way[0]!.side], points };
  });
  const { family, crossing } = work;
  const title = `${family}: time by size`;
  const band = crossing && ([crossing.below, crossing.above].map(({ size }) => Math.max(size, 1)) as [number, number]);
  const note = crossing && crossingNote(crossing);
  const picture = linePlot(canvas, {
    label: note === undefined ? title : `${title}; ${note}`,
    xAxis: 'size of the input',
    yAxis: `time per ${oneUnitOf(records[0]!)}`,
    formatX: formatRows,
    formatY: formatDuration,
    series,
    rules: crossing && band ? [{ x: crossing.size, title: crossingNote(crossing), band }] : [],
  });
  return [{ title, ...(note === undefined ? {} : { note }), picture }];
}

function crossingNote({ size, below, above }: NonNullable<SizedWork['crossing']>): string {
  return (
    `dashed: from about ${formatCount(size)} on, ${variantOf(above.best)} instead of ${variantOf(below.best)}; ` +
    `the band lies between the two sizes that were measured, ${formatCount(below.size)} and ` +
    `${formatCount(above.size)}`
  );
}

/** The 95% interval of the time of each record. A record without a verdict has none. */
function intervalsOf(
  records: readonly CompletedRecord[],
  sizes: readonly number[],
): (record: CompletedRecord) => readonly [number, number] | undefined {
  const times = sizes.flatMap((size) => timesAtSize(records, size));
  const intervals = new Map(
    times.flatMap(({ record, time, between: [low, high] }) =>
      time === undefined || low !== high ? [] : [[record, [time.low, time.high]] as const],
    ),
  );
  return (record) => intervals.get(record);
}
