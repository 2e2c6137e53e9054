/** The plot of samples by their index within a process: a line a cell. */
import type { CompletedRecord } from '../../records/record.js';
import { profileOf } from '../sample-profile.js';
import type { Canvas } from './canvas.js';
import { factorTick } from './frame.js';
import { type Series, linePlot } from './line-plot.js';
import type { Figure } from './page.js';
import { SIDE_STYLES } from './side-style.js';

/** The figure of cells side by side. Nothing if none of their processes took two samples. */
export function profileFigure(
  canvas: Canvas,
  title: string,
  records: readonly CompletedRecord[],
  nameOf: (record: CompletedRecord) => string,
): Figure[] {
  const series = records.flatMap((record): Series[] => {
    const points = profileOf(record).map((factor, index) => ({
      x: index + 1,
      y: factor,
      title: `${record.id}\nsample ${index + 1} of a process: ${factorTick(factor)} the fastest`,
    }));
    return points.length === 0 ? [] : [{ name: nameOf(record), ...SIDE_STYLES[record.side], points }];
  });
  if (series.length === 0) return [];
  const most = Math.max(...series.map(({ points }) => points.length));
  const every = Math.ceil(most / MOST_TICKS);
  const picture = linePlot(canvas, {
    label: `${title}: the time of samples by their index within a process`,
    xAxis: 'sample of a process',
    yAxis: 'time / fastest index',
    xScale: 'point',
    xTicks: Array.from({ length: Math.ceil(most / every) }, (_, index) => 1 + index * every),
    formatX: String,
    formatY: factorTick,
    series,
  });
  return [{ title, picture }];
}

const MOST_TICKS = 10;
