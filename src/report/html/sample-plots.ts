/** The plots of a run page that show samples: the times of each process, the noise, and the profile. */
import { groupBy } from '../../compare/cell-groups.js';
import type { CompletedRecord, Comparison } from '../../records/record.js';
import { median } from '../../stats/quantile.js';
import { formatDuration, formatFactorInterval, formatPercent } from '../format.js';
import type { Canvas } from './canvas.js';
import { framed, ratioFrame, titlesAt, factorTick } from './frame.js';
import type { Markup } from './markup.js';
import { SIDE_STYLES } from './side-style.js';
import { isDecided } from '../factor.js';
import { type Series, linePlot } from './line-plot.js';
import type { Figure } from './page.js';

const STRIP_ROW_HEIGHT = 40;
const STRIP_DOMAIN = [0.9, 1.1] as const;

/** The place of the name in a row, and the part below it that the processes share. */
const NAME_AT = 0.22;
const FROM = 0.42;
const UNTIL = 0.98;

export function stripPlot(
  canvas: Canvas,
  records: readonly CompletedRecord[],
  nameOf: (record: CompletedRecord) => string,
  label: string,
): Markup {
  const { Plot } = canvas;
  const names = records.map((record, index) => ({ name: nameOf(record), index }));
  const processes = records.flatMap(processesOf);
  const samples = processes.flatMap(({ parts, ...process }) => parts.map((part) => ({ ...process, part })));
  const frame = ratioFrame(
    { rows: records.length, rowHeight: STRIP_ROW_HEIGHT, axis: 'time of a sample / median of its cell' },
    samples.map(({ part }) => part),
    STRIP_DOMAIN,
  );
  return canvas.draw({
    label,
    options: framed(canvas, frame, [
      Plot.ruleX([1], { stroke: 'var(--quiet)' }),
      Plot.dot(samples, { x: 'part', y: 'y', r: 1.8, fill: 'color', fillOpacity: 0.55 }),
      Plot.dot(processes, { x: 'median', y: 'y', symbol: 'times', r: 2.5, stroke: 'var(--ink)', title: 'title' }),
      titlesAt(canvas, names, { at: NAME_AT }),
    ]),
  });
}

/** The processes of a cell with their places below each other, and the parts of the cell's median that their samples took. */
function processesOf({ id, samples, summary, side }: CompletedRecord, index: number) {
  const forks = groupBy(samples, ({ fork }) => String(fork));
  return forks.map((ofFork, place) => {
    const own = median(ofFork.map(({ seconds }) => seconds));
    const number = ofFork[0]?.fork;
    return {
      y: index + FROM + ((place + 0.5) / forks.length) * (UNTIL - FROM),
      color: SIDE_STYLES[side].color,
      median: own / summary.medianSeconds,
      title: `${id}\nprocess ${number ?? 'of the run'}: ${ofFork.length} samples, median ${formatDuration(own)}`,
      parts: ofFork.map(({ seconds }) => seconds / summary.medianSeconds),
    };
  });
}

const MOST_HEIGHT = 560;
const ROW_HEIGHT = 8;
const LEAST_DOMAIN = [0.8, 1.25] as const;

export function noisePlot(canvas: Canvas, noise: readonly Comparison[], margin: number): Markup {
  const { Plot } = canvas;
  const rows = noise
    .toSorted((a, b) => a.ratio - b.ratio)
    .map((comparison, index) => {
      const isWrong = isDecided(comparison);
      return {
        ...comparison,
        at: index + 0.5,
        isWrong,
        color: isWrong ? 'var(--bad)' : 'var(--quiet)',
        symbol: isWrong ? 'square' : 'circle',
        title: `${comparison.numerator}\n${formatFactorInterval(comparison)}, ${comparison.verdict}`,
      };
    });
  const frame = ratioFrame(
    {
      rows: rows.length,
      rowHeight: Math.min(ROW_HEIGHT, MOST_HEIGHT / rows.length),
      axis: 'odd / even processes of a cell; the band is the margin',
    },
    rows.flatMap(({ low, high }) => [low, high]),
    LEAST_DOMAIN,
  );
  return canvas.draw({
    label: `${rows.length} cells compared with themselves; ${rows.filter(({ isWrong }) => isWrong).length} look faster or slower than themselves`,
    options: framed(canvas, frame, [
      Plot.rectX([margin], { x1: 1 - margin, x2: 1 + margin, fill: 'var(--grid)' }),
      Plot.ruleX([1], { stroke: 'var(--quiet)' }),
      Plot.link(rows, { x1: 'low', x2: 'high', y1: 'at', y2: 'at', stroke: 'color', title: 'title' }),
      Plot.dot(rows, {
        x: 'ratio',
        y: 'at',
        r: 2.5,
        stroke: 'color',
        fill: 'var(--card)',
        symbol: 'symbol',
        title: 'title',
      }),
    ]),
  });
}

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

/** The part by which the first sample of a process is slower than the fastest index from which on warm-up counts as left. */
const WARM_UP = 0.1;

/**
 * The time of the first, second and further sample of a process, in the median over the processes, as a factor of the
 * fastest index. Empty if no process took two samples. An index that fewer than half of the processes have is left out.
 */
export function profileOf({ samples }: Pick<CompletedRecord, 'samples'>): number[] {
  const processes = groupBy(samples, ({ fork }) => String(fork));
  const most = Math.max(...processes.map(({ length }) => length));
  const medians = Array.from({ length: most }, (_, index) => {
    const times = processes.flatMap((ofProcess) => ofProcess[index]?.seconds ?? []);
    return 2 * times.length < processes.length ? [] : [median(times)];
  }).flat();
  const fastest = Math.min(...medians);
  return medians.length < 2 || fastest === 0 ? [] : medians.map((time) => time / fastest);
}

/** How many cells have warm-up left in their samples. `undefined` if no process took two samples. */
export function warmUpText(records: readonly CompletedRecord[]): string | undefined {
  const firsts = records.map(profileOf).flatMap(([first]) => first ?? []);
  if (firsts.length === 0) return undefined;
  const left = firsts.filter((first) => first > 1 + WARM_UP).length;
  const slowest = formatPercent(Math.max(...firsts) - 1);
  return (
    `In ${left} of ${firsts.length} cells the first sample of a process is more than ${formatPercent(WARM_UP)} slower than the fastest ` +
    `index, in the median over the processes (${slowest} at most): ${left === 0 ? 'no warm-up is seen in the samples.' : 'warm-up is left in their samples.'}`
  );
}
